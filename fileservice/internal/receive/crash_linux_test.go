package receive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"culvert/fileservice"
	"culvert/internal/publish"
	"culvert/internal/testkit"
	"culvert/internal/testkit/crashfs"
)

// TestReceiveCrash loses power at every step of a transfer, and again on the way of those that follow, on a disk that
// keeps what was not synced, loses it, or garbles it. Whatever is left, the journal speaks of nothing that is not
// there, a file that has its name is whole, what was acknowledged is not lost, and the last transfer comes to its end.
func TestReceiveCrash(t *testing.T) {
	t.Parallel()
	crashfs.Need(t)
	const parts = 8
	each, stride := 1, 1
	switch {
	case testkit.Soak():
		each = 10
	case testkit.RaceDetector():
		stride = 7
	}
	for _, overwrite := range []bool{false, true} {
		c := &crashingTransfer{dir: t.TempDir(), overwrite: overwrite}
		if err := c.run(nil, rand.New(rand.NewPCG(0, 0))); err != nil {
			t.Fatal(err)
		}
		steps := int(c.steps.Load())
		t.Log(steps, "steps")
		for part := range parts {
			t.Run(fmt.Sprintf("overwrite=%v/part=%d", overwrite, part), func(t *testing.T) {
				t.Parallel() // a mount waits for the kernel
				c := &crashingTransfer{dir: t.TempDir(), overwrite: overwrite}
				for step := 1 + part*stride; step <= steps; step += stride * parts {
					for seed := range each {
						random := rand.New(rand.NewPCG(uint64(step), uint64(seed)))
						last := []int{step, 1 + random.IntN(2*steps), 1 + random.IntN(2*steps)}
						if err := c.run(last, random); err != nil {
							t.Fatalf("power lost at steps %v, seed %d: %v", last, seed, err)
						}
					}
				}
			})
		}
	}
}

// crashingTransfer is a transfer of one file that loses power.
type crashingTransfer struct {
	dir       string
	overwrite bool
	steps     atomic.Int64 // of the last life

	// What was acknowledged.
	committed []fileservice.BlockRange
	finishing bool // the file may have its name
	finished  bool
}

var (
	crashSample = newSample(3*fileservice.BlockSize + 1000)
	crashOlder  = []byte("older")
)

const crashDisk = "/disk"

// run loses power at one step of each life, and not in the last one.
func (c *crashingTransfer) run(last []int, random *rand.Rand) error {
	c.committed, c.finishing, c.finished = nil, false, false
	d := crashfs.New(crashDisk)
	d.Block = 64 << 10
	if c.overwrite {
		d.Put(crashDisk+"/file", crashOlder)
	}
	for life, step := range append(last, -1) {
		how := crashfs.Stop + crashfs.Fault(random.IntN(2))
		c.steps.Store(0)
		d.Hook = func(o crashfs.Operation) crashfs.Fault {
			if !o.Changes() {
				return crashfs.None
			}
			if c.steps.Add(1) == int64(step) {
				return how
			}
			return crashfs.None
		}
		if err := c.live(d, step); err != nil {
			return fmt.Errorf("life %d: %w", life, err)
		}
		d.Hook = nil
		if random.IntN(4) == 0 {
			d.Kill()
		} else {
			d.Crash(random.IntN)
		}
	}
	return nil
}

// live is one transfer, from the look at what is there to the end or to a step.
func (c *crashingTransfer) live(d *crashfs.Disk, step int) (err error) {
	unmount, err := d.Mount(c.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unmount()) }()
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := c.check(root); err != nil {
		return err
	}
	wrong, failure := c.transfer(root)
	if wrong != nil {
		return wrong
	}
	if step > 0 && c.steps.Load() >= int64(step) {
		return nil // what failed is the disk
	}
	if failure != nil {
		return failure
	}
	if err := c.check(root); err != nil {
		return err
	}
	if names, err := publish.List(root, "."); err != nil || !slices.Equal(names, []string{"file"}) {
		return fmt.Errorf("there are %q, %w", names, err)
	}
	return nil
}

// check looks at the file under its name.
func (c *crashingTransfer) check(root *os.Root) error {
	got, err := root.ReadFile("file")
	switch {
	case errors.Is(err, os.ErrNotExist) && !c.overwrite && !c.finished:
		return nil
	case err != nil:
		return err
	case c.overwrite && !c.finished && bytes.Equal(got, crashOlder):
		return nil
	case !bytes.Equal(got, crashSample.content):
		return fmt.Errorf("the file has %d bytes, and not those of the source", len(got))
	}
	if info, err := root.Lstat("file"); err != nil || !fileservice.IsSame(info, crashSample.version) {
		return fmt.Errorf("the file has another time than the source: %v, %w", info, err)
	}
	return nil
}

