package testkit

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// MemoryCeiling fails the test if the resident memory of this process exceeds ceiling bytes while f runs. Linux reports
// it for the whole process (VmHWM), including the Go runtime, code, and other goroutines. On other systems the test is
// skipped. Under the race detector, which uses memory itself, MemoryCeiling calls f but compares nothing.
func MemoryCeiling(tb testing.TB, ceiling int64, f func()) {
	tb.Helper()
	peak := PeakMemory(tb, f)
	if peak > ceiling && !raceEnabled {
		tb.Errorf("memory rose to %.1f MiB, above the ceiling of %.1f MiB", mebibytes(peak), mebibytes(ceiling))
	}
}

// PeakMemory runs f and returns the peak resident memory of this process in bytes. See [MemoryCeiling].
func PeakMemory(tb testing.TB, f func()) int64 {
	tb.Helper()
	runtime.GC() // pools are emptied by two collections
	debug.FreeOSMemory()
	if err := resetPeak(); err != nil {
		tb.Skip("skipped: this system does not report peak memory:", err)
	}
	f()
	peak, err := readPeak()
	if err != nil {
		tb.Fatal("reading the peak of memory:", err)
	}
	return peak
}

// RaceDetector reports whether the tests run under the race detector, which takes more memory and ten times as long.
func RaceDetector() bool { return raceEnabled }

// Fewer returns n, or a twentieth of it under the race detector, which compares no memory and finds nothing more in
// more of the same.
func Fewer(n int) int {
	if raceEnabled {
		return n / 20
	}
	return n
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
