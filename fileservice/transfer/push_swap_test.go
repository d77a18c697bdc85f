package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/fileservice/transfer"
)

// TestPushSwapped exchanges files for others of the same size when they were found and most of them are not open yet.
// Nothing is sent that was not found under its name, or looked at again.
func TestPushSwapped(t *testing.T) {
	const files = 300
	for what, exchange := range map[string]func(path string, i int) error{
		"a link": func(path string, _ int) error { return os.Symlink("secret", path) },
		"another file": func(path string, i int) error {
			return os.WriteFile(path, fmt.Appendf(nil, "new %3d", i), 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			from, to := t.TempDir(), t.TempDir()
			path := func(i int) string { return filepath.Join(from, fmt.Sprintf("%3d", i)) }
			for i := range files {
				if err := os.WriteFile(path(i), fmt.Appendf(nil, "old %3d", i), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(from, "secret"), []byte("secret!"), 0o600); err != nil {
				t.Fatal(err)
			}
			var once sync.Once
			var exchanging error
			client := filetest.Serve(t, to, func(c *server.Config) {
				c.Writable = true
				c.Observer.Called = func(call server.Call) {
					if call.Method != "List" {
						return // what is there already is asked for when the files are found
					}
					once.Do(func() {
						for i := range files {
							exchanging = errors.Join(exchanging, os.Remove(path(i)), exchange(path(i), i))
						}
					})
				}
			})
			changed, failed := 0, 0
			_, err := transfer.Push(t.Context(), client.Place(), transfer.Config{
				Remote: ".", Root: filetest.OpenRoot(t, from), Local: ".", Exclude: []string{"secret"},
				Notify: func(e transfer.Event) {
					switch e.Kind {
					case transfer.FileChanged:
						changed++
					case transfer.FileFailed:
						failed++
					}
				},
			})
			if exchanging != nil {
				t.Fatal(exchanging)
			}
			if link := what == "a link"; link != (changed == 0) || link == (err == nil) || link != (failed > 0) {
				t.Errorf("%d have changed, %d failed, %v", changed, failed, err)
			}
			for i := range files {
				got, err := os.ReadFile(filepath.Join(to, fmt.Sprintf("%3d", i)))
				if errors.Is(err, os.ErrNotExist) && what == "a link" {
					continue
				}
				if err != nil || !bytes.HasSuffix(got, fmt.Appendf(nil, " %3d", i)) {
					t.Errorf("file %d is %q, %v", i, got, err)
				}
			}
		})
	}
}
