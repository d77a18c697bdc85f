//go:build !linux

package cli

import (
	"context"
	"runtime"

	"culvert/internal/keyfile"
)

func (d *demo) mount(context.Context, *demoStage, *keyfile.Key) error {
	return &skippedError{"mounts work on Linux, and not on " + runtime.GOOS}
}
