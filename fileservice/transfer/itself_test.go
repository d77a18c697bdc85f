package transfer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/fileservice/transfer"
)

// TestIntoItself copies a directory to where the copy is inside it, which the names of the two ends do not show. All
// but the copy is copied, once.
func TestIntoItself(t *testing.T) {
	for name, test := range map[string]struct {
		served, remote, local string // below the directory that is copied, or to which is copied
		pull                  bool
		copy                  string
	}{
		"Push":            {served: ".", remote: "d/t/x", local: ".", copy: "d/t/x"},
		"PushDeeper":      {served: ".", remote: "d/t/x/y", local: ".", copy: "d/t/x/y"},
		"PushBelow":       {served: "d/t", remote: "x", local: ".", copy: "d/t/x"},
		"PushToRootBelow": {served: "d/t", remote: ".", local: ".", copy: "d/t"},
		"Pull":            {served: ".", remote: ".", local: "d/t/x", copy: "d/t/x", pull: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := filetest.Tree(t, map[string]int{"a": 1, "d/b": 2, "d/t/c": 3, "d/t/u/e": 4, "z/f": 5})
			c := filetest.Serve(t, filepath.Join(dir, test.served), filetest.Writable)
			config := transfer.Config{Remote: test.remote, Root: filetest.OpenRoot(t, dir), Local: test.local}
			run := transfer.Push
			if test.pull {
				run = transfer.Pull
			}
			result, err := run(t.Context(), c.Place(), config)
			if !errors.Is(err, transfer.ErrPartial) || len(result.Faults) != 1 || result.Faults[0].Name != test.copy {
				t.Errorf("%v, %+v", err, result)
			}
			if _, err := os.Stat(filepath.Join(dir, test.copy, "a")); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(dir, test.copy, test.copy, "a")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the copy was copied: %v", err)
			}
		})
	}
}

// TestAskedAboutItself pushes a tree of which hardly any directory is made at the server. It is asked about the
// directory into which is copied, and not once for each directory.
func TestAskedAboutItself(t *testing.T) {
	files := map[string]int{"z/wanted": 1}
	for i := range 100 {
		files[fmt.Sprintf("%02d/other", i)] = 1
	}
	dir, _ := filetest.Tree(t, files)
	var asked atomic.Int64
	c := filetest.Serve(t, t.TempDir(), func(config *server.Config) {
		config.Writable = true
		config.Observer.Called = func(call server.Call) {
			if call.Method == "Stat" && call.Path == "copy" {
				asked.Add(1)
			}
		}
	})
	config := transfer.Config{
		Remote: "copy", Root: filetest.OpenRoot(t, dir), Local: ".", Include: []string{"wanted"},
	}
	if result, err := transfer.Push(t.Context(), c.Place(), config); err != nil || result.Files != 1 {
		t.Fatalf("%v, %+v", err, result)
	}
	if n := asked.Load(); n > 4 {
		t.Errorf("the server was asked %d times", n)
	}
}