// transfer receives the file, or goes on with it. What is wrong is not the fault of the disk.
func (c *crashingTransfer) transfer(root *os.Root) (wrong, failure error) {
	if info, err := root.Lstat("file"); err == nil && fileservice.IsSame(info, crashSample.version) {
		names, err := UnfinishedNames("file")
		return nil, errors.Join(err, RemoveOrphans(root, "file", names))
	}
	publisher, err := publish.NewPublisher(root)
	if err != nil {
		return nil, err
	}
	defer func() { failure = errors.Join(failure, publisher.Close()) }()
	r, err := Open(root, publisher, "file", crashSample.version, c.overwrite)
	if err != nil {
		return nil, err
	}
	defer func() { failure = errors.Join(failure, r.Close()) }()
	// Reading the blocks again would hide a journal that names blocks which were not synced.
	named, err := r.unread(), confirm(context.Background(), r)
	if err != nil {
		return nil, err
	}
	if wrong := c.compare(root, named); wrong != nil {
		return wrong, nil
	}
	for _, blocks := range MissingRanges(r.Committed(), fileservice.Blocks(crashSample.version.Size)) {
		for n := blocks.First; n < blocks.First+blocks.Count; n++ {
			data := crashSample.block(n)
			if err := r.WriteBlock(n, data, crashSample.sum(n)); err != nil {
				return nil, err
			}
			if n == 2 {
				continue
			}
			if err := r.Commit(); err != nil {
				return nil, err
			}
			c.committed = r.Committed()
		}
	}
	c.finishing = true
	if _, err := r.Finish(crashSample.root(), 0o644); err != nil {
		return nil, err
	}
	c.finished = true
	return nil, nil
}

// compare looks at the blocks that the journal speaks of.
func (c *crashingTransfer) compare(root *os.Root, committed []fileservice.BlockRange) error {
	part, err := root.ReadFile("file.culvert.part")
	if err != nil {
		return err
	}
	blocks := map[int64]bool{}
	for _, r := range committed {
		for n := r.First; n < r.First+r.Count; n++ {
			blocks[n] = true
			want := crashSample.block(n)
			if !bytes.HasPrefix(part[min(int64(len(part)), n*fileservice.BlockSize):], want) {
				return fmt.Errorf("the journal speaks of block %d, which is not there", n)
			}
		}
	}
	for _, r := range c.committed {
		for n := r.First; n < r.First+r.Count; n++ {
			if !blocks[n] && !c.finishing {
				return fmt.Errorf("block %d was acknowledged, and is lost", n)
			}
		}
	}
	return nil
}

// TestReceiveManyCrash loses power while many files are finished at once: each that was acknowledged is whole.
func TestReceiveManyCrash(t *testing.T) {
	crashfs.Need(t)
	const files = 64
	dir := t.TempDir()
	samples := make([]sample, files)
	for i := range samples {
		samples[i] = newSample(10_000 + i)
	}
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 3))
		d := crashfs.New(crashDisk)
		left := 1 + random.IntN(15*files)
		d.Hook = func(o crashfs.Operation) crashfs.Fault {
			if o.Changes() {
				left--
			}
			if left == 0 {
				return crashfs.Stop
			}
			return crashfs.None
		}
		unmount, err := d.Mount(dir)
		if err != nil {
			t.Fatal(err)
		}
		acknowledged := receiveMany(t, dir, samples)
		d.Crash(random.IntN)
		if err := unmount(); err != nil {
			t.Fatal(err)
		}
		there := d.Files(crashDisk)
		for i, s := range samples {
			got, is := there[fmt.Sprint(i)]
			if is && !bytes.Equal(got, s.content) || !is && acknowledged[i] {
				t.Errorf("seed %d: file %d has %d bytes, acknowledged: %v", seed, i, len(got), acknowledged[i])
			}
		}
	}
}

// receiveMany receives small files at once, and says which were acknowledged.
func receiveMany(t *testing.T, dir string, samples []sample) (acknowledged []bool) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	publisher, err := publish.NewPublisher(root)
	if err != nil {
		t.Fatal(err)
	}
	acknowledged = make([]bool, len(samples))
	var all sync.WaitGroup
	for i, s := range samples {
		all.Go(func() {
			r, err := Open(root, publisher, fmt.Sprint(i), s.version, false)
			if err != nil {
				return
			}
			err = r.WriteBlock(0, s.block(0), s.sum(0))
			if err == nil {
				_, err = r.Finish(s.root(), 0o644)
			}
			acknowledged[i] = err == nil
			_ = r.Close() // the disk is gone
		})
	}
	all.Wait()
	if err := errors.Join(publisher.Close(), root.Close()); err != nil {
		t.Error(err)
	}
	return acknowledged
}

// TestMountedDisk sees that a crash reaches what was written by way of the kernel.
func TestMountedDisk(t *testing.T) {
	crashfs.Need(t)
	dir := t.TempDir()
	d := crashfs.New(crashDisk)
	unmount, err := d.Mount(dir)
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, "kept")
	file, err := os.Create(kept)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString("synced")
	err = errors.Join(err, file.Sync(), publish.SyncPath(dir))
	_, later := file.WriteString(" not")
	if err := errors.Join(err, later, file.Close(), os.WriteFile(filepath.Join(dir, "lost"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(kept); err != nil || string(got) != "synced not" {
		t.Errorf("before: %q, %v", got, err)
	}
	d.Crash(func(int) int { return 0 })
	if err := unmount(); err != nil {
		t.Fatal(err)
	}
	if unmount, err = d.Mount(dir); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unmount(); err != nil {
			t.Error(err)
		}
	}()
	if got, err := os.ReadFile(kept); err != nil || string(got) != "synced" {
		t.Errorf("after: %q, %v", got, err)
	}
	seeOnly(t, dir, "kept")
}
