//go:build unix

package disk

import (
	"os"

	"culvert/internal/durable"
)

func openSelf(root *os.Root) (*os.File, error) { return root.Open(".") }

// Sync implements [LogDir].
func (d *rootDir) Sync() error { return durable.SyncOpenDir(d.self) }
