//go:build !linux

package cli

// renameNew renames a file and fails with an error that is [os.ErrExist] if the new name is taken.
func renameNew(from, to string) error { return renameByLink(from, to) }
