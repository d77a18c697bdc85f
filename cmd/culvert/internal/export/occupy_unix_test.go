//go:build unix

package export

import (
	"path/filepath"
	"strings"
	"testing"

	"culvert/cmd/culvert/internal/argument"
)

// TestOccupy has a directory for one export with --force at a time: two would replace files of each other.
func TestOccupy(t *testing.T) {
	l := &argument.Location{Text: filepath.Join(t.TempDir(), "all")}
	o := &options{}
	o.force = true
	release, err := o.occupy(l)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.occupy(l); err == nil || !strings.Contains(err.Error(), "another export writes to") {
		t.Errorf("the error is %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	if release, err = o.occupy(l); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
