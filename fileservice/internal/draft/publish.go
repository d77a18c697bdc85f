package draft

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"culvert/fileservice/internal/osfile"
	"culvert/internal/publish"
)

// Publish renames a draft to the path local, durably after a call of Sync. From then on the file is written in place.
// If the rename fails, the draft is unchanged and can be published under another path. A file in place is not renamed.
func (d *File) Publish(ctx context.Context, local string, replace bool) error {
	d.work.Lock()
	defer d.work.Unlock()
	if err := d.usable(); err != nil {
		return err
	}
	if d.isInPlace() {
		if err := d.checkUnchanged(); err != nil {
			return d.fail(err)
		}
		return nil
	}
	if err := d.moveTo(ctx, local); err != nil {
		return err
	}
	file, err := d.openAgain(os.O_RDWR)
	if err != nil {
		return err
	}
	renamed, err := d.publishFile(ctx, replace)
	if !renamed {
		return errors.Join(err, file.Close())
	}
	if err = errors.Join(err, d.file.Chmod(d.permissions)); err != nil {
		err = d.fail(err)
	}
	info, statErr := file.Stat()
	if statErr != nil {
		return errors.Join(err, d.fail(statErr), file.Close())
	}
	err = errors.Join(err, d.file.Close())
	d.putInPlace(file, info)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.named = d.durable && err == nil
	return err
}

// publishFile turns the draft into the file. It does not rename it if ctx is done, because the client may have
// published another file under the name since.
func (d *File) publishFile(ctx context.Context, replace bool) (renamed bool, err error) {
	if err := osfile.CheckName(d.dir, d.name, d.file); err != nil {
		return false, err
	}
	if d.owner != nil {
		keepOwner(d.file, d.owner) // without CAP_CHOWN, the file belongs to the server's user
	}
	// The mark stays until the rename, so that the file is known as a draft. Some file systems do not support it.
	if d.file.Chmod(d.permissions|draftMark) != nil {
		if err := d.file.Chmod(d.permissions); err != nil {
			return false, err
		}
	}
	d.mu.Lock()
	durable := d.durable
	d.mu.Unlock()
	if !durable {
		// The file is short if the power fails before the system has written it. Writeback shortens that time.
		if err := d.file.Writeback(0, 0); err != nil {
			return false, d.fail(err)
		}
		err = d.rename(ctx, replace)
		return err == nil, err
	}
	synced := false
	err = d.publisher.Publish(d.file, d.dir, func() error {
		synced = true
		err := d.rename(ctx, replace)
		renamed = err == nil
		return err
	})
	if err != nil && !synced {
		err = d.fail(err) // a second sync could wrongly succeed
	}
	return renamed, err
}

func (d *File) rename(ctx context.Context, replace bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch info, err := d.dir.Lstat(d.base); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case replace && info.IsDir():
		return d.fault(syscall.EISDIR)
	}
	if err := osfile.CheckName(d.dir, d.name, d.file); err != nil {
		return err
	}
	if replace {
		return d.dir.Rename(d.name, d.base)
	}
	return publish.Rename(d.dir, d.name, d.base)
}

// moveTo changes the path of the draft. work is held.
func (d *File) moveTo(ctx context.Context, local string) error {
	dir, err := openParent(d.root, local)
	if err != nil {
		return err
	}
	same, err := sameDir(d.dir, dir)
	if err == nil && !same {
		err = d.moveFile(ctx, dir, local)
	}
	if err != nil {
		return errors.Join(err, dir.Close())
	}
	left := d.dir
	d.dir, d.local, d.base = dir, local, filepath.Base(local)
	return left.Close()
}

func sameDir(a, b *os.Root) (bool, error) {
	one, err := a.Stat(".")
	if err != nil {
		return false, err
	}
	two, err := b.Stat(".")
	return err == nil && os.SameFile(one, two), err
}

// openAgain opens the draft by its name, and fails if the name leads to another file.
func (d *File) openAgain(flag int) (*os.File, error) {
	file, err := d.dir.OpenFile(d.name, flag|osfile.NoWait, 0)
	if err != nil {
		return nil, err
	}
	if err := checkSame(d.file, file, d.name); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func checkSame(file publish.File, other *os.File, name string) error {
	one, err := file.Stat()
	if err != nil {
		return err
	}
	two, err := other.Stat()
	if err == nil && !os.SameFile(one, two) {
		err = &fs.PathError{Op: "write", Path: name, Err: osfile.ErrExchanged}
	}
	return err
}

// moveFile moves the draft to another directory, or copies it if the rename fails: that directory is on another file
// system, or the draft's directory was moved.
func (d *File) moveFile(ctx context.Context, dir *os.Root, local string) error {
	name := draftName(filepath.Base(local), rand.Text())
	from, to := filepath.Join(filepath.Dir(d.local), d.name), filepath.Join(filepath.Dir(local), name)
	if osfile.CheckName(d.root, from, d.file) == nil && d.root.Rename(from, to) == nil &&
		osfile.CheckName(dir, name, d.file) == nil {
		d.name = name
		return nil
	}
	content, err := d.openAgain(os.O_RDONLY)
	if err != nil {
		return err
	}
	file, name, err := createDraft(dir, filepath.Base(local))
	if err != nil {
		return errors.Join(err, content.Close())
	}
	if err := errors.Join(copyContent(ctx, file, content), content.Close()); err != nil {
		return errors.Join(err, file.Close(), dir.Remove(name))
	}
	err = errors.Join(d.dir.Remove(d.name), d.file.Close())
	d.file, d.name = file, name
	return err
}
