//go:build !unix

// Package openfiles does nothing where the number of open files has no limit.
package openfiles
