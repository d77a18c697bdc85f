package receive

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/osfile"
	"culvert/internal/publish"
)

// Finish gives the file its name, when all blocks are there and their hashes have that root. With permissions of 0 it
// is for its owner alone. If blocks are missing, they may still be written; after any other error it can only be
// closed.
func (r *File) Finish(root fileservice.Sum, permissions fs.FileMode) (fs.FileInfo, error) {
	if missing := r.missing(); missing != 0 {
		err := fmt.Errorf("%w: %d blocks are missing", fileservice.ErrRefused, missing)
		return nil, &fs.PathError{Op: "write", Path: r.local, Err: err}
	}
	if err := r.stop(); err != nil {
		return nil, err
	}
	r.commits.Lock()
	defer r.commits.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return nil, r.err
	}
	if r.blocks.Root() != root {
		err := fmt.Errorf("%w: the hashes of the blocks do not give that of the file", fileservice.ErrIntegrity)
		return nil, errors.Join(&fs.PathError{Op: "write", Path: r.local, Err: err}, r.drop())
	}
	if err := r.publish(permissions); err != nil {
		return nil, r.fail(err)
	}
	return r.dir.Lstat(r.base)
}

// checkTarget sees whether the name can be taken.
func (r *File) checkTarget() error { return CheckTarget(r.dir, r.base, r.local, r.Overwrite) }

// CheckTarget sees whether a name in a directory can be taken. Local is for people.
func CheckTarget(dir *os.Root, name, local string, overwrite bool) error {
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return CheckReplaced(info, local, overwrite)
}

// CheckReplaced sees whether a file may take the place of another one.
func CheckReplaced(there fs.FileInfo, local string, overwrite bool) error {
	switch {
	case there.IsDir():
		return &fs.PathError{Op: "write", Path: local, Err: fmt.Errorf("%w: a directory", fs.ErrExist)}
	case !overwrite:
		return &fs.PathError{Op: "write", Path: local, Err: fs.ErrExist}
	}
	return nil
}

// publish is the way from a complete .part to the file.
func (r *File) publish(permissions fs.FileMode) error {
	if err := r.file.Truncate(r.version.Size); err != nil {
		return err
	}
	if permissions == 0 {
		permissions = 0o600
	}
	// Others may write to the directory. What they put under the name must not get the permissions of the file.
	if err := r.file.Chmod(permissions.Perm() &^ osfile.Umask()); err != nil {
		return err
	}
	if err := osfile.CheckName(r.dir, r.names.part, r.file); err != nil {
		return err
	}
	if err := r.dir.Chtimes(r.names.part, time.Time{}, r.version.ModTime()); err != nil {
		return err
	}
	err := r.publisher.Publish(r.file, r.dir, func() error {
		err := r.rename()
		if err == nil {
			r.gone, r.pending = true, nil
		}
		return err
	})
	if !r.gone {
		return err
	}
	return errors.Join(err, r.dropJournal())
}

func (r *File) rename() error {
	if err := r.checkTarget(); err != nil {
		return err
	}
	if err := osfile.CheckName(r.dir, r.names.part, r.file); err != nil {
		return err
	}
	if r.Overwrite {
		return r.dir.Rename(r.names.part, r.base)
	}
	return publish.Rename(r.dir, r.names.part, r.base)
}
