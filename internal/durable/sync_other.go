//go:build !unix

package durable

import "os"

// SyncDir has no counterpart where directories cannot be opened as files.
func SyncDir(string) error { return nil }

// SyncDirIn has none either.
func SyncDirIn(*os.Root, string) error { return nil }
