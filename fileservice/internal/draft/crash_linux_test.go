package draft

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"culvert/internal/publish"
	"culvert/internal/testkit/crashfs"
)

// TestDraftCrash loses power after drafts were published, on a disk that keeps what was not synced, loses it, or
// garbles it: what the client had synced, before or after that, is there, and so is a file that was added to.
func TestDraftCrash(t *testing.T) {
	crashfs.Need(t)
	older, added := []byte("older"), []byte("older, newer")
	content := bytes.Repeat([]byte("content"), 30_000)
	tests := map[string]struct {
		before []byte // in the file; nil if there is none
		write  func(d *File) error
		want   []byte // nil if nothing is promised
	}{
		"synced before it is published": {nil, func(d *File) error {
			return errors.Join(writeAll(d, content), d.Sync(), publishAs(d, "name"))
		}, content},
		"synced, and written on": {nil, func(d *File) error {
			return errors.Join(writeAll(d, content[:500]), d.Sync(), writeAll(d, content), publishAs(d, "file"))
		}, content},
		"synced afterwards": {nil, func(d *File) error {
			return errors.Join(writeAll(d, content), publishAs(d, "name"), d.Sync())
		}, content},
		"synced in place again": {nil, func(d *File) error {
			err := errors.Join(writeAll(d, content[:500]), publishAs(d, "file"), d.Sync())
			return errors.Join(err, writeAll(d, content), d.Sync())
		}, content},
		"added to": {older, func(d *File) error {
			return errors.Join(d.WriteAt(added[5:], 5), d.Sync())
		}, added},
		"never synced": {nil, func(d *File) error {
			return errors.Join(writeAll(d, content), publishAs(d, "file"))
		}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			lost := 0
			for seed := range uint64(20) {
				c := crashingDraft{dir: t.TempDir(), disk: crashfs.New(mountedDisk)}
				c.disk.Block = 64 << 10
				if test.before != nil {
					c.disk.Put(mountedDisk+"/file", test.before)
				}
				if err := c.mounted(func(root *os.Root) error { return c.publish(root, test.write) }); err != nil {
					t.Fatal(seed, err)
				}
				c.disk.Crash(rand.New(rand.NewPCG(seed, 0)).IntN)
				got, err := c.content()
				switch {
				case test.want == nil && !bytes.Equal(got, content):
					lost++
				case test.want != nil && (err != nil || !bytes.Equal(got, test.want)):
					t.Fatalf("seed %d: %d bytes are left, and not those that were synced: %v", seed, len(got), err)
				}
			}
			if test.want == nil && lost == 0 {
				t.Error("nothing was lost: publishing waits for the disk, or the test shows nothing")
			}
		})
	}
}

const mountedDisk = "/disk"

// crashingDraft is a draft on a disk that loses power.
type crashingDraft struct {
	dir  string
	disk *crashfs.Disk
	name string // that it was published under
}

func (c *crashingDraft) mounted(do func(root *os.Root) error) error {
	unmount, err := c.disk.Mount(c.dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(c.dir)
	if err == nil {
		err = errors.Join(do(root), root.Close())
	}
	return errors.Join(err, unmount())
}

func (c *crashingDraft) publish(root *os.Root, write func(d *File) error) (err error) {
	publisher, err := publish.NewPublisher(root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, publisher.Close()) }()
	d, err := Open(root, publisher, "file", Options{Create: true, Permissions: 0o644})
	if err != nil {
		return err
	}
	err = write(d)
	c.name = d.local
	return errors.Join(err, d.Close())
}

func (c *crashingDraft) content() (content []byte, err error) {
	err = c.mounted(func(root *os.Root) error {
		content, err = root.ReadFile(c.name)
		return err
	})
	return content, err
}

func writeAll(d *File, content []byte) error {
	if err := d.WriteAt(content, 0); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

func publishAs(d *File, local string) error { return d.Publish(context.Background(), local, true) }
