package transfer_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"culvert/fileservice/internal/filetest"
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
			result, err := run(t.Context(), c, config)
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
