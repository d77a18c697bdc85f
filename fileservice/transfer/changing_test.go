package transfer

import (
	"io/fs"
	"testing"

	"culvert/fileservice"
)

// TestIsSameDir looks at directories of one inode number.
func TestIsSameDir(t *testing.T) {
	look := func(time *int64, step int64) func() (fs.FileInfo, error) {
		return func() (fs.FileInfo, error) {
			*time += step
			version := fileservice.Version{ModifiedUnixNano: *time, Tag: uint64(*time)}
			return fileservice.NewInfo(fileservice.Attributes{Mode: fs.ModeDir, Inode: 7, Version: version}), nil
		}
	}
	one, other := int64(1000), int64(5000)
	for name, test := range map[string]struct {
		here, there func() (fs.FileInfo, error)
		want        bool
	}{
		"one":                        {look(&one, 0), look(&one, 0), true},
		"one, changing all the time": {look(&one, 1), look(&one, 1), true},
		"two":                        {look(&one, 0), look(&other, 0), false},
		"two, changing all the time": {look(&one, 1), look(&other, 1), false},
	} {
		if got := isSameDir(test.here, test.there); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
