package workers_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"culvert/internal/testkit/natsserver"
	"culvert/workers"
)

// put writes a file into the place.
func (f *fixture) put(t *testing.T, name string) {
	t.Helper()
	file := filepath.Join(f.Directory, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// exportPlainly exports the tables by one process, without a queue.
func (f *fixture) exportPlainly(t *testing.T) error {
	t.Helper()
	output, err := f.output()
	if err != nil {
		t.Fatal(err)
	}
	src, err := f.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = output.Plan.Tables(t.Context(), output.Place, src, f.Tables)
	if closeErr := errors.Join(src.Close(), output.Close()); closeErr != nil {
		t.Error(closeErr)
	}
	return err
}

// TestResumeWhereNothingBegan has a file in the place, but neither a job nor a journal.
func TestResumeWhereNothingBegan(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"orders/000099.csv.zst.age", "orders/000001.csv.zst.age.abcdefgh.part", "notes.txt",
	} {
		f := newFixture(t)
		f.put(t, name)
		if err := f.resume(t); !errors.Is(err, workers.ErrOccupied) {
			t.Errorf("%s: %v", name, err)
		}
		if files := f.files(t); !slices.Equal(files, []string{name}) {
			t.Errorf("%s: the files are %q", name, files)
		}
	}
}

// TestOtherExportBetween has a job whose participants have died, and an export without a queue to the same place.
func TestOtherExportBetween(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.URL = natsserver.New(t).URL()
	f.late = regexp.MustCompile(`\.part$`) // of the worker that is killed
	allDie(t, f)
	if err := f.exportPlainly(t); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), ".culvert/") {
		t.Errorf("without Overwrite: %v", err)
	}
	between := *f
	between.Overwrite = true
	if err := between.exportPlainly(t); err != nil {
		t.Fatal(err)
	}
	if f.check(t).Run != "" {
		t.Error("the manifest names a run")
	}
	files := f.files(t)
	f.Mixed = true
	q := f.queue(t)
	for range 2 {
		if result := <-f.begin(t.Context(), t, q, workers.Coordinator{}); !errors.Is(result.err, workers.ErrOccupied) {
			t.Error(result.err)
		}
	}
	if now := f.files(t); !slices.Equal(now, files) {
		t.Errorf("the files are %q, and were %q", now, files)
	}
	f.check(t)
	if err := q.Remove(t.Context(), jobName); err != nil {
		t.Error(err)
	}
	f.Overwrite = true
	f.finish(t, q)
	if f.check(t).Run == "" {
		t.Error("the manifest names no run")
	}
}

// TestOtherExportMeanwhile has an export without a queue to the place of a job that runs.
func TestOtherExportMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(t)
	running := f.beginAndSee(t.Context(), t, q)
	other := *f
	other.Overwrite = true
	if err := other.exportPlainly(t); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	worker := f.participant
	worker.Name, worker.Overwrite = "worker", true
	worked := make(chan error, 1)
	go func() { worked <- worker.workOn(ctx, q, func(m string) { t.Log(m) }) }()
	if result := <-running; result.err == nil || !strings.Contains(result.err.Error(), "taken over") {
		t.Error(result.err)
	}
	cancel()
	if err := <-worked; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	f.late = regexp.MustCompile(`-[0-9]+\.csv\.zst\.age$`) // of the worker
	f.check(t)
}

// TestCompletedByOther has a coordinator that waits until the other one has completed the job.
func TestCompletedByOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(t)
	first := f.beginAndSee(t.Context(), t, q)
	waits := make(chan struct{})
	second := make(chan error, 1)
	go func() {
		var once sync.Once
		_, err := f.coordinate(t.Context(), q, workers.Coordinator{Notice: func(m string) {
			if strings.Contains(m, "waiting") {
				once.Do(func() { close(waits) })
			}
		}})
		second <- err
	}()
	<-waits
	worker := f.participant
	worker.Name = "worker"
	if err := worker.workOn(t.Context(), q, func(m string) { t.Log(m) }); err != nil {
		t.Error(err)
	}
	(<-first).check(t)
	if err := <-second; !errors.Is(err, workers.ErrCompleted) {
		t.Error(err)
	}
	f.check(t)
}

// TestWaitsForNoOther has a coordinator of other tables, with the name of a job that another one coordinates.
func TestWaitsForNoOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(t)
	first := f.beginAndSee(t.Context(), t, q)
	other := *f
	other.PartSize *= 2
	if result := <-other.begin(t.Context(), t, q, workers.Coordinator{}); !errors.Is(result.err, workers.ErrOtherJob) {
		t.Error(result.err)
	}
	worker := f.participant
	worker.Name = "worker"
	if err := worker.workOn(t.Context(), q, func(m string) { t.Log(m) }); err != nil {
		t.Error(err)
	}
	(<-first).check(t)
	f.check(t)
}
