// Package ordered implements a parallel map over a stream that preserves its order and uses a fixed amount of memory.
//
// A [Queue] owns a fixed number of items, which circulate:
//
//	          Get                Put                 Next               Free
//	free ───────────▶ producer ────────▶ workers ───────────▶ consumer ────────▶ free
//	                             └─────▶ order ─────────────▶┘
//
// A producer takes a free item, fills it and puts it into the queue. A worker transforms it in place. The consumer
// receives the items in the order of Put, waits until each is done, and frees it. If no item is free, the producer
// waits for the consumer, which bounds the memory and provides back-pressure.
//
// An item enters two channels: the workers read one and the consumer the other. Each item has its own signal from
// worker to consumer. This preserves order without a reorder buffer, as in WireGuard's send and receive queues
// (golang.zx2c4.com/wireguard/device).
package ordered

import (
	"slices"
	"sync"
)

// Queue passes items from producers through workers to one consumer. Get, Put, Free and Stop are safe for concurrent
// use. The items keep the order of Put. Next must be used by one goroutine.
type Queue[T any] struct {
	work  func(T)
	free  chan struct{} // a token for each item in idle
	tasks chan *Item[T]
	order chan *Item[T]
	stop  chan struct{}

	mu   sync.Mutex
	idle []*Item[T] // a stack: the last item's memory is in the cache, and the first ones may never be needed

	stopOnce sync.Once
	workers  sync.WaitGroup
}

// Item is one place in the queue. It keeps its Value, and so its buffers, when it is used again.
type Item[T any] struct {
	Value T
	done  chan struct{}
}

// New starts a queue with one item for each value and the given number of workers, which call work. The first Get
// returns the first value. With one worker there is no goroutine: Put calls work, concurrently if there are several
// producers.
func New[T any](values []T, workers int, work func(T)) *Queue[T] {
	q := &Queue[T]{
		work:  work,
		free:  make(chan struct{}, len(values)),
		order: make(chan *Item[T], len(values)),
		stop:  make(chan struct{}),
	}
	for _, value := range slices.Backward(values) {
		q.Free(&Item[T]{Value: value, done: make(chan struct{}, 1)})
	}
	if workers > 1 {
		q.tasks = make(chan *Item[T], len(values))
		for range workers {
			q.workers.Go(q.run)
		}
	}
	return q
}

func (q *Queue[T]) run() {
	for {
		select {
		case it, ok := <-q.tasks:
			if !ok {
				return
			}
			q.work(it.Value)
			it.done <- struct{}{}
		case <-q.stop:
			return
		}
	}
}

// Get waits for a free item and returns it, for a producer to fill. It returns nil once the queue is stopped.
func (q *Queue[T]) Get() *Item[T] {
	select {
	case <-q.stop:
		return nil
	default:
	}
	select {
	case <-q.free:
	case <-q.stop:
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	last := len(q.idle) - 1
	it := q.idle[last]
	q.idle = q.idle[:last]
	return it
}

// Put passes an item to the workers. With several workers it does not wait; with one it calls work.
func (q *Queue[T]) Put(it *Item[T]) {
	// No send blocks, since each channel has room for all items.
	q.order <- it
	if q.tasks == nil {
		q.work(it.Value)
		it.done <- struct{}{}
	} else {
		q.tasks <- it
	}
}

// Finish ends the input: Put must not be called again, and Next returns nil after the last item.
func (q *Queue[T]) Finish() {
	if q.tasks != nil {
		close(q.tasks)
	}
	close(q.order)
}

// Next waits until the next item is done and returns it, for the consumer. It returns nil after the last item, or once
// the queue is stopped.
func (q *Queue[T]) Next() *Item[T] {
	select {
	case <-q.stop:
		return nil
	default:
	}
	select {
	case it, ok := <-q.order:
		if !ok {
			return nil
		}
		select {
		case <-it.done:
			return it
		case <-q.stop:
			return nil
		}
	case <-q.stop:
		return nil
	}
}

// Free returns an item to the queue. The consumer frees used items, and a producer an item that it does not need.
func (q *Queue[T]) Free(it *Item[T]) {
	q.mu.Lock()
	q.idle = append(q.idle, it)
	q.mu.Unlock()
	q.free <- struct{}{}
}

// Stop stops the queue at once: Get and Next return nil, also in calls that are waiting. Work that has begun is
// completed. Stop may be called more than once.
func (q *Queue[T]) Stop() {
	q.stopOnce.Do(func() { close(q.stop) })
}

// Wait waits for the workers to end, after Finish or Stop.
func (q *Queue[T]) Wait() { q.workers.Wait() }
