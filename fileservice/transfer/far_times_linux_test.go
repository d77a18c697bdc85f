package transfer_test

import (
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
)

// TestFarTimes sees that times which a version cannot have are counted, of large and small files and directories.
func TestFarTimes(t *testing.T) {
	for role, run := range filetest.Transfers() {
		from, _ := filetest.Tree(t, map[string]int{"dir/small": 1, "large": 3 * fileservice.BlockSize, "other": 1})
		far := syscall.Timespec{Sec: time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC).Unix()}
		for _, name := range []string{"dir/small", "large", "dir"} {
			if err := syscall.UtimesNano(filepath.Join(from, name), []syscall.Timespec{far, far}); err != nil {
				t.Fatal(err)
			}
		}
		to := t.TempDir()
		served, here := from, to
		if role == "push" {
			served, here = to, from
		}
		config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, here), Local: "."}
		result, err := run(t.Context(), filetest.Serve(t, served, filetest.Writable), config)
		if err != nil || result.OtherTimes != 3 {
			t.Errorf("%s: %+v, %v", role, result, err)
		}
		for _, name := range []string{"dir/small", "large", "dir"} {
			info, err := os.Stat(filepath.Join(to, name))
			if err != nil || !info.ModTime().Equal(time.Unix(0, math.MaxInt64)) {
				t.Errorf("%s: %s: %v, %v", role, name, info, err)
			}
		}
	}
}
