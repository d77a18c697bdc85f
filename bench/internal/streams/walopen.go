package streams

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"culvert/bench/internal/harness"
	"culvert/internal/disk"
	"culvert/wal"
)

const openSegment = 64 << 20

// opening opens a log of 1 GiB that was closed, and one that was not, of which the last segment is to be read: from
// memory, as after a crash of the program, and from the disk, as after one of the system. What the host of a virtual
// machine has in its memory stays there.
func opening(s *harness.Session) []harness.Benchmark {
	logs := &openLogs{size: s.Size(1<<30, openSegment) - openSegment/8, dir: filepath.Join(s.Dir, "open")}
	closed := harness.Variant{Key: "impl=culvert", Run: func() (harness.Sample, error) {
		if err := logs.prepare(); err != nil {
			return nil, err
		}
		got, err := timeOpen(filepath.Join(logs.dir, "closed"), true)
		delete(got, "MB/s")
		return got, err
	}}
	crashed := func(cool bool) harness.Variant {
		return harness.Variant{Key: "impl=culvert", Run: func() (harness.Sample, error) {
			if err := logs.prepare(); err != nil {
				return nil, err
			}
			dir := filepath.Join(logs.dir, "copy")
			if err := copyLog(dir, filepath.Join(logs.dir, "crashed"), cool); err != nil {
				return nil, err
			}
			got, err := timeOpen(dir, false)
			return got, firstOf(err, os.RemoveAll(dir))
		}}
	}
	return []harness.Benchmark{
		{
			Name: "WALOpen/size=1GiB/closed=yes", Variants: []harness.Variant{closed},
			Goals: []harness.Goal{{Variant: "impl=culvert", Unit: "ns/op", Max: 10e6}},
		},
		{
			Name: "WALOpen/size=1GiB/closed=no/cache=warm", Variants: []harness.Variant{crashed(false)},
			Goals: []harness.Goal{{Variant: "impl=culvert", Unit: "MB/s", Min: 1000}},
		},
		{Name: "WALOpen/size=1GiB/closed=no/cache=cold", Variants: []harness.Variant{crashed(true)}},
	}
}

// timeOpen opens a log whose last segment is full but for an eighth, and closes it again.
func timeOpen(dir string, clean bool) (harness.Sample, error) {
	start := time.Now()
	log, recovery, err := wal.Open(dir, wal.Options{})
	if err != nil {
		return nil, err
	}
	got := harness.Timed(start, openSegment-openSegment/8)
	if recovery.Clean != clean {
		err = fmt.Errorf("the log is %+v", recovery)
	}
	return got, firstOf(err, log.Close())
}

// openLogs are a log that was closed, and the same as a process leaves it that is killed.
type openLogs struct {
	dir  string
	size int
	made bool
}

// prepare writes the logs, once.
func (l *openLogs) prepare() error {
	if l.made {
		return nil
	}
	l.made = true
	if err := os.Mkdir(l.dir, 0o700); err != nil {
		return err
	}
	closed := filepath.Join(l.dir, "closed")
	log, _, err := wal.Open(closed, wal.Options{Sync: wal.None, SegmentSize: openSegment})
	if err != nil {
		return err
	}
	ctx := context.Background()
	entries := batchOf(1000)
	for written := 0; written < l.size; written += 1000 * (entrySize + 32) {
		if _, err := log.Append(ctx, entries...); err != nil {
			return err
		}
	}
	if err := log.Sync(ctx); err != nil {
		return err
	}
	if _, err := log.Append(ctx, entries[0]); err != nil { // proves that the others are durable
		return err
	}
	return firstOf(copyLog(filepath.Join(l.dir, "crashed"), closed, false), log.Close())
}

// copyLog copies the last segment of a log, and links the others, which nobody changes anymore. The copy is in memory
// and on the disk, or on the disk alone.
func copyLog(to, from string, cool bool) error {
	names, err := filepath.Glob(filepath.Join(from, "*.wal"))
	if err != nil || len(names) == 0 {
		return firstOf(err, errors.New("there are no segments"))
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	slices.Sort(names)
	last := len(names) - 1
	for i, name := range names[:last] {
		err = firstOf(err, os.Link(name, filepath.Join(to, filepath.Base(names[i]))))
	}
	content, reading := os.ReadFile(names[last])
	if err := firstOf(err, reading); err != nil {
		return err
	}
	// Written anew: what the file system copies by itself is not in memory.
	name := filepath.Join(to, filepath.Base(names[last]))
	if err := firstOf(os.WriteFile(name, content, 0o600), syncFile(name)); err != nil || !cool {
		return err
	}
	return exec.Command("dd", "of="+name, "oflag=nocache", "conv=notrunc", "count=0", "status=none").Run()
}

func syncFile(name string) error {
	dir, err := disk.OS{}.OpenLogDir(filepath.Dir(name))
	if err != nil {
		return err
	}
	file, err := dir.Open(filepath.Base(name), true)
	if err != nil {
		return firstOf(err, dir.Close())
	}
	return firstOf(file.Sync(), file.Close(), dir.Close())
}
