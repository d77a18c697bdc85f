package testkit

import (
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"
)

// MemoryCeiling fails the test if the memory of this process rises above ceiling, in bytes, while f runs. What is
// counted is the resident memory of the whole process as Linux reports it (VmHWM), with the Go runtime, the code, and
// the goroutines of others in it; elsewhere the test is skipped. Under the race detector, which takes memory of its
// own, f is called but nothing is compared.
func MemoryCeiling(tb testing.TB, ceiling int64, f func()) {
	tb.Helper()
	peak := PeakMemory(tb, f)
	if peak > ceiling && !raceEnabled {
		tb.Errorf("memory rose to %.1f MiB, above the ceiling of %.1f MiB", mebibytes(peak), mebibytes(ceiling))
	}
}

// PeakMemory runs f and gives the highest resident memory, in bytes, that this process had meanwhile. See
// [MemoryCeiling].
func PeakMemory(tb testing.TB, f func()) int64 {
	tb.Helper()
	runtime.GC() // pools give up what lies unused through two collections
	debug.FreeOSMemory()
	if err := resetPeak(); err != nil {
		tb.Skip("skipped: this system does not tell the peak of memory:", err)
	}
	f()
	peak, err := readPeak()
	if err != nil {
		tb.Fatal("reading the peak of memory:", err)
	}
	return peak
}

// ChildPeakMemory runs cmd to its end and gives its highest resident memory, in bytes. Linux hands the peak of the
// parent down to the child, so that the result is too high, never too low, if this process was larger than the child.
// On systems that do not count it, the test is skipped.
func ChildPeakMemory(tb testing.TB, cmd *exec.Cmd) int64 {
	tb.Helper()
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%s: %v", cmd.Path, err)
	}
	peak, ok := childPeak(cmd.ProcessState)
	if !ok {
		tb.Skip("skipped: this system does not tell the peak of memory of a child")
	}
	return peak
}

// RaceDetector reports whether the tests run under the race detector, which takes memory of its own.
func RaceDetector() bool { return raceEnabled }

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
