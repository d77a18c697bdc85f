//go:build !linux && !darwin

package fileservice

import (
	"io/fs"

	"culvert/internal/disk"
)

func tagOf(fs.FileInfo) uint64 { return 0 }

func inodeOf(fs.FileInfo) uint64 { return 0 }

func keepOwner(disk.LockedFile, fs.FileInfo) {}
