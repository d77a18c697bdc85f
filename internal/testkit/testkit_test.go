package testkit_test

import (
	"fmt"
	"runtime"
	"testing"

	"culvert/internal/testkit"
)

// recorder is a test whose failures are looked at instead of reported.
type recorder struct {
	testing.TB
	failed, skipped bool
	message         string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failed, r.message = true, fmt.Sprintf(format, args...)
}

func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }

func (r *recorder) Skipf(format string, args ...any) {
	r.skipped, r.message = true, fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// record runs f in a goroutine of its own, which it may end.
func record(tb testing.TB, f func(testing.TB)) *recorder {
	r := &recorder{TB: tb}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r
}

func TestMissing(t *testing.T) {
	missing := func(tb testing.TB) { testkit.Missing(tb, "a thing", "get a thing") }

	t.Setenv("CULVERT_TEST_ALL", "")
	r := record(t, missing)
	if want := "skipped: a thing is missing; to install it: get a thing"; !r.skipped || r.message != want {
		t.Errorf("skipped %v: %q", r.skipped, r.message)
	}
	t.Setenv("CULVERT_TEST_ALL", "1")
	if r := record(t, missing); !r.failed || r.skipped {
		t.Errorf("failed %v, skipped %v, want a failure", r.failed, r.skipped)
	}
}

var sink any

func TestAllocs(t *testing.T) {
	called := false
	if r := record(t, func(tb testing.TB) { testkit.Allocs(tb, 0, func() { called = true }) }); r.failed || !called {
		t.Errorf("no allocation: failed %v, called %v", r.failed, called)
	}
	r := record(t, func(tb testing.TB) { testkit.Allocs(tb, 1, func() { sink = new([2]int); sink = new([3]int) }) })
	if !r.failed && !testkit.RaceEnabled {
		t.Error("two allocations where one is allowed: not failed")
	}
}

const mebibyte = 1 << 20

// use takes so many bytes of resident memory.
func use(size int) {
	b := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		b[i] = 1
	}
	sink = b
	sink = nil
}

func TestPeakMemory(t *testing.T) {
	if large := testkit.PeakMemory(t, func() { use(200 * mebibyte) }); large < 200*mebibyte {
		t.Errorf("the peak with 200 MiB in use is %d", large)
	}
	// The earlier peak must be forgotten.
	small := testkit.PeakMemory(t, func() { use(mebibyte) })
	if small < mebibyte || small > 150*mebibyte && !testkit.RaceEnabled {
		t.Errorf("the peak with 1 MiB in use is %d", small)
	}
}

func TestMemoryCeiling(t *testing.T) {
	if testkit.RaceEnabled {
		t.Skip("skipped: the ceiling does not hold under the race detector")
	}
	hold := func() { use(100 * mebibyte) }
	if r := record(t, func(tb testing.TB) { testkit.MemoryCeiling(tb, 90*mebibyte, hold) }); !r.failed {
		t.Error("100 MiB under a ceiling of 90: not failed")
	}
	if r := record(t, func(tb testing.TB) { testkit.MemoryCeiling(tb, 200*mebibyte, hold) }); r.failed {
		t.Errorf("100 MiB under a ceiling of 200: %s", r.message)
	}
}
