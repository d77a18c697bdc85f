//go:build !linux && !darwin

package fileservice

import "io/fs"

func tagOf(fs.FileInfo) uint64 { return 0 }

func inodeOf(fs.FileInfo) uint64 { return 0 }
