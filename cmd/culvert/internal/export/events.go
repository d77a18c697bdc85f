package export

import (
	"sync"
	"time"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/workers"
)

// Event is a line that an export by several workers prints with --json, before its report.
type Event struct {
	workers.Event
	Time    time.Time `json:"time"`
	Job     string    `json:"job"`
	Message string    `json:"message,omitempty"` // of a notice
	Missed  int       `json:"missed,omitempty"`  // events before this one that were left out
	*Progress
}

// Progress is how far a job is.
type Progress struct {
	Parts   int   `json:"parts"`
	Done    int   `json:"parts_done"`
	Waiting int   `json:"parts_waiting"`
	Running int   `json:"parts_running"`
	Rows    int64 `json:"rows"`
	Text    int64 `json:"text_bytes"`
	Out     int64 `json:"file_bytes"`
	Workers int   `json:"workers"`
}

// Events beside those of package workers.
const (
	eventBegun    workers.EventKind = "begun"
	eventProgress workers.EventKind = "progress"
	eventNotice   workers.EventKind = "notice"
)

// mostEvents bounds the lines that wait to be read. An export does not wait for who reads them.
const mostEvents = 1000

// events prints what happens to a job, for programs. The zero value prints nothing.
type events struct {
	app *command.App // nil: nothing is printed
	job string

	lines   chan any
	printed chan struct{} // all lines are

	mu     sync.Mutex
	closed bool
	missed int // since the last line
	err    error

	done   int // parts, when progress was told
	toldAt time.Time
}

// begin lets events be printed, until end is called.
func (e *events) begin(a *command.App) {
	e.app, e.lines, e.printed = a, make(chan any, mostEvents), make(chan struct{})
	go func() {
		defer close(e.printed)
		for line := range e.lines {
			err := ui.WriteJSON(a.Stdout, line)
			if err == nil {
				continue
			}
			e.mu.Lock()
			e.err = err
			e.mu.Unlock()
			for range e.lines { // nobody can read them
			}
		}
	}()
	a.Last.Store(new(e.last))
}

// print prints an event. If too many lines wait to be read, it is left out, and first of all if it is progress.
func (e *events) print(one Event) {
	if e.app == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || one.Progress != nil && len(e.lines) > mostEvents/2 {
		return
	}
	one.Time, one.Job, one.Missed = time.Now().UTC(), e.job, e.missed
	one.Reason, one.Message = e.readable(one.Reason), e.readable(one.Message)
	select {
	case e.lines <- one:
		e.missed = 0
	default:
		e.missed++
	}
}

// end waits until all events are printed, and returns why they could not be.
func (e *events) end() error {
	if e.app == nil {
		return nil
	}
	e.close(nil)
	<-e.printed
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// last prints a line in place of further events. It reports whether that is done: nobody may read.
func (e *events) last(line any) bool {
	if !e.close(line) {
		return false
	}
	const patience = time.Second
	select {
	case <-e.printed:
	case <-time.After(patience):
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err == nil
}

// close ends the printing, with a last line unless it is nil. It reports whether that will be printed.
func (e *events) close(last any) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.closed = true
	defer close(e.lines)
	if last == nil {
		return true
	}
	select {
	case e.lines <- last:
		return true
	default:
		return false
	}
}

// readable is how people would read a message.
func (e *events) readable(text string) string {
	return e.app.Secrets.Redact(command.PackageNames.ReplaceAllString(text, "$1"))
}

func (e *events) happened(one workers.Event) { e.print(Event{Event: one}) }

func (e *events) notice(text string) {
	e.print(Event{Event: workers.Event{Event: eventNotice}, Message: text})
}

// betweenProgress is how long the progress of a job is not told again. It may have a hundred thousand parts.
const betweenProgress = time.Second

// progress tells how far the job is, if more parts are written than before. It is called by one goroutine.
func (e *events) progress(s *workers.Status) {
	if now := time.Now(); s.Done != e.done && now.Sub(e.toldAt) >= betweenProgress {
		e.done, e.toldAt = s.Done, now
		e.print(Event{Event: workers.Event{Event: eventProgress}, Progress: &Progress{
			Parts: s.Parts, Done: s.Done, Waiting: s.Waiting, Running: s.Running,
			Rows: s.Rows, Text: s.Text, Out: s.Out, Workers: len(s.Workers),
		}})
	}
}
