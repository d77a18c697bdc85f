package receive

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"culvert/fileservice"
)

// update has TestGoldenJournal write its journal anew. That is to be done only when journalFormat changes.
var update = flag.Bool("update", false, "write the golden files")

// TestGoldenJournal resumes from a stored journal.
func TestGoldenJournal(t *testing.T) {
	const golden = "testdata/journal"
	s := newSample(5*fileservice.BlockSize + 3)
	dir := t.TempDir()
	root := openTestRoot(t, dir)
	if *update {
		r := mustReceive(t, root, "file", s.version)
		for _, blocks := range [][]int64{{5, 1}, {2}} {
			s.write(t, r, blocks...)
			if err := r.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(golden); err != nil {
			t.Fatal(err)
		}
		copyJournal(t, filepath.Join(dir, "file"+fileservice.JournalSuffix), golden)
	}
	if err := os.RemoveAll(filepath.Join(dir, "file"+fileservice.JournalSuffix)); err != nil {
		t.Fatal(err)
	}
	copyJournal(t, golden, filepath.Join(dir, "file"+fileservice.JournalSuffix))
	if err := os.WriteFile(filepath.Join(dir, "file"+fileservice.PartSuffix), s.content, 0o600); err != nil {
		t.Fatal(err)
	}
	r := mustReceive(t, root, "file", s.version)
	if got := r.Committed(); !slices.Equal(got, []fileservice.BlockRange{{First: 1, Count: 2}, {First: 5, Count: 1}}) {
		t.Errorf("committed: %v", got)
	}
	s.write(t, r, 0, 3, 4)
	_, err := r.Finish(s.root(), 0) // the sums are those of the journal
	if err := errors.Join(err, r.Close()); err != nil {
		t.Error(err)
	}
}

func copyJournal(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err == nil && len(content) > 0 {
			err = os.WriteFile(filepath.Join(to, entry.Name()), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
