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
	Redrawn        // one line, drawn over and over: for terminals
	Periodic       // a line now and then: for logs
)

// The intervals of the styles: quick enough to look alive, slow enough to cost nothing; and what a log can bear.
const (
	redrawInterval   = 200 * time.Millisecond
	periodicInterval = 10 * time.Second
)

// Progress shows the figures of a running command.
type Progress struct {
	Console *Console
	Style   Style
	Total   int64          // of Figures.In at the end; 0 if it is not known
	Read    func() Figures // gives the figures as they are now; it is called from another goroutine
}

// Start begins to show progress. The result ends it, removes the line that is drawn over, and waits until nothing more
// is shown; it may be called more than once.
func (p Progress) Start() (stop func()) {
	interval := redrawInterval
	switch p.Style {
	case Silent:
		return func() {}
	case Periodic:
		interval = periodicInterval
	}
	end := make(chan struct{})
	var shown sync.WaitGroup
	shown.Go(func() { p.show(interval, end) })
	return sync.OnceFunc(func() {
		close(end)
		shown.Wait()
	})
}

func (p Progress) show(interval time.Duration, end <-chan struct{}) {
	start := time.Now()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			line := p.Read().line(time.Since(start), p.Total)
			if p.Style == Periodic {
				p.Console.Print(line)
			} else {
				p.Console.draw(line)
			}
		case <-end:
			p.Console.clear()
			return
		}
	}
}
