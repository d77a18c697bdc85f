//go:build !linux

package durable

// RenameNew renames a file and fails with an error that is [os.ErrExist] if the new name is taken.
func RenameNew(from, to string) error { return renameByLink(from, to) }
