package testkit

import (
	"runtime"
	"testing"
)

// Allocs fails the test if a call of f allocates more than want times on average. It must not be used in a parallel
// test. Under the race detector, which allocates itself, Allocs calls f but counts nothing.
func Allocs(tb testing.TB, want float64, f func()) {
	tb.Helper()
	if raceEnabled {
		f()
		return
	}
	if got := testing.AllocsPerRun(100, f); got > want {
		tb.Errorf("%v allocations a call, want at most %v", got, want)
	}
}

// AllocatedBytes fails the test if a call of f allocates more than want bytes on average. Like [Allocs], it must not be
// used in a parallel test, and counts nothing under the race detector.
func AllocatedBytes(tb testing.TB, want uint64, f func()) {
	tb.Helper()
	f() // makes what is used again
	if raceEnabled {
		return
	}
	const runs = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / runs; got > want {
		tb.Errorf("%d bytes allocated by a call, want at most %d", got, want)
	}
}
