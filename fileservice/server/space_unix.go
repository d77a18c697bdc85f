//go:build linux || darwin

package server

import (
	"os"
	"syscall"

	pb "culvert/fileservice/internal/fileservicepb"
)

// spaceOf returns the space in the file system of an open directory.
func spaceOf(dir *os.File) (*pb.SpaceResponse, error) {
	var stat syscall.Statfs_t
	for {
		err := syscall.Fstatfs(int(dir.Fd()), &stat)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "fstatfs", Path: dir.Name(), Err: err}
		}
		size := uint64(stat.Bsize)
		return &pb.SpaceResponse{
			Total: stat.Blocks * size, Free: stat.Bfree * size, Available: stat.Bavail * size,
		}, nil
	}
}
