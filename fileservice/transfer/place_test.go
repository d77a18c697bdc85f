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
	source := &keepingPlace{versionedPlace: openVersioned(t, from), algorithm: place.CRC64NVME}
	target := t.TempDir()
	config := transfer.Config{
		Remote: ".", Root: filetest.OpenRoot(t, target), Local: "copy/of it", Progress: &transfer.Progress{},
	}
	transferTree(t, transfer.Pull, source, config, from, target)
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
			result, err := transfer.Pull(t.Context(), p, config)
			if !errors.Is(err, failure) || result.Files != 0 {
				t.Fatalf("%+v, %v", result, err)
			}
			if _, err := os.Lstat(filepath.Join(target, "large")); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			p.reading = func(string, int64) error { return nil }
			result, err = transfer.Pull(t.Context(), p, config)
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
	if result, err := transfer.Pull(t.Context(), p, config); err != nil || result.Files != 1 {
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
	result, err := transfer.Pull(t.Context(), p, config)
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
	if result, err := transfer.Pull(t.Context(), p, config); !errors.Is(err, place.ErrIntegrity) {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := os.Lstat(filepath.Join(target, "large")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// emptyPlace is a directory to push to, whose writes can fail.
func emptyPlace(t *testing.T) (p *versionedPlace, dir string) {
	t.Helper()
	dir = t.TempDir()
	return openVersioned(t, dir), dir
}

func (p *versionedPlace) Create(ctx context.Context, name string) (place.File, error) {
	f, err := p.Place.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	return &versionedWriter{f, p, name, 0}, nil
}

type versionedWriter struct {
	place.File
	place  *versionedPlace
	name   string
	offset int64
}

func (w *versionedWriter) Write(b []byte) (int, error) {
	if err := w.place.reading(w.name, w.offset); err != nil {
		return 0, err
	}
	w.offset += int64(len(b))
	return w.File.Write(b)
}

// seeCopies compares the contents of the files of two trees.
func seeCopies(t *testing.T, from, to string) {
	t.Helper()
	files := map[string]bool{}
	for _, dir := range []string{from, to} {
		err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				files[name] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range files {
		want, wantErr := os.ReadFile(filepath.Join(from, name))
		got, err := os.ReadFile(filepath.Join(to, name))
		if err := errors.Join(wantErr, err); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, and the copy %d: %v", name, len(want), len(got), err)
		}
	}
}

func TestPushPlaceTree(t *testing.T) {
	from, _ := filetest.Tree(t, manyFiles())
	p, target := emptyPlace(t)
	config := transfer.Config{
		Remote: "copy/of it", Root: filetest.OpenRoot(t, from), Local: ".", Progress: &transfer.Progress{},
	}
	for _, dry := range []bool{true, false} {
		config.DryRun = dry
		result, err := transfer.Push(t.Context(), p, config)
		if err != nil || result.Files != 305 || result.Failed != 0 {
			t.Fatalf("dry %v: %+v, %v", dry, result, err)
		}
	}
	seeCopies(t, from, filepath.Join(target, "copy", "of it"))
	if s := config.Progress.Status(); s.FilesDone != 305 || s.BytesDone != s.Bytes || len(s.Active) != 0 {
		t.Errorf("%+v", s)
	}
	config.Progress = nil
	if result, err := transfer.Push(t.Context(), p, config); err != nil || result.Present != 305 {
		t.Errorf("%+v, %v", result, err)
	}
	// Two files change: a small one and a large one.
	for _, name := range []string{"middle", "sub/deep/er/one"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte("other"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	result, err := transfer.Push(t.Context(), p, config)
	if !errors.Is(err, transfer.ErrPartial) || !errors.Is(err, fs.ErrExist) || result.Present != 303 {
		t.Errorf("%+v, %v", result, err)
	}
	// A directory keeps nothing that proves the others to be equal, except that a file is empty.
	config.Overwrite = true
	if result, err := transfer.Push(t.Context(), p, config); err != nil || result.Files+result.Present != 305 ||
		result.Present > 3 {
		t.Errorf("%+v, %v", result, err)
	}
	seeCopies(t, from, filepath.Join(target, "copy", "of it"))
}

// TestPushPlaceEmptyDirectories pushes directories that a place cannot keep, and so must be named.
func TestPushPlaceEmptyDirectories(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"sub/file": 1}) // which also makes void
	if err := os.Mkdir(filepath.Join(from, "sub", "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		p, _ := emptyPlace(t)
		skipped := map[string]bool{}
		config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, from), Local: ".", DryRun: dry}
		config.Notify = func(e transfer.Event) {
			if e.Kind == transfer.FileSkipped {
				skipped[e.Name] = true
			}
		}
		result, err := transfer.Push(t.Context(), p, config)
		if err != nil || result.Files != 1 || result.Skipped != 2 || !skipped["void"] || !skipped["sub/empty"] {
			t.Errorf("dry %v: %v, %+v, skipped %v", dry, err, result, skipped)
		}
	}
}

func TestPushPlaceRetries(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"large": 9*fileservice.BlockSize + 5, "small": 7})
	p, target := emptyPlace(t)
	var failed atomic.Int64
	p.reading = func(name string, offset int64) error {
		if (name == "small" || offset >= 4*fileservice.BlockSize) && failed.Add(1) <= 4 {
			return &fs.PathError{Op: "write", Path: name, Err: place.ErrUnreachable}
		}
		return nil
	}
	config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, from), Local: "."}
	if result, err := transfer.Push(t.Context(), p, config); !errors.Is(err, place.ErrUnreachable) {
		t.Errorf("%+v, %v", result, err)
	}
	names, err := filepath.Glob(filepath.Join(target, "large*"))
	if err != nil || len(names) != 0 {
		t.Errorf("%q is left, %v", names, err)
	}
	failed.Store(0)
	config.Retry = func(error) bool { return true }
	if result, err := transfer.Push(t.Context(), p, config); err != nil || result.Files+result.Present != 2 {
		t.Errorf("%+v, %v", result, err)
	}
	seeCopies(t, from, target)
}

