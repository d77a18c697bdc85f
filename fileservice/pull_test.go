package fileservice_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"lukechampine.com/blake3"

	"culvert/fileservice"
)

func openRoot(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return root
}

// seeSame compares two trees: names, contents, and the times of files.
func seeSame(t testing.TB, want, got string) {
	t.Helper()
	if a, b := contents(t, want), contents(t, got); !slices.Equal(a, b) {
		t.Errorf("the trees differ:\n%.2000q\n%.2000q", a, b)
	}
}

func contents(t testing.TB, dir string) (lines []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if !entry.Type().IsRegular() {
			lines = append(lines, fmt.Sprintf("%s %v", name, entry.Type()))
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		hash := blake3.New(32, nil)
		size, err := io.Copy(hash, file)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		sum := fileservice.Sum(hash.Sum(nil))
		lines = append(lines, fmt.Sprintf("%s %d %v %v", name, size, info.ModTime(), sum))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func manyFiles() map[string]int {
	files := map[string]int{
		"empty": 0, "block": fileservice.BlockSize, "large": 37*fileservice.BlockSize + 5, "sub/deep/er/one": 1,
		"middle": 100 << 10,
	}
	for i := range 300 {
		files[fmt.Sprintf("many/%d/file %d", i%7, i)] = i
	}
	return files
}

func TestPullTree(t *testing.T) {
	dir, _ := tree(t, manyFiles())
	if err := os.Chtimes(filepath.Join(dir, "large"), time.Time{}, time.Unix(1_000_000_000, 987_654_321)); err != nil {
		t.Fatal(err)
	}
	client := serve(t, dir, nil)
	target := t.TempDir()
	config := fileservice.TransferConfig{
		Remote: ".", Root: openRoot(t, target), Local: "copy/of it", Progress: &fileservice.Progress{},
	}
	transferTree(t, fileservice.Pull, client, config, dir, target)
}

// transferTree has the tree of manyFiles copied to "copy/of it" in a directory, and then one file of it again.
func transferTree(
	t *testing.T, transfer transferFunc, client *fileservice.Client, config fileservice.TransferConfig, from, to string,
) {
	t.Helper()
	result, err := transfer(t.Context(), client, config)
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(to, "copy", "of it")
	seeSame(t, from, target)
	if result.Files != 305 || result.Failed != 0 || result.Resumed != 0 {
		t.Errorf("%+v", result)
	}
	s := config.Progress.Status()
	if s.Files != 305 || s.FilesDone != 305 || s.BytesDone != s.Bytes || s.BytesMoved != result.Bytes || !s.Listed ||
		len(s.Active) != 0 {
		t.Errorf("%+v", s)
	}
	// All of it is there, but for one file that is not the same.
	if err := os.WriteFile(filepath.Join(target, "middle"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	config.Progress = nil
	result, err = transfer(t.Context(), client, config)
	if !errors.Is(err, fileservice.ErrPartial) || !errors.Is(err, fs.ErrExist) || result.Present != 304 {
		t.Errorf("%v %+v", err, result)
	}
	config.Overwrite = true
	result, err = transfer(t.Context(), client, config)
	if err != nil || result.Present != 304 || result.Files != 1 {
		t.Errorf("%v %+v", err, result)
	}
	seeSame(t, from, target)
}

func TestPullFile(t *testing.T) {
	dir, _ := tree(t, map[string]int{"a/file": 3 << 20})
	client := serve(t, dir, nil)
	target := t.TempDir()
	var events []fileservice.Event
	config := fileservice.TransferConfig{
		Remote: "a/file", Root: openRoot(t, target), Local: "new",
		Notify: func(e fileservice.Event) { events = append(events, e) },
	}
	result, err := fileservice.Pull(t.Context(), client, config)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(dir, "a/file"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(target, "new")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("not the file: %v", err)
	}
	if result.Root != blake3.Sum256(want) || result.Bytes != 3<<20 {
		t.Errorf("%+v", result)
	}
	if len(events) != 1 || events[0].Kind != fileservice.FileDone || events[0].Name != "file" {
		t.Errorf("%+v", events)
	}
	config.Remote = "none"
	if _, err := fileservice.Pull(t.Context(), client, config); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	config.Remote, config.Local = "a/file", "sub/dir/new"
	if _, err := fileservice.Pull(t.Context(), client, config); err != nil {
		t.Error(err)
	}
}

func TestPullPatterns(t *testing.T) {
	dir, _ := tree(t, map[string]int{
		"a.log": 1, "b.txt": 1, "logs/c.txt": 1, "logs/old/d.log": 1, "other/e.log": 1, "x.culvert.part": 1,
	})
	if err := os.Symlink("a.log", filepath.Join(dir, "link.log")); err != nil {
		t.Fatal(err)
	}
	client := serve(t, dir, nil)
	for _, test := range []struct {
		include, exclude, want []string
		skipped                int64
	}{
		{nil, nil, []string{"a.log", "b.txt", "logs/c.txt", "logs/old/d.log", "other/e.log"}, 2},
		{[]string{"*.log"}, nil, []string{"a.log", "logs/old/d.log", "other/e.log"}, 1},
		{[]string{"logs"}, nil, []string{"logs/c.txt", "logs/old/d.log"}, 0},
		{[]string{"logs/*.txt", "b.*"}, nil, []string{"b.txt", "logs/c.txt"}, 0},
		{nil, []string{"logs/old", "*.txt"}, []string{"a.log", "other/e.log"}, 2},
		{[]string{"*.log"}, []string{"other", "link*"}, []string{"a.log", "logs/old/d.log"}, 0},
	} {
		target := t.TempDir()
		config := fileservice.TransferConfig{
			Remote: ".", Root: openRoot(t, target), Local: ".", Include: test.include, Exclude: test.exclude,
		}
		for _, dry := range []bool{true, false} {
			var planned []string
			config.DryRun = dry
			config.Notify = func(e fileservice.Event) {
				if e.Kind == fileservice.FilePlanned || e.Kind == fileservice.FileDone {
					planned = append(planned, e.Name)
				}
			}
			result, err := fileservice.Pull(t.Context(), client, config)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(planned)
			if !slices.Equal(planned, test.want) || result.Skipped != test.skipped {
				t.Errorf("+%q -%q: %q, %d skipped", test.include, test.exclude, planned, result.Skipped)
			}
			if entries, err := os.ReadDir(target); err != nil || dry && len(entries) != 0 {
				t.Errorf("a dry run has made %v, %v", entries, err)
			}
		}
	}
	for _, config := range []fileservice.TransferConfig{
		{Remote: ".", Local: "."},
		{Remote: "../x", Local: ".", Root: openRoot(t, dir)},
		{Remote: ".", Local: "/x", Root: openRoot(t, dir)},
		{Remote: ".", Local: ".", Root: openRoot(t, dir), Include: []string{"["}},
	} {
		if _, err := fileservice.Pull(t.Context(), client, config); err == nil {
			t.Errorf("no error for %+v", config)
		}
	}
}

// TestCoarseTimes has the times of copies as file systems keep them that know no nanoseconds, and a time that cannot be
// told in nanoseconds. Neither is copied again.
func TestCoarseTimes(t *testing.T) {
	names := []string{"small", "sub/large"}
	from, _ := tree(t, map[string]int{names[0]: 5, names[1]: 3 << 20})
	set := func(dir string, modified time.Time) {
		for _, name := range names {
			if err := os.Chtimes(filepath.Join(dir, name), time.Time{}, modified); err != nil {
				t.Fatal(err)
			}
		}
	}
	modified := time.Date(2021, 3, 4, 5, 6, 7, 890_123_456, time.UTC)
	steps := []time.Duration{100, time.Microsecond, 10 * time.Millisecond, time.Second, 2 * time.Second}
	for role, transfer := range map[string]transferFunc{"pull": fileservice.Pull, "push": fileservice.Push} {
		to := t.TempDir()
		served, here := from, to
		if role == "push" {
			served, here = to, from
		}
		client := serve(t, served, writable)
		config := fileservice.TransferConfig{Remote: ".", Root: openRoot(t, here), Local: "."}
		see := func(what any, files, present int64) {
			t.Helper()
			result, err := transfer(t.Context(), client, config)
			if result.Files != files || result.Present != present || (files+present == 2) != (err == nil) {
				t.Errorf("%s with %v: %+v, %v", role, what, result, err)
			}
		}
		set(from, time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC))
		see("a time far ahead", 2, 0)
		see("a time far ahead", 0, 2)
		set(from, modified)
		for _, step := range steps {
			set(to, modified.Truncate(step))
			see(step, 0, 2)
		}
		for _, more := range []time.Duration{1, -2 * time.Second, time.Second} {
			set(to, modified.Truncate(time.Second).Add(more))
			see(more, 0, 0)
		}
	}
}
