package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"culvert/manifest"
	"culvert/place"
	"culvert/place/dir"
	"culvert/workers/internal/queue"
)

// fullPlace has no room as long as full is set.
type fullPlace struct {
	place.Place
	full bool
}

func (p *fullPlace) Replace(ctx context.Context, name string) (place.File, error) {
	if p.full {
		return nil, syscall.ENOSPC
	}
	return p.Place.Replace(ctx, name)
}

func newTestJournal(t *testing.T) (*journal, *fullPlace) {
	t.Helper()
	in, err := dir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	})
	to := &fullPlace{Place: in}
	return journalOf(t, to, 1), to
}

func journalOf(t *testing.T, to place.Place, term int) *journal {
	t.Helper()
	sealer, err := queue.NewSealer([]byte("a secret of at least 16 bytes"), "job", "journal")
	if err != nil {
		t.Fatal(err)
	}
	j := &journal{to: to, sealer: sealer, begun: time.Now(), name: segmentName{"0123456789abcdef", term, 1}}
	j.add("job", []byte(`{}`))
	if err := j.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return j
}

// read returns the number of segments and all keys.
func (j *journal) read(t *testing.T) (segments int, keys []string) {
	t.Helper()
	names, _, err := listJournal(t.Context(), j.to)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		entries, err := readSegment(t.Context(), j.to, j.sealer, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			keys = append(keys, entry.Key)
		}
	}
	return len(names), keys
}

// TestSegments fills several segments, while the place is full for a time.
func TestSegments(t *testing.T) {
	j, to := newTestJournal(t)
	note, err := json.Marshal(bytes.Repeat([]byte("x"), 3000))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"job"}
	for i := range 100 {
		key := fmt.Sprint("record.", i)
		want = append(want, key)
		j.add(key, note)
		to.full = i%10 > 5
		if err := j.flush(t.Context()); (err != nil) != to.full {
			t.Fatal(err)
		}
		if (j.due != nil) != to.full {
			t.Fatalf("after note %d, full: %v, a flush is due: %v", i, to.full, j.due != nil)
		}
	}
	to.full = false
	if err := j.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if segments, keys := j.read(t); segments < 3 || !slices.Equal(keys, want) {
		t.Errorf("%d segments with %q", segments, keys)
	}
	if err := j.remove(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := to.Open(manifest.JournalDirectory); err == nil {
		t.Error("the directory is left")
	}
}

// TestTerms has coordinators of one job, one after the other.
func TestTerms(t *testing.T) {
	first, to := newTestJournal(t)
	if err := first.check(t.Context()); err != nil {
		t.Error(err)
	}
	second, third := journalOf(t, to, 2), journalOf(t, to, 2) // which finds that there is one
	if second.name.term != 2 || third.name.term != 3 {
		t.Errorf("the terms are %d and %d", second.name.term, third.name.term)
	}
	for _, j := range []*journal{first, second} {
		if err := j.check(t.Context()); !errors.Is(err, errTakenOver) {
			t.Error(err)
		}
	}
	// One that was killed while it removed segments may have left any of them.
	left := segmentName{first.name.run, 1, 2}
	first.name = left
	if err := errors.Join(first.write(t.Context(), to.Create), removeJournal(t.Context(), to, []string{
		segmentName{left.run, 1, 1}.String(), segmentName{left.run, 2, 1}.String(),
	})); err != nil {
		t.Error(err)
	}
	segments, _, err := listJournal(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	o := &operation{c: &Coordinator{Output: &Output{Place: to}}}
	if found, err := o.newestRun(t.Context(), third.sealer, segments); len(found) != 2 || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	if err := errors.Join(third.supersede(t.Context()), third.check(t.Context())); err != nil {
		t.Error(err)
	}
	first.add("record.1", []byte(`{}`))
	if err := first.flush(t.Context()); !errors.Is(err, errTakenOver) {
		t.Error(err)
	}
	if err := first.write(t.Context(), to.Create); err != nil { // as if it had not known yet
		t.Error(err)
	}
	if err := errors.Join(third.check(t.Context()), first.withdraw(t.Context())); err != nil {
		t.Error(err)
	}
	if segments, _ := third.read(t); segments != 1 {
		t.Errorf("there are %d segments", segments)
	}
	if err := errors.Join(third.remove(t.Context()), third.remove(t.Context())); err != nil {
		t.Error(err)
	}
	if err := third.check(t.Context()); !errors.Is(err, errTakenOver) {
		t.Error(err)
	}
}

// TestSealedSegments exchanges two segments, and damages one.
func TestSealedSegments(t *testing.T) {
	j, to := newTestJournal(t)
	other := journalOf(t, to, 2)
	write := func(name string, data []byte) {
		t.Helper()
		file, err := to.Replace(t.Context(), name)
		if err == nil {
			_, err = file.Write(data)
		}
		if err == nil {
			err = file.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	good := j.sealer.Seal(other.name.String(), []byte(`{"key":"job","note":{}}`))
	damaged := slices.Clone(good)
	damaged[len(damaged)/2] ^= 1
	for what, data := range map[string][]byte{
		"other name": j.sealer.Seal(j.name.String(), nil), "damaged": damaged, "short": good[:10], "empty": nil,
	} {
		write(other.name.String(), data)
		if _, err := readSegment(t.Context(), to, j.sealer, other.name); !errors.Is(err, ErrSealed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	write(other.name.String(), j.sealer.Seal(other.name.String(), []byte(`{"key":`)))
	if _, err := readSegment(t.Context(), to, j.sealer, other.name); err == nil {
		t.Error("a segment that is not JSON was read")
	}
}
