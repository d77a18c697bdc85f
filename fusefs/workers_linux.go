package fusefs

import "sync/atomic"

// maxIdleWorkers is how many goroutines wait for the next task.
const maxIdleWorkers = 32

// workers run tasks that may take long, or forever. They stay for the next task, since a new goroutine grows its stack
// each time, an eighth of the time of small requests. If a task does not end, other goroutines take its place.
type workers struct {
	tasks chan func()
	idle  atomic.Int32
	ended <-chan struct{}
}

func newWorkers(ended <-chan struct{}) *workers {
	return &workers{tasks: make(chan func()), ended: ended}
}

// start runs a task immediately, in another goroutine.
func (w *workers) start(task func()) {
	select {
	case w.tasks <- task:
	default:
		go w.work(task)
	}
}

func (w *workers) work(task func()) {
	for {
		task()
		if w.idle.Add(1) > maxIdleWorkers {
			w.idle.Add(-1)
			return
		}
		select {
		case task = <-w.tasks:
			w.idle.Add(-1)
		case <-w.ended:
			return
		}
	}
}
