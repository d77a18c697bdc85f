package durable_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"culvert/internal/durable"
)

// A file appears under its name as a whole, or not at all, and replaces no other.
func Example() {
	dir, err := os.MkdirTemp("", "durable-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is a temporary one
	path := filepath.Join(dir, "greeting.txt")

	write := func(text string) error {
		part := durable.PartName(path)
		f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
			err = durable.RenameNew(part, path)
		}
		if err != nil {
			return errors.Join(err, os.Remove(part))
		}
		return durable.SyncDir(dir)
	}
	fmt.Println(write("hello"))
	fmt.Println(errors.Is(write("good bye"), os.ErrExist))
	text, err := os.ReadFile(path)
	fmt.Println(string(text), err)
	// Output:
	// <nil>
	// true
	// hello <nil>
}
