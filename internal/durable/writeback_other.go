//go:build !linux

package durable

import "os"

// beginWriteback does nothing: other systems have no such hint.
func beginWriteback(*os.File, int64, int64) {}
