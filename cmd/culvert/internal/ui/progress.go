package ui

import (
	"sync"
	"time"
)

// Style is a way to show progress.
type Style int

// The styles of progress.
const (
	Silent   Style = iota
	Redrawn        // bars, redrawn in place: for terminals
	Periodic       // a line now and then: for logs
)

// The intervals of the styles: quick enough to look alive, slow enough to cost nothing; and what a log can bear.
const (
	redrawInterval   = 200 * time.Millisecond
	periodicInterval = 10 * time.Second
)

// Status is how far a command is: the whole of its work, and the parts that are under way.
type Status struct {
	Task
	Active []Task // such as tables, files or connections; by their names, which are unique
}

// Task is a piece of work.
type Task struct {
	Name   string
	Amount string  // what has been done, such as "1,000 rows"; "" stands for Bytes
	Bytes  int64   // that were moved, from which the rate follows
	Left   int64   // bytes still to be moved, if that is known; otherwise the time left follows from Done
	Done   float64 // the part that is done; 0 or less if that is unknown
}

// Moving returns a task that has moved some of size bytes. The size is 0 if it is unknown.
func Moving(name string, moved, size int64) Task {
	task := Task{Name: name, Bytes: moved}
	if size > 0 {
		task.Left, task.Done = max(0, size-moved), float64(moved)/float64(size)
	}
	return task
}

// Progress shows how far a running command is.
type Progress struct {
	Console *Console
	Style   Style
	Read    func() Status // returns the current status; it is called from another goroutine
}

// Start begins to show progress. The function it returns ends that, removes the bars, and waits until nothing more is
// shown; it may be called more than once.
func (p Progress) Start() (stop func()) {
	if p.Style == Silent {
		return func() {}
	}
	end := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() { p.show(end) })
	return sync.OnceFunc(func() {
		close(end)
		shown.Wait()
	})
}

func (p Progress) show(end <-chan struct{}) {
	interval, show := periodicInterval, func(total figures, active []figures) { p.Console.Print(line(total, active)) }
	if p.Style == Redrawn {
		bars := newBars(p.Console)
		defer bars.close()
		interval, show = redrawInterval, bars.show
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var total pace
	total.measure(p.Read().Task, time.Now())
	paces := map[string]*pace{}
	for {
		select {
		case <-end:
			return
		case <-ticker.C:
		}
		now, status := time.Now(), p.Read()
		underWay := make(map[string]*pace, len(status.Active))
		active := make([]figures, len(status.Active))
		for i, task := range status.Active {
			known := paces[task.Name]
			if known == nil {
				known = new(pace)
			}
			underWay[task.Name], active[i] = known, known.measure(task, now)
		}
		paces = underWay
		show(total.measure(status.Task, now), active)
	}
}
