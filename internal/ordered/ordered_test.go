package ordered_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"culvert/internal/ordered"
	"culvert/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func items(n int) []*int {
	values := make([]*int, n)
	for i := range values {
		values[i] = new(int)
	}
	return values
}

func TestOrder(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		for _, size := range []int{1, 2, 16} {
			q := ordered.New(items(size), workers, func(v *int) { *v *= 2 })
			const count = 1000
			go func() {
				for i := range count {
					it := q.Get()
					*it.Value = i
					q.Put(it)
				}
				q.Finish()
			}()
			for i := range count {
				it := q.Next()
				if *it.Value != 2*i {
					t.Fatalf("%d workers, %d items: item %d is %d, want %d", workers, size, i, *it.Value, 2*i)
				}
				q.Free(it)
			}
			if q.Next() != nil {
				t.Error("an item after the last")
			}
			q.Wait()
		}
	}
}

// TestBound fills a queue that nobody empties.
func TestBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := ordered.New(items(3), 2, func(*int) {})
		var put atomic.Int32
		done := make(chan struct{})
		go func() {
			defer close(done)
			for it := q.Get(); it != nil; it = q.Get() {
				q.Put(it)
				put.Add(1)
			}
		}()
		synctest.Wait()
		if n := put.Load(); n != 3 {
			t.Errorf("%d items were put, want 3", n)
		}
		q.Free(q.Next())
		synctest.Wait()
		if n := put.Load(); n != 4 {
			t.Errorf("%d items were put after one was freed, want 4", n)
		}
		q.Stop()
		<-done
		q.Wait()
	})
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := ordered.New(items(2), 2, func(*int) {})
		var consumer sync.WaitGroup
		consumer.Go(func() {
			if q.Next() != nil {
				t.Error("Next gives an item that was not put")
			}
		})
		synctest.Wait()
		held := q.Get()
		q.Stop()
		q.Stop()
		consumer.Wait()
		q.Wait()
		q.Put(held) // must not block
		if q.Get() != nil || q.Next() != nil {
			t.Error("a stopped queue gives items")
		}
	})
}

// TestProducers puts from several goroutines.
func TestProducers(t *testing.T) {
	q := ordered.New(items(5), 3, func(v *int) { *v++ })
	const producers, each = 4, 500
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				it := q.Get()
				*it.Value = p*each + i
				q.Put(it)
			}
		})
	}
	go func() {
		wg.Wait()
		q.Finish()
	}()
	next := [producers]int{}
	total := 0
	for it := q.Next(); it != nil; it = q.Next() {
		v := *it.Value - 1
		p := v / each
		if v%each != next[p] {
			t.Fatalf("producer %d: item %d, want %d", p, v%each, next[p])
		}
		next[p]++
		total++
		q.Free(it)
	}
	q.Wait()
	if total != producers*each {
		t.Errorf("%d items, want %d", total, producers*each)
	}
}

func TestAllocs(t *testing.T) {
	for _, workers := range []int{1, 3} {
		q := ordered.New(items(4), workers, func(*int) {})
		testkit.Allocs(t, 0, func() {
			q.Put(q.Get())
			q.Free(q.Next())
		})
		q.Stop()
		q.Wait()
	}
}

func Example() {
	words := []string{"what", "flows", "through", "is", "not", "seen"}
	buffers := []*string{new(string), new(string), new(string)}
	q := ordered.New(buffers, 2, func(s *string) { *s = fmt.Sprintf("<%s>", *s) })
	go func() {
		for _, word := range words {
			it := q.Get()
			*it.Value = word
			q.Put(it)
		}
		q.Finish()
	}()
	for it := q.Next(); it != nil; it = q.Next() {
		fmt.Print(*it.Value)
		q.Free(it)
	}
	// Output: <what><flows><through><is><not><seen>
}
