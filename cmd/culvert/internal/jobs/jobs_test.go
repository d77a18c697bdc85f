package jobs

import (
	"bytes"
	"context"
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
	"culvert/cmd/culvert/internal/masking"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
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
	if one := WorkerName(); one == WorkerName() {
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
	if got := Shown("nats://me:secret@host"); got != "nats://host" {
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
	if err := how.Apply(plan, false); err != nil {
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
	s, err := NewSettings(plan, how, Choice{Names: []string{"orders"}}, l)
	if err != nil {
		t.Fatal(err)
	}
	for _, which := range []Choice{
		{Names: []string{"orders", "customers"}}, {All: true}, {Schemas: []string{"orders"}},
	} {
		other, err := NewSettings(plan, how, which, l)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(other.Encode(), s.Encode()) {
			t.Errorf("a job of other tables could be continued: %s", s.Encode())
		}
	}
	fast := *plan
	fast.FailFast = true
	hasty, err := NewSettings(&fast, how, s.Choice, l)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(hasty.Encode(), s.Encode()) {
		t.Errorf("a job could be continued with --fail-fast: %s", s.Encode())
	}
	o, err := output(t.Context(), a, hasty.Encode(), &argument.PlaceFlags{}, s.Recipients, &masking.Flags{})
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
		if _, err := output(t.Context(), a, s.Encode(), &argument.PlaceFlags{}, only, &masking.Flags{}); err == nil {
			t.Errorf("a job to other recipients than %q was accepted", only)
		}
	}
	open := s
	open.Recipients = nil
	_, err = output(t.Context(), a, open.Encode(), &argument.PlaceFlags{}, s.Recipients, &masking.Flags{})
	if err == nil || !strings.Contains(err.Error(), "it is not encrypted") {
		t.Errorf("a job without encryption: %v", err)
	}

	s.Host = "other"
	_, err = output(t.Context(), a, s.Encode(), &argument.PlaceFlags{}, nil, &masking.Flags{})
	if err == nil || !strings.Contains(err.Error(), "a directory of the machine other") {
		t.Errorf("a directory of another machine: %v", err)
	}
	s.Version++
	if _, err = output(t.Context(), a, s.Encode(), &argument.PlaceFlags{}, nil, &masking.Flags{}); err == nil {
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
