package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/place"
	"culvert/place/dir"
)

// versionedPlace is a directory whose files have versions, and whose reads can fail.
type versionedPlace struct {
	place.Place
	version atomic.Int64
	reading func(name string, offset int64) error // called before each read
}

func openVersioned(t *testing.T, name string) *versionedPlace {
	t.Helper()
	opened, err := dir.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return &versionedPlace{Place: opened, reading: func(string, int64) error { return nil }}
}

func (p *versionedPlace) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(p.Place, name)
	return p.info(info), err
}

func (p *versionedPlace) info(info fs.FileInfo) fs.FileInfo {
	return versionedInfo{info, place.Version(fmt.Sprint(p.version.Load()))}
}

func (p *versionedPlace) Open(name string) (fs.File, error) {
	f, err := p.Place.Open(name)
	if err != nil {
		return nil, err
	}
	return &versionedFile{f.(*os.File), p, name}, nil
}

type versionedInfo struct {
	fs.FileInfo
	version place.Version
}

func (i versionedInfo) Sys() any { return i.version }

type versionedFile struct {
	*os.File
	place *versionedPlace
	name  string
}

func (f *versionedFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return f.place.info(info), err
}

func (f *versionedFile) ReadDir(n int) ([]fs.DirEntry, error) {
	entries, err := f.File.ReadDir(n)
	for i, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return nil, err
		}
		entries[i] = fs.FileInfoToDirEntry(f.place.info(info))
	}
	return entries, err
}

func (f *versionedFile) ReadAt(p []byte, offset int64) (int, error) {
	if err := f.place.reading(f.name, offset); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, offset)
}

func TestPullPlaceTree(t *testing.T) {
	from, _ := filetest.Tree(t, manyFiles())
	source := openVersioned(t, from).Place
	target := t.TempDir()
	config := transfer.Config{
		Remote: ".", Root: filetest.OpenRoot(t, target), Local: "copy/of it", Progress: &transfer.Progress{},
	}
	pull := func(ctx context.Context, _ *client.Client, config transfer.Config) (transfer.Result, error) {
		return transfer.PullPlace(ctx, source, config)
	}
	transferTree(t, pull, nil, config, from, target)
}

// pullLarge begins to pull a file of 37 MiB from a place to a directory.
func pullLarge(t *testing.T) (p *versionedPlace, from, target string, config transfer.Config) {
	t.Helper()
	from, _ = filetest.Tree(t, map[string]int{"large": 37*fileservice.BlockSize + 5})
	target = t.TempDir()
	return openVersioned(t, from), from, target, transfer.Config{
		Remote: ".", Root: filetest.OpenRoot(t, target), Local: ".",
	}
}

func TestPullPlaceResumes(t *testing.T) {
	for name, failure := range map[string]error{
		"unreachable": place.ErrUnreachable,
		"interrupted": context.Canceled,
	} {
		t.Run(name, func(t *testing.T) {
			p, from, target, config := pullLarge(t)
			p.reading = func(_ string, offset int64) error {
				if offset >= 20*fileservice.BlockSize {
					return failure
				}
				return nil
			}
			result, err := transfer.PullPlace(t.Context(), p, config)
			if !errors.Is(err, failure) || result.Files != 0 {
				t.Fatalf("%+v, %v", result, err)
			}
			if _, err := os.Lstat(filepath.Join(target, "large")); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			p.reading = func(string, int64) error { return nil }
			result, err = transfer.PullPlace(t.Context(), p, config)
			all := result.Resumed + result.Bytes
			if err != nil || result.Files != 1 || result.Resumed == 0 || all < 37*fileservice.BlockSize {
				t.Errorf("%+v, %v", result, err)
			}
			filetest.SeeSame(t, from, target)
		})
	}
}

func TestPullPlaceRetries(t *testing.T) {
	p, from, target, config := pullLarge(t)
	var failed atomic.Int64
	p.reading = func(_ string, offset int64) error {
		if offset >= 8*fileservice.BlockSize && failed.Add(1) <= 3 {
			return &fs.PathError{Op: "read", Path: "large", Err: place.ErrUnreachable}
		}
		return nil
	}
	config.Retry = func(error) bool { return true }
	if result, err := transfer.PullPlace(t.Context(), p, config); err != nil || result.Files != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	filetest.SeeSame(t, from, target)
}

// TestPullPlaceChanged replaces the file while it is pulled, by one of the same size and time.
func TestPullPlaceChanged(t *testing.T) {
	p, from, target, config := pullLarge(t)
	info, err := os.Stat(filepath.Join(from, "large"))
	if err != nil {
		t.Fatal(err)
	}
	var replaced atomic.Bool
	p.reading = func(_ string, offset int64) error {
		if offset < 12*fileservice.BlockSize || !replaced.CompareAndSwap(false, true) {
			return nil
		}
		other := filepath.Join(t.TempDir(), "large")
		p.version.Add(1)
		return errors.Join(place.ErrChanged,
			os.WriteFile(other, bytes.Repeat([]byte("other"), int(info.Size())/5+1)[:info.Size()], 0o644),
			os.Chtimes(other, info.ModTime(), info.ModTime()), os.Rename(other, filepath.Join(from, "large")))
	}
	changes := 0
	config.Notify = func(e transfer.Event) {
		if e.Kind == transfer.FileChanged {
			changes++
		}
	}
	result, err := transfer.PullPlace(t.Context(), p, config)
	if err != nil || result.Files != 1 || result.Resumed != 0 || changes == 0 {
		t.Errorf("%+v, %v, %d changes", result, err, changes)
	}
	filetest.SeeSame(t, from, target)
}

// TestPullPlaceShort has a file that is shorter than the place says.
func TestPullPlaceShort(t *testing.T) {
	p, _, target, config := pullLarge(t)
	p.reading = func(_ string, offset int64) error {
		if offset >= 4*fileservice.BlockSize {
			return io.EOF
		}
		return nil
	}
	if result, err := transfer.PullPlace(t.Context(), p, config); !errors.Is(err, place.ErrIntegrity) {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := os.Lstat(filepath.Join(target, "large")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
