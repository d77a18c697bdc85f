package testkit

import "testing"

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
