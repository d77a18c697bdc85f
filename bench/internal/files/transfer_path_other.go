//go:build !linux

package files

import (
	"errors"
	"fmt"
	"os/exec"
	"time"

	"culvert/bench/internal/harness"
)

const serverAddress = ""

// path is between two network namespaces, which Linux has.
type path struct{}

func (*path) client(cmd *exec.Cmd) *exec.Cmd { return cmd }

func (*path) server(cmd *exec.Cmd) *exec.Cmd { return cmd }

// limit and disk need writes that bypass the page cache.
func (*transfers) limit(fetched) []harness.Variant { return nil }

func (*transfers) disk(int64) []harness.Benchmark { return nil }

func newPath(_ *harness.Session, _ time.Duration) (*path, error) {
	return nil, fmt.Errorf("network namespaces: %w", errors.ErrUnsupported)
}
