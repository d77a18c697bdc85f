//go:build !linux

package harness

import (
	"fmt"
	"runtime"
)

// UseCores fails unless n is the number of this machine's cores: only Linux can restrict programs to some.
func UseCores(n int) error {
	if n != runtime.NumCPU() {
		return fmt.Errorf("cannot run on %d cores: this system cannot restrict programs to some of its %d",
			n, runtime.NumCPU())
	}
	return nil
}
