//go:build !linux

package fusefs

import (
	"errors"
	"fmt"
	"runtime"
)

// Mounted is a directory that shows a file system.
type Mounted struct{}

// Mount works on Linux only.
func Mount(dir string, config Config) (*Mounted, error) {
	if _, err := config.withDefaults(); err != nil {
		return nil, fmt.Errorf("fusefs: mount %s: %w", dir, err)
	}
	return nil, fmt.Errorf("fusefs: mount %s: %w on %s, only on Linux", dir, errors.ErrUnsupported, runtime.GOOS)
}

// Wait waits until the directory is unmounted.
func (m *Mounted) Wait() error { return nil }

// Unmount takes the file system from the directory.
func (m *Mounted) Unmount() error { return nil }
