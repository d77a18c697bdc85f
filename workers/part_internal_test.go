package workers

import (
	"strings"
	"testing"

	"culvert/export"
	"culvert/manifest"
	"culvert/place/dir"
)

// TestOwnRecord has a record that the queue had stored without an answer, lost, and got back from the journal, in other
// words. The file that it names stays. That of a part that another worker has recorded is removed.
func TestOwnRecord(t *testing.T) {
	job := newTestJob(t)
	to, err := dir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	r := run{job: job, worker: &Worker{Name: "worker"}, output: &Output{Plan: &export.Plan{}, Place: to}}
	for _, own := range []bool{true, false} {
		file := manifest.Part{File: "orders/000001.csv"}
		k := &keeper{Place: to}
		written, err := k.Create(t.Context(), file.File)
		if err == nil {
			_, err = written.Write([]byte("rows"))
		}
		if err == nil {
			err = written.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		id, other := "p.0.0", file
		if !own {
			id, other.File = "p.0.1", "orders/000001-2.csv"
		}
		if err := job.Set(t.Context(), recordKeys+"."+id, encode(recordNote{File: other})); err != nil {
			t.Fatal(err)
		}
		if err := r.record(t.Context(), id, file, k); err != nil {
			t.Error(err)
		}
		if kept := to.Remove(t.Context(), file.File) == nil; kept != own {
			t.Errorf("own: %v, kept: %v", own, kept)
		}
	}
}

// TestLongError has an error that is larger than a note may be, and is cut within a character.
func TestLongError(t *testing.T) {
	job := newTestJob(t)
	text := bounded(errorText("x" + strings.Repeat("ü", 1<<20)))
	if err := job.Set(t.Context(), "failure.1", encode(failureNote{Error: text})); err != nil {
		t.Error(err)
	}
	if len(text) > 3<<10 || strings.ToValidUTF8(text, "?") != text || bounded(errorText("short")) != "short" {
		t.Errorf("the text has %d bytes: %.10q…", len(text), text)
	}
}

type errorText string

func (e errorText) Error() string { return string(e) }
