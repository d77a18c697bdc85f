package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"culvert/place"
)

// verify compares the object with what was written, unless the store has returned its checksum.
func (f *file) verify() error {
	if u, can := f.upload.(interface{ isWhole() bool }); can && u.isWhole() {
		return nil // another store may also ignore the condition
	}
	about, err := f.bucket.describe(f.ctx, f.key, false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the store has confirmed the object, and does not have it", place.ErrIntegrity)
	case err != nil:
		return fmt.Errorf("the object was written, and cannot be verified: %w", err)
	case about.metadata[markKey] != f.mark && f.create:
		return fs.ErrExist // another writer has won, in a store that looks for the name before it takes it
	case about.metadata[markKey] != f.mark:
		return nil // it was replaced since
	case about.size != f.written:
		return f.removeDamaged(fmt.Errorf("%w: the object has %d bytes instead of %d",
			place.ErrIntegrity, about.size, f.written))
	}
	return nil
}

// removeDamaged removes what this file has made, if that is still there. It returns the error that says what is wrong
// with it.
func (f *file) removeDamaged(reason error) error {
	ctx := context.WithoutCancel(f.ctx)
	about, err := f.bucket.describe(ctx, f.key, false)
	if err == nil && about.metadata[markKey] == f.mark {
		err = f.bucket.retry(ctx, func(ctx context.Context) error {
			err := f.bucket.store.remove(ctx, f.key, about.version)
			if isUnmet(err) {
				return nil // it was replaced since
			}
			return err
		})
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w, which could not be removed: %s", reason, innermost(err))
	}
	return reason
}

// IsVerified is called by [place.IsVerified].
func (f *file) IsVerified() bool {
	u, can := f.upload.(interface{ isVerified() bool })
	return can && f.committed && u.isVerified()
}
