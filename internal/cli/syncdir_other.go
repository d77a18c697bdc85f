//go:build !unix

package cli

// syncDirectory has no counterpart where directories cannot be opened as files.
func syncDirectory(string) error { return nil }
