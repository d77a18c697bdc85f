package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/place"
)

// keepingPlace is a directory that keeps what a store may: checksums, and the times of the sources.
type keepingPlace struct {
	*versionedPlace
	algorithm place.Algorithm // or ""
	timed     bool

	mu    sync.Mutex
	times map[string]time.Time
}

func (p *keepingPlace) Open(name string) (fs.File, error) {
	f, err := p.versionedPlace.Open(name)
	if err != nil {
		return nil, err
	}
	return &keptFile{f.(*versionedFile), p}, nil
}

func (p *keepingPlace) Create(ctx context.Context, name string) (place.File, error) {
	f, err := p.versionedPlace.Create(ctx, name)
	return &keepingFile{f, p, name}, err
}

func (p *keepingPlace) Replace(ctx context.Context, name string) (place.File, error) {
	f, err := p.versionedPlace.Replace(ctx, name)
	return &keepingFile{f, p, name}, err
}

type keptFile struct {
	*versionedFile
	keeping *keepingPlace
}

func (f *keptFile) Sum() (place.Sum, error) {
	if f.keeping.algorithm == "" {
		return place.Sum{}, nil
	}
	content, err := os.ReadFile(f.Name())
	if err != nil {
		return place.Sum{}, err
	}
	return sumOf(f.keeping.algorithm, content, 0), nil
}

func (f *keptFile) SourceTime() time.Time {
	f.keeping.mu.Lock()
	defer f.keeping.mu.Unlock()
	return f.keeping.times[f.name]
}

type keepingFile struct {
	place.File
	keeping *keepingPlace
	name    string
}

func (f *keepingFile) SetSourceTime(modified time.Time) {
	f.keeping.mu.Lock()
	defer f.keeping.mu.Unlock()
	if f.keeping.timed {
		f.keeping.times[f.name] = modified
	}
}

// TestPushPlacePresent pushes files to a place that has files of the same sizes. Which of them are left alone follows
// from what the place keeps of them.
func TestPushPlacePresent(t *testing.T) {
	const sent, exists = "sent", "exists"
	for name, test := range map[string]struct {
		keeps               string // of the files that are there
		sameBytes, sameTime bool
		older               bool // the source, than the file that is there
		want, forced        string
	}{
		"sum, same":               {"sum", true, false, true, "", ""},
		"sum, same, newer":        {"sum", true, false, false, "", ""},
		"sum, other":              {"sum", false, false, true, exists, sent},
		"sum, other, same time":   {"sum time", false, true, true, exists, sent},
		"time, same":              {"time", true, true, true, "", sent},
		"time, other":             {"time", false, false, true, exists, sent},
		"nothing, there is newer": {"", true, false, true, "", sent},
		"nothing, there is older": {"", true, false, false, exists, sent},
	} {
		for _, force := range []bool{false, true} {
			for _, dry := range []bool{true, false} {
				from, _ := filetest.Tree(t, map[string]int{"large": 2*fileservice.BlockSize + 5, "dir/small": 100})
				inner, target := emptyPlace(t)
				p := &keepingPlace{versionedPlace: inner, times: map[string]time.Time{}}
				p.timed = test.keeps == "time" || test.keeps == "sum time"
				if test.keeps == "sum" || test.keeps == "sum time" {
					p.algorithm = place.CRC64NVME
				}
				config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, from), Local: "."}
				if result, err := transfer.Push(t.Context(), p, config); err != nil || result.Files != 2 {
					t.Fatalf("%s: %+v, %v", name, result, err)
				}
				for _, file := range []string{"large", "dir/small"} {
					changeSource(t, filepath.Join(from, file), test.sameBytes, test.sameTime, test.older)
				}
				config.Overwrite, config.DryRun = force, dry
				result, err := transfer.Push(t.Context(), p, config)
				want := test.want
				if force {
					want = test.forced
				}
				var ok bool
				switch {
				case want == "":
					ok = err == nil && result.Present == 2
				case want == sent || dry: // a dry run does not say that a name is taken
					ok = err == nil && result.Files == 2
				default:
					ok = errors.Is(err, fs.ErrExist) && result.Failed == 2
				}
				if !ok {
					t.Errorf("%s, force %v, dry %v: %+v, %v", name, force, dry, result, err)
				}
				if !dry && want == sent {
					seeCopies(t, from, target)
				}
			}
		}
	}
}

// changeSource changes a file, but not its size.
func changeSource(t *testing.T, path string, sameBytes, sameTime, older bool) {
	t.Helper()
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if !sameBytes {
		if err := os.WriteFile(path, bytes.Repeat([]byte("z"), int(before.Size())), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	modified := before.ModTime()
	switch {
	case sameTime:
	case older:
		modified = modified.Add(-time.Hour)
	default:
		modified = modified.Add(time.Hour)
	}
	if err := os.Chtimes(path, time.Time{}, modified); err != nil {
		t.Fatal(err)
	}
}

// TestPushPlaceRace has two clients that push different files of one size and time at once: one of them fails.
func TestPushPlaceRace(t *testing.T) {
	for _, size := range []int{100, 2*fileservice.BlockSize + 5} {
		from, _ := filetest.Tree(t, map[string]int{"file": size})
		inner, target := emptyPlace(t)
		p := &keepingPlace{versionedPlace: inner, algorithm: place.CRC32C, times: map[string]time.Time{}}
		var once sync.Once
		inner.reading = func(string, int64) error { // while the file is written
			once.Do(func() {
				path := filepath.Join(target, "file")
				if err := os.WriteFile(path, bytes.Repeat([]byte("z"), size), 0o600); err != nil {
					t.Error(err)
				}
			})
			return nil
		}
		config := transfer.Config{Remote: "file", Root: filetest.OpenRoot(t, from), Local: "file"}
		result, err := transfer.Push(t.Context(), p, config)
		if !errors.Is(err, fs.ErrExist) || result.Present+result.Files != 0 {
			t.Errorf("%d bytes: %+v, %v", size, result, err)
		}
	}
}
