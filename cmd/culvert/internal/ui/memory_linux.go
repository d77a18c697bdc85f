package ui

import (
	"bytes"
	"os"
	"strconv"
)

// PeakMemory is the most memory that this process has had resident, in bytes, or 0 if that is not known.
//
// It is VmHWM of proc(5) and not ru_maxrss of getrusage(2), which a process inherits from the one that started it.
func PeakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		value, found := bytes.CutPrefix(line, []byte("VmHWM:"))
		if !found {
			continue
		}
		kib, err := strconv.ParseInt(string(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB"))), 10, 64)
		if err != nil {
			return 0
		}
		return kib << 10
	}
	return 0
}
