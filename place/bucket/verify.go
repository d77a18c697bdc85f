package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"culvert/place"
)

// verify compares the object with what was written.
func (f *file) verify() error {
	attributes, err := f.bucket.attributes(f.ctx, f.key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: the store has confirmed the object, and does not have it", place.ErrIntegrity)
	case err != nil:
		return fmt.Errorf("the object was written, and cannot be verified: %w", err)
	case attributes.Metadata[markKey] != f.mark && f.create:
		return fs.ErrExist // another writer has won, in a store that looks for the name before it takes it
	case attributes.Metadata[markKey] != f.mark:
		return nil // it was replaced since
	case attributes.Size != f.written:
		return f.removeDamaged(fmt.Errorf("%w: the object has %d bytes instead of %d",
			place.ErrIntegrity, attributes.Size, f.written))
	}
	return nil
}

// removeDamaged removes what this file has made, if that is still there. It returns the error that says what is wrong
// with it.
func (f *file) removeDamaged(reason error) error {
	ctx := context.WithoutCancel(f.ctx)
	attributes, err := f.bucket.attributes(ctx, f.key)
	if err == nil && attributes.Metadata[markKey] == f.mark {
		version := f.bucket.store.version(attributes)
		err = f.bucket.retry(ctx, func(ctx context.Context) error {
			err := f.bucket.store.remove(ctx, f.key, version)
			if isConflict(err) {
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
