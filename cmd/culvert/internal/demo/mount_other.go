//go:build !linux

package demo

import (
	"context"
	"runtime"

	"culvert/internal/keyfile"
)

func (d *demo) mount(context.Context, *stageFigures, *keyfile.Key) error {
	return &skippedError{"mounts work on Linux, and not on " + runtime.GOOS}
}
