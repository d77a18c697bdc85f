package osfile

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Umask returns the permissions that new files do not get. It reads /proc (Linux 4.7), because umask(2) would change
// the mask for a moment, in which another goroutine may create a file.
var Umask = sync.OnceValue(func() fs.FileMode {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return usualUmask
	}
	_, rest, _ := strings.Cut(string(status), "\nUmask:")
	line, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(strings.TrimSpace(line), 8, 9)
	if err != nil {
		return usualUmask
	}
	return fs.FileMode(mask)
})

const usualUmask = 0o022
