//go:build !unix

package osfile

// NoWait is not needed on this system.
const NoWait = 0
