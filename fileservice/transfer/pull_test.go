package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"lukechampine.com/blake3"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/internal/testkit"
	"culvert/place"
)

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
	dir, _ := filetest.Tree(t, manyFiles())
	if err := os.Chtimes(filepath.Join(dir, "large"), time.Time{}, time.Unix(1_000_000_000, 987_654_321)); err != nil {
		t.Fatal(err)
	}
	client := filetest.Serve(t, dir, nil)
	target := t.TempDir()
	config := transfer.Config{
		Remote: ".", Root: filetest.OpenRoot(t, target), Local: "copy/of it", Progress: &transfer.Progress{},
	}
	transferTree(t, transfer.Pull, client.Place(), config, dir, target)
}

// transferTree has the tree of manyFiles copied to "copy/of it" in a directory, and then one file of it again.
func transferTree(
	t *testing.T, run func(context.Context, place.Place, transfer.Config) (transfer.Result, error), p place.Place,
	config transfer.Config, from, to string,
) {
	t.Helper()
	result, err := run(t.Context(), p, config)
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(to, "copy", "of it")
	filetest.SeeSame(t, from, target)
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
	result, err = run(t.Context(), p, config)
	if !errors.Is(err, transfer.ErrPartial) || !errors.Is(err, fs.ErrExist) || result.Present != 304 {
		t.Errorf("%v %+v", err, result)
	}
	config.Overwrite = true
	result, err = run(t.Context(), p, config)
	if err != nil || result.Present != 304 || result.Files != 1 {
		t.Errorf("%v %+v", err, result)
	}
	filetest.SeeSame(t, from, target)
}

func TestPullFile(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"a/file": 3 << 20})
	client := filetest.Serve(t, dir, nil)
	target := t.TempDir()
	var events []transfer.Event
	config := transfer.Config{
		Remote: "a/file", Root: filetest.OpenRoot(t, target), Local: "new", Hash: true,
		Notify: func(e transfer.Event) { events = append(events, e) },
	}
	result, err := transfer.Pull(t.Context(), client.Place(), config)
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
	if result.Hash != blake3.Sum256(want) || result.Bytes != 3<<20 {
		t.Errorf("%+v", result)
	}
	if len(events) != 1 || events[0].Kind != transfer.FileDone || events[0].Name != "file" {
		t.Errorf("%+v", events)
	}
	config.Remote = "none"
	if _, err := transfer.Pull(t.Context(), client.Place(), config); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	config.Remote, config.Local = "a/file", "sub/dir/new"
	if _, err := transfer.Pull(t.Context(), client.Place(), config); err != nil {
		t.Error(err)
	}
}

func TestPullPatterns(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{
		"a.log": 1, "b.txt": 1, "logs/c.txt": 1, "logs/old/d.log": 1, "other/e.log": 1, "x.culvert.part": 1,
	})
	if err := os.Symlink("a.log", filepath.Join(dir, "link.log")); err != nil {
		t.Fatal(err)
	}
	client := filetest.Serve(t, dir, nil)
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
		config := transfer.Config{
			Remote: ".", Root: filetest.OpenRoot(t, target), Local: ".", Include: test.include, Exclude: test.exclude,
		}
		for _, dry := range []bool{true, false} {
			var planned []string
			config.DryRun = dry
			config.Notify = func(e transfer.Event) {
				if e.Kind == transfer.FilePlanned || e.Kind == transfer.FileDone {
					planned = append(planned, e.Name)
				}
			}
			result, err := transfer.Pull(t.Context(), client.Place(), config)
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
	for _, config := range []transfer.Config{
		{Remote: ".", Local: "."},
		{Remote: "../x", Local: ".", Root: filetest.OpenRoot(t, dir)},
		{Remote: ".", Local: "/x", Root: filetest.OpenRoot(t, dir)},
		{Remote: ".", Local: ".", Root: filetest.OpenRoot(t, dir), Include: []string{"["}},
	} {
		if _, err := transfer.Pull(t.Context(), client.Place(), config); err == nil {
			t.Errorf("no error for %+v", config)
		}
	}
}

// TestTimesOfCopies has copies whose times differ by less than some file systems can tell. Where they can be told,
// those are other files.
func TestTimesOfCopies(t *testing.T) {
	for role := range filetest.Transfers() {
		c := newTimedCopies(t, role, t.TempDir())
		for _, more := range []time.Duration{time.Millisecond, 500 * time.Millisecond, 1900 * time.Millisecond} {
			c.set(c.even)
			c.see("another time", 2, 0)
			c.set(c.even.Add(more))
			c.see(more, 2, 0)
			c.see(more, 0, 2)
		}
		c.set(time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC))
		c.see("a time that nanoseconds cannot tell", 2, 0)
		c.see("a time that nanoseconds cannot tell", 0, 2)
	}
}

// TestCoarseTimesOfCopies is for a file system that keeps seconds.
func TestCoarseTimesOfCopies(t *testing.T) {
	for role := range filetest.Transfers() {
		dir := t.TempDir()
		mountCoarse(t, dir)
		c := newTimedCopies(t, role, dir)
		for _, more := range []time.Duration{1, 500 * time.Millisecond, 900 * time.Millisecond} {
			c.set(c.even)
			c.see("another time", 2, 0)
			c.set(c.even.Add(more))
			c.see(more, 0, 2)
			c.set(c.even.Add(more + time.Second))
			c.see(more+time.Second, 2, 0)
			c.see(more+time.Second, 0, 2)
		}
	}
}

// timedCopies are two files of which only the times change.
type timedCopies struct {
	t        *testing.T
	role     string
	from     string
	even     time.Time
	client   *client.Client
	config   transfer.Config
	transfer filetest.TransferFunc
}

func newTimedCopies(t *testing.T, role, to string) *timedCopies {
	t.Helper()
	even := time.Date(2021, 3, 4, 5, 6, 8, 0, time.UTC)
	c := &timedCopies{t: t, role: role, even: even, transfer: filetest.Transfers()[role]}
	c.from, _ = filetest.Tree(t, map[string]int{"small": 5, "sub/large": 3 << 20})
	served, here := c.from, to
	if role == "push" {
		served, here = to, c.from
	}
	c.client = filetest.Serve(t, served, filetest.Writable)
	c.config = transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, here), Local: ".", Overwrite: true}
	return c
}

func (c *timedCopies) set(modified time.Time) {
	c.t.Helper()
	for _, name := range []string{"small", "sub/large"} {
		if err := os.Chtimes(filepath.Join(c.from, name), time.Time{}, modified); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *timedCopies) see(what any, files, present int64) {
	c.t.Helper()
	for _, dry := range []bool{true, false} {
		c.config.DryRun = dry
		result, err := c.transfer(c.t.Context(), c.client, c.config)
		if result.Files != files || result.Present != present || err != nil {
			c.t.Errorf("%s with %v, dry %v: %+v, %v", c.role, what, dry, result, err)
		}
	}
}

// mountCoarse mounts a file system that keeps times in seconds.
func mountCoarse(t *testing.T, dir string) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 32<<20)); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"mkfs.ext4", "-q", "-F", "-I", "128", image}, {"mount", "-o", "loop", image, dir},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			testkit.Missing(t, fmt.Sprint(command[0], ": ", err, ": ", string(out)),
				"run the tests as root, with e2fsprogs, where file systems may be mounted")
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}
