package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/jobs"
	"culvert/cmd/culvert/internal/ui"
	"culvert/internal/testkit"
	"culvert/workers"
)

// workedOn returns an export by workers, with the queue of a server or its own.
func workedOn(server command.NotEmpty, random bool) *coordination {
	o := &options{shared: workerFlags{QueueFlags: jobs.QueueFlags{URL: server}}}
	return &coordination{request: &request{options: o}, random: random}
}

// TestFailuresAreTold has a coordinator tell people of failures as they happen, whoever has failed.
func TestFailuresAreTold(t *testing.T) {
	part := workers.Event{
		Event: workers.EventPartFailed, Worker: "far", Table: "orders", Part: 7, Attempt: 5,
		Reason: "workers: no page 9",
	}
	table := workers.Event{Event: workers.EventTableFailed, Table: "orders", Reason: "no page 9"}
	const ofPart = "culvert: table \"orders\", part 7, attempt 5 of worker far: no page 9\n"
	const ofTable = "culvert: table \"orders\" has failed, and the others go on: no page 9\n"
	for name, test := range map[string]struct {
		url  command.NotEmpty
		want string
	}{
		"with a queue": {"nats://host", ofPart + ofTable},
		"alone":        {"", ofTable}, // its own worker has told of the part
	} {
		t.Run(name, func(t *testing.T) {
			var told bytes.Buffer
			e := workedOn(test.url, false)
			e.reporter.App = &command.App{Console: ui.NewConsole(&told)}
			for _, one := range []workers.Event{part, table, {Event: workers.EventWorkerJoined, Worker: "far"}} {
				e.happened(one)
			}
			if got := told.String(); got != test.want {
				t.Errorf("told %q, want %q", got, test.want)
			}
		})
	}
}

// TestJobFigures has the figures of a coordinator. They are those that the docs list.
func TestJobFigures(t *testing.T) {
	e := workedOn("", false)
	e.job = "run-x"
	gathered := func() map[string]float64 {
		registry := prometheus.NewRegistry()
		registry.MustRegister(e.figures()...)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		figures := map[string]float64{}
		for _, family := range families {
			figures[family.GetName()] = family.GetMetric()[0].GetGauge().GetValue()
		}
		return figures
	}
	if got := gathered()["culvert_job_parts"]; got != 0 {
		t.Errorf("before the job has begun, there are %v parts", got)
	}
	e.status.Store(&workers.Status{
		Tables: 2, Parts: 9, Done: 3, Waiting: 4, Running: 5, Rows: 1000, Text: 2000, Out: 500,
		Failed: []string{"one"}, Workers: make([]workers.WorkerStatus, 6),
	})
	want := map[string]float64{
		"culvert_job_parts": 9, "culvert_job_parts_done": 3, "culvert_job_parts_waiting": 4,
		"culvert_job_parts_running": 5, "culvert_job_tables": 2, "culvert_job_tables_failed": 1,
		"culvert_job_rows_done": 1000, "culvert_job_text_bytes_done": 2000, "culvert_job_file_bytes_done": 500,
		"culvert_job_workers": 6,
	}
	if got := gathered(); !maps.Equal(got, want) {
		t.Errorf("the figures are %v, want %v", got, want)
	}
	page, err := os.ReadFile("../../../../docs/many-machines.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `culvert_job_([^|]*)` \\|").FindAllStringSubmatch(string(page), -1)
	listed := map[string]bool{}
	for _, one := range row {
		for name := range strings.SplitSeq(one[1], "`, `") {
			listed["culvert_job_"+strings.TrimPrefix(strings.TrimPrefix(name, "culvert_job"), "_")] = true
		}
	}
	if names := slices.Sorted(maps.Keys(want)); !slices.Equal(slices.Sorted(maps.Keys(listed)), names) {
		t.Errorf("the docs list %v, want %q", listed, names)
	}
}

// TestLater has an export that was interrupted suggest only what is possible.
func TestLater(t *testing.T) {
	for _, test := range []struct {
		name string
		e    *coordination
		want string
	}{
		{"alone", workedOn("", false), "--resume goes on where it was"},
		{"without an identity", workedOn("", true), "begun with --job-key FILE"},
		{"with a queue", workedOn("nats://host", false), "its workers go on"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var told bytes.Buffer
			e := test.e
			e.to, e.reporter.App = &argument.Location{Text: "run"}, &command.App{Console: ui.NewConsole(&told)}
			err := e.explain(command.ErrInterrupted)
			if !errors.Is(err, command.ErrInterrupted) || !strings.Contains(told.String(), test.want) {
				t.Errorf("%v: %q, want %q", err, told.String(), test.want)
			}
			hints := strings.Join(command.HintsOf(e.explain(workers.ErrUnfinished)), "\n")
			if strings.Contains(hints, "--job-key") != e.random || !strings.Contains(hints, "--force") {
				t.Error(hints)
			}
		})
	}
}

