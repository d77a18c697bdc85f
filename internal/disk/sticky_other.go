//go:build !unix

package disk

import "errors"

// CreateSticky fails with [errors.ErrUnsupported].
func (InRoot) CreateSticky(string) error { return errors.ErrUnsupported }
