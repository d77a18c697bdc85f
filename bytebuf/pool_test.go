package bytebuf_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"culvert/bytebuf"
)

// get is Get without a reason to fail.
func get(t *testing.T, pool *bytebuf.Pool, n int) *bytebuf.Buffer {
	t.Helper()
	b, err := pool.Get(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// address is where the memory of an empty Buffer begins.
func address(b *bytebuf.Buffer) *byte { return &b.AvailableBuffer()[:1][0] }

func TestNewPoolPanics(t *testing.T) {
	for name, classes := range map[string][]bytebuf.Class{
		"no classes":       nil,
		"no bytes":         {{Size: 0, Count: 1}},
		"negative size":    {{Size: -1, Count: 1}},
		"no buffers":       {{Size: 1, Count: 1}, {Size: 2, Count: 0}},
		"negative count":   {{Size: 1, Count: math.MinInt}},
		"two of same size": {{Size: 1, Count: 1}, {Size: 2, Count: 1}, {Size: 1, Count: 2}},
	} {
		got := attempt(nil, func(buffer) string { bytebuf.NewPool(classes...); return "no panic" })
		if !strings.HasPrefix(got, "panic: bytes.NewPool: ") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestPoolChoosesClass(t *testing.T) {
	pool := bytebuf.NewPool(
		bytebuf.Class{Size: 1000, Count: 3}, bytebuf.Class{Size: 1, Count: 3}, bytebuf.Class{Size: 100, Count: 3},
	)
	for n, want := range map[int]int{0: 1, 1: 1, 2: 100, 99: 100, 100: 100, 101: 1000, 1000: 1000} {
		for _, b := range []*bytebuf.Buffer{get(t, pool, n), pool.TryGet(n)} {
			if b.Cap() != want || b.Available() != want || b.Len() != 0 {
				t.Errorf("asked for %d bytes: Cap %d, Available %d, Len %d; want %d",
					n, b.Cap(), b.Available(), b.Len(), want)
			}
			b.Free()
		}
	}
}

func TestPoolTooLarge(t *testing.T) {
	pool := bytebuf.NewPool(bytebuf.Class{Size: 10, Count: 1}, bytebuf.Class{Size: 20, Count: 1})
	b, err := pool.Get(t.Context(), 21)
	if b != nil || !errors.Is(err, bytebuf.ErrTooLarge) {
		t.Errorf("Get: %v, %v", b, err)
	}
	if b := pool.TryGet(math.MaxInt); b != nil {
		t.Errorf("TryGet: %v", b)
	}
	for name, call := range map[string]func(){
		"Get":    func() { _, _ = pool.Get(t.Context(), -1) },
		"TryGet": func() { pool.TryGet(math.MinInt) },
	} {
		if got := attempt(nil, func(buffer) string { call(); return "" }); !strings.Contains(got, "negative count") {
			t.Errorf("%s of a negative count: %s", name, got)
		}
	}
}

func TestPoolTryGet(t *testing.T) {
	pool := bytebuf.NewPool(bytebuf.Class{Size: 10, Count: 2}, bytebuf.Class{Size: 20, Count: 1})
	first, second := pool.TryGet(5), pool.TryGet(10)
	if first == nil || second == nil || pool.TryGet(1) != nil {
		t.Error("not two of two")
	}
	if pool.TryGet(11) == nil {
		t.Error("the other size is not there")
	}
	first.Free()
	if pool.TryGet(1) == nil || pool.TryGet(1) != nil {
		t.Error("not one after one was freed")
	}
}

func TestPoolWaits(t *testing.T) {
	for name, free := range map[string]func(pool *bytebuf.Pool, b *bytebuf.Buffer){
		"Free": func(_ *bytebuf.Pool, b *bytebuf.Buffer) { b.Free() },
		"Put": func(pool *bytebuf.Pool, b *bytebuf.Buffer) {
			if !pool.Put(b) {
				t.Error("refused")
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			pool := bytebuf.NewPool(bytebuf.Class{Size: 10, Count: 1})
			lent := get(t, pool, 1)
			var got []int
			for i := range 3 {
				go func() {
					b, err := pool.Get(t.Context(), 1)
					if err != nil {
						t.Error(err)
						return
					}
					got = append(got, i)
					free(pool, b)
				}()
				synctest.Wait()
			}
			if len(got) != 0 {
				t.Errorf("%s: lent beside the one of one", name)
			}
			free(pool, lent)
			synctest.Wait()
			slices.Sort(got)
			if !slices.Equal(got, []int{0, 1, 2}) {
				t.Errorf("%s: woke %v, want each of those who waited", name, got)
			}
		})
	}
}

func TestPoolContext(t *testing.T) {
	cause := errors.New("the cause")
	synctest.Test(t, func(t *testing.T) {
		pool := bytebuf.NewPool(bytebuf.Class{Size: 10, Count: 1})
		lent := get(t, pool, 1)

		ctx, cancel := context.WithCancelCause(t.Context())
		var err error
		go func() { _, err = pool.Get(ctx, 1) }()
		synctest.Wait()
		cancel(cause)
		synctest.Wait()
		if !errors.Is(err, cause) || !strings.HasPrefix(err.Error(), "bytebuf: ") {
			t.Errorf("canceled while waiting: %v", err)
		}

		deadline, stop := context.WithTimeoutCause(t.Context(), 1000, cause)
		defer stop()
		if _, err := pool.Get(deadline, 1); !errors.Is(err, cause) {
			t.Errorf("after the deadline: %v", err)
		}
		plain, stop := context.WithTimeout(t.Context(), 1000)
		defer stop()
		if _, err := pool.Get(plain, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the deadline, without a cause: %v", err)
		}

		lent.Free()
		for range 100 { // in none of which chance may decide
			if _, err := pool.Get(ctx, 1); !errors.Is(err, cause) {
				t.Fatalf("canceled before, with one free: %v", err)
			}
		}
		if b := pool.TryGet(1); b == nil {
			t.Error("those who gave up have one")
		}
	})
}

func TestPoolRefuses(t *testing.T) {
	pool := bytebuf.NewPool(bytebuf.Class{Size: 10, Count: 1})
	other := bytebuf.NewPool(bytebuf.Class{Size: 10, Count: 1})
	lent := get(t, other, 1)
	for name, b := range map[string]*bytebuf.Buffer{
		"zero": {}, "New": bytebuf.New(), "NewBuffer": bytebuf.NewBuffer(make([]byte, 10)), "another Pool's": lent,
	} {
		b.WriteString("content")
		content := b.String()
		if pool.Put(b) {
			t.Errorf("%s: taken", name)
		}
		if b.String() != content {
			t.Errorf("%s: refused, and changed to %q", name, b.String())
		}
	}
	if other.TryGet(1) != nil {
		t.Error("a refused Buffer was given back to its Pool")
	}
	if pool.Put(nil) {
		t.Error("nil: taken")
	}
	if !other.Put(lent) {
		t.Error("its own Pool refuses a Buffer")
	}
}

// TestPoolAfterMisuse uses lent Buffers in all ways, then looks whether the Pool lends what it did before.
func TestPoolAfterMisuse(t *testing.T) {
	uses := map[string]func(pool *bytebuf.Pool, b *bytebuf.Buffer){
		"nothing": func(_ *bytebuf.Pool, b *bytebuf.Buffer) { b.Free() },
		"grown": func(_ *bytebuf.Pool, b *bytebuf.Buffer) {
			b.WriteString(strings.Repeat("x", 1000))
			b.Free()
		},
		"grown, with slices": func(_ *bytebuf.Pool, b *bytebuf.Buffer) {
			b.WriteString("xx")
			b.Bytes()
			b.WriteString(strings.Repeat("x", 1000))
			b.Bytes()
			b.Free()
		},
		"TakeString": func(_ *bytebuf.Pool, b *bytebuf.Buffer) {
			b.WriteString("12345678")
			stringSink = b.TakeString()
			b.Free()
		},
		"TakeString of what has grown": func(pool *bytebuf.Pool, b *bytebuf.Buffer) {
			b.WriteString(strings.Repeat("x", 1000))
			stringSink = b.TakeString()
			if pool.TryGet(1) != nil {
				t.Error("TakeString gave the Buffer back")
			}
			b.WriteString("again")
			if !pool.Put(b) {
				t.Error("refused after TakeString")
			}
		},
		"TakeString of what has grown, at the end": func(_ *bytebuf.Pool, b *bytebuf.Buffer) {
			b.WriteString(strings.Repeat("x", 1000))
			stringSink = b.TakeString()
			b.Free()
		},
		"read to the end": func(_ *bytebuf.Pool, b *bytebuf.Buffer) {
			b.WriteString("12345678")
			b.Next(8)
			b.Free()
		},
	}
	if !bytebuf.Debug {
		uses["freed twice"] = func(pool *bytebuf.Pool, b *bytebuf.Buffer) {
			b.Free()
			b.Free()
			if pool.Put(b) {
				t.Error("taken, though it was freed")
			}
		}
		uses["used after Free"] = func(_ *bytebuf.Pool, b *bytebuf.Buffer) {
			b.Free()
			b.WriteString(strings.Repeat("y", 1000))
			b.Free()
		}
	}
	for name, use := range uses {
		pool := bytebuf.NewPool(bytebuf.Class{Size: 10, Count: 1})
		for range 3 {
			b := get(t, pool, 10)
			use(pool, b)
			again := pool.TryGet(10)
			if again == nil {
				t.Fatalf("%s: not given back", name)
			}
			if again.Cap() != 10 || again.Len() != 0 {
				t.Errorf("%s: lent again with %d bytes, %d of them used", name, again.Cap(), again.Len())
			}
			if pool.TryGet(1) != nil {
				t.Errorf("%s: a second one of one", name)
			}
			again.Free()
		}
	}
}

func TestPoolDoubleFree(t *testing.T) {
	if !bytebuf.Debug {
		t.Skip("skipped: noticed only with -tags bytebufdebug")
	}
	for name, second := range map[string]func(pool *bytebuf.Pool, b *bytebuf.Buffer){
		"Free":                 func(_ *bytebuf.Pool, b *bytebuf.Buffer) { b.Free() },
		"Put":                  func(pool *bytebuf.Pool, b *bytebuf.Buffer) { pool.Put(b) },
		"Free after a write":   func(_ *bytebuf.Pool, b *bytebuf.Buffer) { b.WriteByte('x'); b.Free() },
		"Free while lent anew": func(pool *bytebuf.Pool, b *bytebuf.Buffer) { pool.TryGet(1); b.Free() },
	} {
		pool := bytebuf.NewPool(bytebuf.Class{Size: 10, Count: 1})
		b := get(t, pool, 1)
		b.Free()
		got := attempt(nil, func(buffer) string { second(pool, b); return "no panic" })
		if !strings.Contains(got, "freed twice") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestPoisonOfFreedMemory(t *testing.T) {
	if !bytebuf.Debug {
		t.Skip("skipped: overwritten only with -tags bytebufdebug")
	}
	pool := bytebuf.NewPool(bytebuf.Class{Size: 100, Count: 1})
	for name, b := range map[string]*bytebuf.Buffer{"Buffer": {}, "of a Pool": get(t, pool, 100)} {
		b.WriteString(strings.Repeat("x", 100))
		held := b.Bytes()
		b.Free()
		var other bytebuf.Buffer
		other.WriteString(strings.Repeat("y", 100))
		if lent := pool.TryGet(100); lent != nil {
			lent.WriteString(strings.Repeat("z", 100))
		}
		if want := bytes.Repeat([]byte{0xDB}, 100); !bytes.Equal(held, want) {
			t.Errorf("%s: freed memory is %.20q", name, held)
		}
	}
}

func TestPoolLendsLastUsedFirst(t *testing.T) {
	if bytebuf.Debug {
		t.Skip("skipped: with -tags bytebufdebug freed memory is not used again")
	}
	pool := bytebuf.NewPool(bytebuf.Class{Size: 10, Count: 3})
	first, second := get(t, pool, 1), get(t, pool, 1)
	firstAddress, secondAddress := address(first), address(second)
	second.Free()
	first.Free()
	if address(get(t, pool, 1)) != firstAddress || address(get(t, pool, 1)) != secondAddress {
		t.Error("not the one that was freed last")
	}
}

// TestPoolMakesMemoryLazily makes a Pool larger than any memory.
func TestPoolMakesMemoryLazily(t *testing.T) {
	pool := bytebuf.NewPool(bytebuf.Class{Size: 1 << 10, Count: 1 << 20}, bytebuf.Class{Size: 1 << 30, Count: 1 << 20})
	for range 1000 {
		get(t, pool, 1).Free()
	}
}

// TestPoolAtOnce lends from many goroutines, and sees whether ever two have the same memory, or more than there are.
func TestPoolAtOnce(t *testing.T) {
	const count = 3
	pool := bytebuf.NewPool(bytebuf.Class{Size: 100, Count: count}, bytebuf.Class{Size: 200, Count: count})
	var lent [2]atomic.Int32
	var group sync.WaitGroup
	for worker := range 16 {
		group.Go(func() {
			for i := range 300 {
				class := (worker + i) % 2
				var b *bytebuf.Buffer
				if i%5 == 0 {
					if b = pool.TryGet(100 * (class + 1)); b == nil {
						continue
					}
				} else {
					b = get(t, pool, 100*(class+1))
				}
				if n := lent[class].Add(1); n > count {
					t.Errorf("%d lent of %d", n, count)
				}
				pattern := bytes.Repeat([]byte{byte(worker)}, b.Available())
				b.Write(pattern)
				if i%7 == 0 {
					b.Write(pattern)
					pattern = append(pattern, pattern...)
				}
				if !bytes.Equal(b.Bytes(), pattern) {
					t.Error("two have the same memory")
				}
				lent[class].Add(-1)
				b.Free()
			}
		})
	}
	group.Wait()
}
