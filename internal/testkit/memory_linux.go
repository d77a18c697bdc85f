package testkit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// resetPeak sets VmHWM to the current memory (proc(5), /proc/pid/clear_refs).
func resetPeak() error {
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

func readPeak() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, found := bytes.Cut(status, []byte("VmHWM:"))
	if !found {
		return 0, errors.New("/proc/self/status has no VmHWM")
	}
	var kibibytes int64
	if _, err := fmt.Fscan(bytes.NewReader(rest), &kibibytes); err != nil {
		return 0, err
	}
	return kibibytes << 10, nil
}
