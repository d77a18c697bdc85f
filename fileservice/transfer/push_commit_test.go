package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"lukechampine.com/blake3"

	"culvert/fileservice"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/place"
)

// committingPlace is a place whose files are committed by a function.
type committingPlace struct {
	place.Place
	commit func(name string, commit func() error) error
}

func (p *committingPlace) Create(ctx context.Context, name string) (place.File, error) {
	f, err := p.Place.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	return &committingFile{f, p, name}, nil
}

type committingFile struct {
	place.File
	place *committingPlace
	name  string
}

func (f *committingFile) Commit() error { return f.place.commit(f.name, f.File.Commit) }

// TestPushPlaceParallel commits as many files at once as Config.Parallel says, and no more. A bucket gets all of a file
// only then, if it has one part.
func TestPushPlaceParallel(t *testing.T) {
	for parallel, want := range map[int]int{0: 3, 5: 5, 100: 8} {
		files := map[string]int{}
		for i := range 4 * want {
			files[fmt.Sprint("file", i)] = 2 * fileservice.SmallFileSize
		}
		from, _ := filetest.Tree(t, files)
		p, target := emptyPlace(t)
		var mu sync.Mutex
		committing, waiting, together := 0, 0, make(chan struct{})
		commit := func(_ string, commit func() error) error {
			mu.Lock()
			committing++
			waiting++
			if committing > want {
				t.Errorf("Parallel %d: %d files are committed at once", parallel, committing)
			}
			all := together
			if waiting == want {
				waiting, together = 0, make(chan struct{})
				close(all)
			}
			mu.Unlock()
			<-all // until as many are committed as may be
			mu.Lock()
			committing--
			mu.Unlock()
			return commit()
		}
		config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, from), Local: ".", Parallel: parallel}
		result, err := transfer.Push(t.Context(), &committingPlace{p, commit}, config)
		if err != nil || result.Files != int64(len(files)) {
			t.Errorf("Parallel %d: %+v, %v", parallel, result, err)
		}
		seeCopies(t, from, target)
	}
}

// TestPushPlaceChangedLater changes files when they were pushed: nobody is to blame.
func TestPushPlaceChangedLater(t *testing.T) {
	for _, hash := range []bool{false, true} {
		from, _ := filetest.Tree(t, map[string]int{"large": 9 * fileservice.BlockSize})
		content := readFile(t, filepath.Join(from, "large"))
		p, target := emptyPlace(t)
		commit := func(name string, commit func() error) error {
			return errors.Join(commit(), os.WriteFile(filepath.Join(from, name), []byte("other"), 0o600))
		}
		config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, from), Local: ".", Hash: hash}
		result, err := transfer.Push(t.Context(), &committingPlace{p, commit}, config)
		if err != nil || result.Files != 1 || hash != (result.Hash == blake3.Sum256(content)) {
			t.Errorf("hash %v: %+v, %v", hash, result, err)
		}
		if got := readFile(t, filepath.Join(target, "large")); string(got) != string(content) {
			t.Errorf("hash %v: another file of %d bytes", hash, len(got))
		}
	}
}
