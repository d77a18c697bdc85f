package jobs

import (
	"sync"
	"time"

	"culvert/internal/cli/command"
	"culvert/internal/ui"
	"culvert/workers"
)

// Event is a line that an export by several workers prints with --json, before its report.
type Event struct {
	workers.Event
	Time    time.Time `json:"time"`
	Job     string    `json:"job"`
	Message string    `json:"message,omitempty"` // of a notice
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

// events prints what happens to a job, for programs. The zero value prints nothing.
type events struct {
	app *command.App // nil: nothing is printed
	job string

	mu     sync.Mutex
	err    error
	done   int // parts, when progress was told
	toldAt time.Time
}

// print prints an event. After an error, it does nothing.
func (e *events) print(one Event) {
	if e.app == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	one.Time, one.Job = time.Now().UTC(), e.job
	one.Reason, one.Message = e.readable(one.Reason), e.readable(one.Message)
	if e.err == nil {
		e.err = ui.WriteJSON(e.app.Stdout, one)
	}
}

// readable is how people would read a message.
func (e *events) readable(text string) string { return e.app.Secrets.Redact(plain(text)) }

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

// failure returns why events could not be printed.
func (e *events) failure() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}
