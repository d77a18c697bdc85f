// Package ordered is a parallel map over a stream that keeps its order, in a fixed amount of memory.
//
// A [Queue] owns a fixed number of items, which go round and round:
//
//	          Get                Put                 Next               Free
//	free ───────────▶ producer ────────▶ workers ───────────▶ consumer ────────▶ free
//	                             └─────▶ order ─────────────▶┘
//
// The producer takes a free item, fills it and puts it into the queue. Any worker transforms it in place. The consumer
// receives the items in the order in which they were put, waiting for each to be done, and frees it. When all items are
// under way, the producer waits for the consumer: that is the bound on memory and the back-pressure in one.
//
// An item enters two channels at once, one read by the workers and one by the consumer, and carries its own signal
// between them. This keeps order without a reorder buffer; WireGuard's send and receive queues work alike
// (golang.zx2c4.com/wireguard/device).
package ordered

import (
	"slices"
	"sync"
)

// Queue moves items from producers through workers to one consumer. Get, Put, Free and Stop are safe for concurrent
// use; the order of the items is that of the calls of Put. Next is for one goroutine.
type Queue[T any] struct {
	work  func(T)
	free  chan struct{} // one for each item in idle
	tasks chan *Item[T]
	order chan *Item[T]
	stop  chan struct{}

	mu   sync.Mutex
	idle []*Item[T] // the last one freed is the first one taken: its memory is warm, and the rest may never be needed

	stopOnce sync.Once
	workers  sync.WaitGroup
}

// Item is one place in the queue. Whatever its Value is given to hold, buffers above all, it keeps from round to round.
type Item[T any] struct {
	Value T
	done  chan struct{}
}

// New starts a queue with one item for each of the values, which are mostly pointers, and so many workers, each of
// which calls work. The first Get gives the first value.
//
// One worker takes no goroutine: Put does the work itself, in as many goroutines as there are producers.
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

// Get gives a producer an item to fill, waiting until one is free. It returns nil once the queue is stopped.
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

// Put hands an item to the workers. It does not wait, unless there is but one worker.
func (q *Queue[T]) Put(it *Item[T]) {
	// No send blocks: each channel has room for all items.
	q.order <- it
	if q.tasks == nil {
		q.work(it.Value)
		it.done <- struct{}{}
	} else {
		q.tasks <- it
	}
}

// Finish says that no more items will be put. Next returns nil after the last one.
func (q *Queue[T]) Finish() {
	if q.tasks != nil {
		close(q.tasks)
	}
	close(q.order)
}

// Next gives the consumer the next item, waiting until it is done. It returns nil after the last item, or once the
// queue is stopped.
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

// Free gives an item back: the consumer one that it has used, or a producer one that it has no use for.
func (q *Queue[T]) Free(it *Item[T]) {
	q.mu.Lock()
	q.idle = append(q.idle, it)
	q.mu.Unlock()
	q.free <- struct{}{}
}

// Stop ends the queue where it stands: Get and Next return nil, also where they are waiting now. Work that has begun is
// completed. Stop may be called more than once.
func (q *Queue[T]) Stop() {
	q.stopOnce.Do(func() { close(q.stop) })
}

// Wait waits for the workers to end, after Finish or Stop.
func (q *Queue[T]) Wait() { q.workers.Wait() }
