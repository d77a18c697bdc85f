package osfile

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Umask gives the permissions that new files do not get. To ask the system by umask(2) would change it for a moment, in
// which another goroutine may create a file; /proc tells it (Linux 4.7).
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
