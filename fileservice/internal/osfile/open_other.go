//go:build !unix

package osfile

const NoWait = 0
