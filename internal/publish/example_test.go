package publish_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"culvert/internal/publish"
)

// The file appears under its name as a whole, and replaces no other.
func Example() {
	dir, err := os.MkdirTemp("", "publish-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is a temporary one
	path := filepath.Join(dir, "greeting.txt")

	write := func(text string) error {
		w, err := publish.Create(path, 0o666)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, text); err != nil {
			return errors.Join(err, w.Discard())
		}
		return w.Commit(false)
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
