package ui

import "syscall"

// PeakMemory is the most memory that this process has had resident, in bytes, or 0 if that is not known.
func PeakMemory() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return usage.Maxrss // bytes on this system, kilobytes on others
}
