package pace_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"culvert/pace"
)

func Example() {
	limit, err := pace.Parse("50MB/s")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(limit, limit.Wait(context.Background(), 10, 1<<20))
	// Output: 50MB/s <nil>
}

// TestWait has several move batches in the time that the limit says, of bytes or rows.
func TestWait(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1MB/s": 10*time.Second - 100*time.Millisecond, "1000rows/s": 20*time.Second - 200*time.Millisecond,
		"500rows/s": 0, // too few
	} {
		limit, err := pace.Parse(text)
		if (err != nil) != (want == 0) {
			t.Fatal(text, err)
		}
		if err != nil {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for range 25 {
						if err := limit.Wait(t.Context(), 200, 100_000); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			if took := time.Since(begin); took != want {
				t.Errorf("%s: 100 batches took %v, want %v", text, took, want)
			}
			<-time.After(time.Hour) // which is not saved up
			begin = time.Now()
			for range 2 {
				if err := limit.Wait(t.Context(), 200, 100_000); err != nil {
					t.Error(err)
				}
			}
			if took := time.Since(begin); took == 0 {
				t.Errorf("%s: two batches after a pause took no time", text)
			}
		})
	}
}

// TestWaitEnds ends with the context.
func TestWaitEnds(t *testing.T) {
	limit, err := pace.Parse("1kB/s")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("over")
		ctx, cancel := context.WithCancelCause(t.Context())
		if err := limit.Wait(ctx, 1, 1e9); err != nil {
			t.Error(err)
		}
		time.AfterFunc(time.Second, func() { cancel(cause) })
		begin := time.Now()
		if err := limit.Wait(ctx, 1, 1); err != cause || time.Since(begin) != time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

// TestParse refuses what is no rate.
func TestParse(t *testing.T) {
	for _, text := range []string{
		"", "50", "50MB", "MB/s", "NaNMB/s", "Infrows/s", "-5MB/s", "0rows/s", "1B/s", "5 cows/s", "1e400GB/s",
	} {
		if limit, err := pace.Parse(text); err == nil {
			t.Errorf("%q is %v", text, limit)
		}
	}
	var none *pace.Limit
	if none.String() != "" || none.Wait(t.Context(), 1, 1e18) != nil {
		t.Error("no limit limits")
	}
}
