//go:build unix

// Package openfiles ends the program with an error if so few files may be open that its libraries could not even start:
// they open some when they are initialized, and panic otherwise. Go initializes packages whose imports are initialized
// in the order of their names, so this one, which imports nothing else, comes before those.
package openfiles

import "syscall"

// least is how many files the smallest command has open, with those of shells and libraries. A load or an export of
// many tables takes more, and has errors of its own.
const least = 32

const tooFew = "culvert: error: too few files may be open at the same time\n" +
	"culvert: hint: allow more, for example 1024: ulimit -n 1024\n"

func init() {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Max < least {
		_, _ = syscall.Write(syscall.Stderr, []byte(tooFew)) // nobody is left to report to
		syscall.Exit(1)
	}
}
