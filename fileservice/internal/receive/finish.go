package receive

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/osfile"
	"culvert/internal/publish"
)

// Finish renames the complete file to its name if sum is its sum. Permissions of 0 mean read and write for the owner
// only. If blocks are missing, they can still be written; after any other error the File can only be closed.
func (r *File) Finish(sum fileservice.Sum, permissions fs.FileMode) (fs.FileInfo, error) {
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
	if r.blocks.Sum() != sum {
		err := fmt.Errorf("%w: the blocks do not have the sum of the file", fileservice.ErrIntegrity)
		return nil, errors.Join(&fs.PathError{Op: "write", Path: r.local, Err: err}, r.drop())
	}
	if err := r.publish(permissions); err != nil {
		return nil, r.fail(err)
	}
	return r.dir.Lstat(r.base)
}

func (r *File) checkTarget() error { return CheckTarget(r.dir, r.base, r.local, r.Overwrite) }

// CheckTarget fails if name exists in dir and must not be overwritten. Local is the path for messages.
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

// CheckReplaced fails if a file must not replace what exists. Nothing but files and links is ever replaced: programs
// use a pipe, a socket or a device, such as /dev/null, by its name.
func CheckReplaced(there fs.FileInfo, local string, overwrite bool) error {
	switch {
	case there.IsDir():
		return &fs.PathError{Op: "write", Path: local, Err: fmt.Errorf("%w: a directory", fs.ErrExist)}
	case !overwrite:
		return &fs.PathError{Op: "write", Path: local, Err: fs.ErrExist}
	case there.Mode()&^fs.ModeSymlink&fs.ModeType != 0:
		err := fmt.Errorf("%w: %w", fs.ErrExist, fileservice.NotRegular(there.Mode()))
		return &fs.PathError{Op: "write", Path: local, Err: err}
	}
	return nil
}

// publish turns a complete .part into the file.
func (r *File) publish(permissions fs.FileMode) error {
	if err := r.file.Truncate(r.version.Size); err != nil {
		return err
	}
	// Other users may write to the directory. A file that they put under the name must not get the permissions.
	if err := r.file.Chmod(cmp.Or(permissions, 0o600).Perm() &^ osfile.Umask()); err != nil {
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
