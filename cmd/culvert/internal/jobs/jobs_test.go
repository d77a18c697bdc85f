package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"filippo.io/age"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/internal/testkit"
	"culvert/source"
	"culvert/workers"
)

func TestNamesOfJobs(t *testing.T) {
	for output, want := range map[string]string{
		"s3://bucket/Nightly run/":        `^nightly-run-[a-z2-7]{8}$`,
		"s3://bucket?region=x":            `^bucket-[a-z2-7]{8}$`,
		"/srv/" + strings.Repeat("x", 99): `^x{40}-[a-z2-7]{8}$`,
		"/":                               `^[a-z2-7]{8}$`,
	} {
		if name := nameOf(output, "host"); !regexp.MustCompile(want).MatchString(name) {
			t.Errorf("the job of %s is %s", output, name)
		}
	}
	if nameOf("/run", "one") == nameOf("/run", "two") {
		t.Error("directories of two machines have one name")
	}
	if one := workerName(); one == workerName() {
		t.Error("two workers have one name")
	}
}

func TestQueueURLs(t *testing.T) {
	a := &command.App{}
	for text, want := range map[string]string{
		"nats://host": "nats://host", "host:4222": "nats://host:4222", "tls://a,b": "tls://a,nats://b",
	} {
		if got, err := checkURL(a, text, nil, true); err != nil || got != want {
			t.Errorf("%s is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"http://host", "nats://", "nats://me:secret@host", "a,nats://secret@host"} {
		_, err := checkURL(a, text, nil, true)
		if command.ExitCode(err) != command.ExitUsage || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := checkURL(a, "nats://secret@host", nil, false); err != nil || a.Secrets.Redact("secret") == "secret" {
		t.Errorf("a secret of the environment: %v", err)
	}
	if got := shown("nats://me:secret@host"); got != "nats://host" {
		t.Error(got)
	}
}

// TestSettings has a worker write as the coordinator says.
func TestSettings(t *testing.T) {
	a := &command.App{Console: ui.NewConsole(io.Discard)}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	how := Layout{Format: "jsonl", InvalidUTF8: "base64", Compression: "gzip"}
	plan := &export.Plan{Recipients: []age.Recipient{identity.Recipient()}}
	if err := how.Apply(plan); err != nil {
		t.Fatal(err)
	}
	_, l, err := argument.Locate(t.Context(), a, filepath.Join(t.TempDir(), "run"), &argument.PlaceFlags{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(nil); err != nil {
			t.Error(err)
		}
	}()
	s, err := newSettings(plan, how, Choice{Names: []string{"orders"}}, l)
	if err != nil {
		t.Fatal(err)
	}
	for _, which := range []Choice{
		{Names: []string{"orders", "customers"}}, {All: true}, {Schemas: []string{"orders"}},
	} {
		other, err := newSettings(plan, how, which, l)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(other.encode(), s.encode()) {
			t.Errorf("a job of other tables could be continued: %s", s.encode())
		}
	}
	fast := *plan
	fast.FailFast = true
	hasty, err := newSettings(&fast, how, s.Choice, l)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(hasty.encode(), s.encode()) {
		t.Errorf("a job could be continued with --fail-fast: %s", s.encode())
	}
	o, err := output(t.Context(), a, hasty.encode(), &argument.PlaceFlags{}, s.Recipients)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}()
	if o.Plan.Extension() != plan.Extension() || o.Plan.Unencrypted || len(o.Plan.Recipients) != 1 || !o.Plan.FailFast {
		t.Errorf("the worker would write %s by the plan %+v", o.Plan.Extension(), o.Plan)
	}

	stranger, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	other := stranger.Recipient().String()
	for _, only := range [][]string{{other}, {other, s.Recipients[0]}, {}} {
		if _, err := output(t.Context(), a, s.encode(), &argument.PlaceFlags{}, only); err == nil {
			t.Errorf("a job to other recipients than %q was accepted", only)
		}
	}
	open := s
	open.Recipients = nil
	_, err = output(t.Context(), a, open.encode(), &argument.PlaceFlags{}, s.Recipients)
	if err == nil || !strings.Contains(err.Error(), "it is not encrypted") {
		t.Errorf("a job without encryption: %v", err)
	}

	s.Host = "other"
	_, err = output(t.Context(), a, s.encode(), &argument.PlaceFlags{}, nil)
	if err == nil || !strings.Contains(err.Error(), "a directory of the machine other") {
		t.Errorf("a directory of another machine: %v", err)
	}
	s.Version++
	if _, err = output(t.Context(), a, s.encode(), &argument.PlaceFlags{}, nil); err == nil {
		t.Error("settings of another version were accepted")
	}
}

func TestText(t *testing.T) {
	r := &Report{Jobs: []job{
		{Status: workers.Status{
			Job: "run-x", Begun: time.Now(), Tables: 2, Parts: 4, Done: 1, Rows: 1000, Text: 1e6,
			Bytes: 400, BytesIn: 100,
			Workers: []workers.WorkerStatus{
				{Name: "one", Sessions: 1, Parts: 1, Rows: 1500, Rate: 1e5, Writing: []string{"b", "a", "a"}},
				{Name: "two", Sessions: 1, Still: 45, Writing: []string{"b"}},
				{Name: "three", Sessions: 1, Silent: 120, Writing: []string{"b"}},
			},
		}},
		{Status: workers.Status{Job: "empty"}},
		{Status: workers.Status{Job: "alone", NoCoordinator: true}},
		{Status: workers.Status{Job: "dead", NoCoordinator: true, SnapshotLost: true}},
		{Status: workers.Status{Job: "other"}, Error: "it has another key"},
	}}
	text := r.Text()
	for _, want := range []string{
		"run-x  █████░░░░░░░░░░░░░░░  1 of 4 parts  25 %  about 30", "\n  2 tables, 1,000 rows, ", "writes a, b\n",
		"stuck for 45", "silent for 2m", "no worker: nothing goes on",
		"  no coordinator: the same export", "snapshot lost, no coordinator: the same export",
		"other: it has another key",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// TestTally has counters that never fall, over two jobs.
func TestTally(t *testing.T) {
	var sum tally
	sum.note(workers.WorkerStatus{Rows: 10, Text: 100})
	sum.note(workers.WorkerStatus{Rows: 5, Text: 50, Parts: 1})
	sum.end(true)
	sum.note(workers.WorkerStatus{Rows: 1, Text: 1, Parts: 2, Sessions: 3})
	if s := sum.total(); s.Rows != 11 || s.Text != 101 || s.Parts != 3 || s.Sessions != 3 || sum.jobs != 1 {
		t.Errorf("%+v", s)
	}
}

func TestEachEnds(t *testing.T) {
	none := func(ctx context.Context) ([]string, error) { return nil, ctx.Err() }
	never := func(string) error { return os.ErrInvalid }
	if err := each(t.Context(), none, time.Nanosecond, func(s string) { t.Log(s) }, never); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := each(ctx, none, 0, nil, never); err != nil {
		t.Error(err)
	}
}

// TestLater has an export that was interrupted suggest only what is possible.
func TestLater(t *testing.T) {
	for _, test := range []struct {
		name string
		e    *Export
		want string
	}{
		{"alone", &Export{Flags: &ExportFlags{}}, "--resume goes on where it was"},
		{"without an identity", &Export{Flags: &ExportFlags{}, random: true}, "begun with --job-key FILE"},
		{"with a queue", &Export{Flags: &ExportFlags{QueueFlags: QueueFlags{url: "nats://host"}}}, "its workers go on"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var told bytes.Buffer
			e := test.e
			e.To, e.teller.app = &argument.Location{Text: "run"}, &command.App{Console: ui.NewConsole(&told)}
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
		e := &Export{Flags: &ExportFlags{QueueFlags: QueueFlags{url: "nats://host"}}, name: "run-x"}
		e.teller.app = &command.App{Console: ui.NewConsole(&told)}
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

// TestIdle has a worker that is not idle while it works, even if the job fails then, and that is idle while no job lets
// it work.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := func(context.Context) ([]string, error) { return []string{"one"}, nil }
		const idle, work = 10 * time.Minute, time.Hour
		begun, tries := time.Now(), 0
		err := each(t.Context(), one, idle, func(string) {}, func(string) error {
			if tries++; tries == 1 {
				<-time.After(work)
			}
			return os.ErrInvalid
		})
		if err != nil || tries < 2 {
			t.Errorf("tried %d times: %v", tries, err)
		}
		if took := time.Since(begun); took < work+idle || took > work+2*idle {
			t.Errorf("it ended after %s", took)
		}
	})
}

// TestForsaken has jobs that nobody coordinates, and one that begins later.
func TestForsaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		all, tried := []string{"one", "two", "three"}, map[string]int{}
		list := func(context.Context) ([]string, error) { return slices.Clone(all), nil }
		err := each(ctx, list, 0, func(string) {}, func(job string) error {
			if tried[job]++; tried["one"] > 2 {
				all = append(all, "live")
			}
			switch {
			case job == "live":
				cancel()
				return nil
			case tried[job] > 100:
				cancel()
			}
			return fmt.Errorf("%w: %w", workers.ErrNoCoordinator, source.ErrSnapshotLost)
		})
		if err != nil || tried["live"] != 1 || tried["two"] < 2 || tried["two"] > 4 {
			t.Errorf("tried %v: %v", tried, err)
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