// TestUnattended has a coordinator say how to start a worker when there has been none for a while, and now and then.
func TestUnattended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		e := workedOn("nats://host", false)
		e.job, e.reporter.App = "run-x", &command.App{Console: ui.NewConsole(&told)}
		none, one := &workers.Status{}, &workers.Status{Workers: []workers.WorkerStatus{{Name: "a"}}}
		for i, step := range []struct {
			wait   time.Duration
			status *workers.Status
			tells  int
		}{
			{0, none, 0},
			{unattended - 1, none, 0},
			{1, none, 1},
			{reminder - 1, none, 1},
			{1, none, 2},
			{reminder, one, 2},
			{unattended - 1, none, 2},
			{1, none, 3},
		} {
			<-time.After(step.wait)
			e.attend(step.status)
			const line = "no worker has worked on job run-x for a minute: culvert worker --queue nats://host SOURCE"
			if n := strings.Count(told.String(), line); n != step.tells {
				t.Errorf("step %d: %d times, want %d:\n%s", i, n, step.tells, told.String())
			}
		}
	})
}

// TestStay has a worker that waits for a job that has not begun, and for one that the queue has lost.
func TestStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := []error{workers.ErrNoJob, nil, workers.ErrNoJob, workers.ErrNoCoordinator, os.ErrInvalid}
		err := stay(t.Context(), func() error {
			first := results[0]
			results = results[1:]
			return first
		})
		if !errors.Is(err, os.ErrInvalid) || len(results) > 0 {
			t.Errorf("it ended before %v: %v", results, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err = stay(ctx, func() error {
			cancel()
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it was told to end: %v", err)
		}
	})
}

// unread is an output that somebody reads only after a while.
type unread struct {
	begin <-chan struct{}
	text  bytes.Buffer
}

func (u *unread) Write(p []byte) (int, error) {
	<-u.begin
	return u.text.Write(p)
}

// TestNobodyReads has an export that goes on though nobody reads its events. What was left out is counted.
func TestNobodyReads(t *testing.T) {
	begin := make(chan struct{})
	to := &unread{begin: begin}
	var e events
	e.begin(&command.App{Stdout: to})
	for i := range 2 * mostEvents {
		e.done, e.toldAt = i, time.Time{}
		e.progress(&workers.Status{Done: i + 1})
	}
	for range 2 * mostEvents {
		e.notice("something")
	}
	close(begin)
	testkit.WaitFor(t, "the reader", func() bool { return len(e.lines) == 0 })
	e.happened(workers.Event{Event: workers.EventTableFailed})
	if err := e.end(); err != nil {
		t.Error(err)
	}
	e.notice("after the end")
	var last Event
	missed, lines := 0, map[workers.EventKind]int{}
	for decoder := json.NewDecoder(&to.text); decoder.More(); {
		last = Event{}
		if err := decoder.Decode(&last); err != nil {
			t.Fatal(err)
		}
		missed += last.Missed
		lines[last.Event.Event]++
	}
	kind := last.Event.Event
	if missed < mostEvents || missed != 2*mostEvents-lines[eventNotice] || kind != workers.EventTableFailed {
		t.Errorf("%d lines are said to be missing; there are %v, and the last one is %+v", missed, lines, last)
	}
	if progress := lines[eventProgress]; progress < mostEvents/2 || progress > mostEvents {
		t.Errorf("%d lines of progress", progress)
	}
}

// TestForcedEnd has an export that hangs, and events before its last line.
func TestForcedEnd(t *testing.T) {
	for _, reads := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			begin := make(chan struct{})
			to := &unread{begin: begin}
			var stderr bytes.Buffer
			a := &command.App{Stdout: to, Stderr: &stderr}
			var e events
			e.begin(a)
			e.notice("something")
			if reads {
				close(begin)
			}
			if code := a.Fail(command.ErrInterrupted, true); code != command.ExitInterrupted {
				t.Error(code)
			}
			e.notice("after the end")
			if !reads {
				close(begin)
			}
			if err := e.end(); err != nil {
				t.Error(err)
			}
			const last = `{"code":130,"error":"interrupted"}` + "\n"
			if !strings.HasSuffix(to.text.String(), "\n"+last) || (stderr.String() == last) == reads {
				t.Errorf("reads: %v, output %q, errors %q", reads, to.text.String(), stderr.String())
			}
		})
	}
}
