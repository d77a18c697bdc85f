//go:build !unix

package fileservice

const openWithoutWaiting = 0
