//go:build !unix

package durable

// SyncDir has no counterpart where directories cannot be opened as files.
func SyncDir(string) error { return nil }
