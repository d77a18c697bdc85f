//go:build unix

package jobfile_test

import (
	"strings"
	"testing"

	"culvert/cmd/culvert/internal/jobfile"
)

// TestReadBounded reads a file that has no size and no end.
func TestReadBounded(t *testing.T) {
	if _, err := jobfile.Read("/dev/zero"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("the error is %v", err)
	}
}
