package workers

import (
	"slices"
	"testing"

	"culvert/manifest"
	"culvert/source"
	"culvert/workers/internal/queue"
)

// TestFailuresOfWrittenParts has parts that have failed and are written then, or were written before that is known.
func TestFailuresOfWrittenParts(t *testing.T) {
	w := watch{operation: &operation{
		c: &Coordinator{}, job: &queue.Job{}, note: jobNote{Tables: []string{"t"}}, directories: []string{"t"},
		tables: []tableState{{
			note: tableNote{Plan: "p"}, files: make([]manifest.Part, 3),
			cuts: []cut{{Range: source.Range{To: "1"}}, {Range: source.Range{From: "1", To: "2"}}, {}},
		}},
	}}
	note := func(kind string, number int, content any) {
		t.Helper()
		err := w.note(queue.Value{Key: kind + "." + taskID{"p", 0, number}.String(), Data: encode(content)})
		if err != nil {
			t.Fatal(err)
		}
	}
	written := func(number int) {
		r := w.tables[0].cuts[number].Range
		note(recordKeys, number, recordNote{File: manifest.Part{File: "t/1", Range: &r}})
	}
	note(failureKeys, 0, failureNote{Error: "first"})
	written(0)
	written(1)
	note(failureKeys, 1, failureNote{Error: "second"})
	note(failureKeys, 2, failureNote{Error: "third"})
	if s := w.status(); len(s.Failures) != 1 || s.Done != 2 {
		t.Errorf("%d parts are written, and %q are tried again", s.Done, s.Failures)
	}
}

// TestSilentWorkerEnds has a worker that is heard of again when it ends.
func TestSilentWorkerEnds(t *testing.T) {
	var events []EventKind
	c := &Coordinator{Event: func(e Event) { events = append(events, e.Event) }}
	w := watch{operation: &operation{c: c, job: &queue.Job{}}, silent: map[string]bool{"a": true}}
	for range 2 { // the second has nothing to remove
		if err := w.dropSnapshots(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	end := queue.Value{Key: workerKeys + ".a", Data: encode(WorkerStatus{Name: "a", Ended: true})}
	for range 2 {
		if err := w.note(end); err != nil {
			t.Fatal(err)
		}
	}
	if want := []EventKind{EventWorkerJoined, EventWorkerEnded}; !slices.Equal(events, want) {
		t.Errorf("the events are %q, want %q", events, want)
	}
}
