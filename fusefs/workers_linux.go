package fusefs

import "sync/atomic"

// maxIdleWorkers is how many goroutines wait for the next task. Under load they are the ones that work.
const maxIdleWorkers = 32

// workers run what may take long, or for ever. They stay for the next task, since a new goroutine has to grow its stack
// anew each time: that was an eighth of the time of small requests. One whose task does not end is not waited for;
// others take its place.
type workers struct {
	tasks chan func()
	idle  atomic.Int32
	ended <-chan struct{}
}

func newWorkers(ended <-chan struct{}) *workers {
	return &workers{tasks: make(chan func()), ended: ended}
}

// start runs a task at once, in another goroutine.
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