// TestPushPlaceSilent has a place that does not answer: only the first of small files waits for it.
func TestPushPlaceSilent(t *testing.T) {
	small := map[string]int{}
	for i := range 20 {
		small[fmt.Sprint("small", i)] = 7
	}
	from, _ := filetest.Tree(t, small)
	p, _ := emptyPlace(t)
	var waits atomic.Int64
	p.reading = func(name string, _ int64) error {
		waits.Add(1)
		return &fs.PathError{Op: "write", Path: name, Err: place.ErrUnreachable}
	}
	config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, from), Local: "."}
	result, err := transfer.Push(t.Context(), p, config)
	if !errors.Is(err, place.ErrUnreachable) || result.Files != 0 || waits.Load() != 1 {
		t.Errorf("%+v, %v, after %d files", result, err, waits.Load())
	}
}

// TestPushPlaceChanged writes to the file while it is pushed.
func TestPushPlaceChanged(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"large": 9 * fileservice.BlockSize})
	p, target := emptyPlace(t)
	var once atomic.Bool
	p.reading = func(_ string, offset int64) error {
		if offset < 4*fileservice.BlockSize || !once.CompareAndSwap(false, true) {
			return nil
		}
		return os.WriteFile(filepath.Join(from, "large"), bytes.Repeat([]byte("y"), 5*fileservice.BlockSize), 0o600)
	}
	config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, from), Local: "."}
	if result, err := transfer.Push(t.Context(), p, config); err != nil || result.Files != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	seeCopies(t, from, target)
}

// TestPullPlaceEndsAmongSmallFiles ends a pull just after a file was read. Only files that are there count as pulled.
func TestPullPlaceEndsAmongSmallFiles(t *testing.T) {
	from, _ := filetest.Tree(t, map[string]int{"a": 10, "b": 10, "c": 10, "d": 10})
	p, target := openVersioned(t, from), t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("ended")
	reads := 0
	p.reading = func(string, int64) error {
		if reads++; reads == 2 {
			cancel(ended)
		}
		return nil
	}
	done := map[string]bool{}
	result, err := transfer.Pull(ctx, p, transfer.Config{
		Remote: ".", Root: filetest.OpenRoot(t, target), Local: ".",
		Notify: func(e transfer.Event) { done[e.Name] = e.Kind == transfer.FileDone },
	})
	if !errors.Is(err, ended) {
		t.Errorf("a pull whose context has ended returns %v", err)
	}
	there := int64(0)
	for _, name := range []string{"a", "b", "c", "d"} {
		_, err := os.Lstat(filepath.Join(target, name))
		if err == nil {
			there++
		}
		if done[name] && err != nil {
			t.Errorf("%s is reported as done: %v", name, err)
		}
	}
	if there == 4 || result.Files != there {
		t.Errorf("%d files count as pulled, and there are %d", result.Files, there)
	}
}

// listedPlace calls a function before it opens anything.
type listedPlace struct {
	place.Place
	opening func(name string) error
}

func (p listedPlace) Open(name string) (fs.File, error) {
	if err := p.opening(name); err != nil {
		return nil, err
	}
	return p.Place.Open(name)
}

// TestInterruptedListing ends transfers while a directory is listed. Nothing is wrong with that directory.
func TestInterruptedListing(t *testing.T) {
	from := t.TempDir()
	if err := os.Mkdir(filepath.Join(from, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "sub", "file"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(context.Context, place.Place, transfer.Config) (transfer.Result, error){
		"Pull": transfer.Pull, "Push": transfer.Push,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := errors.New("ended")
		p := listedPlace{openVersioned(t, from), func(name string) error {
			if name == "sub" {
				cancel(ended)
			}
			return context.Cause(ctx)
		}}
		root := t.TempDir() // of the pull
		if name == "Push" {
			root = from
		}
		result, err := run(ctx, p, transfer.Config{
			Remote: ".", Root: filetest.OpenRoot(t, root), Local: ".",
			Notify: func(e transfer.Event) { t.Errorf("%s: %+v", name, e) },
		})
		if !errors.Is(err, ended) || result.Failed != 0 {
			t.Errorf("%s: %v, %+v", name, err, result)
		}
	}
}
