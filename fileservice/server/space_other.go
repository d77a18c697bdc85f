//go:build !linux && !darwin

package server

import (
	"os"

	pb "culvert/fileservice/internal/fileservicepb"
)

func spaceOf(*os.File) (*pb.SpaceResponse, error) {
	return nil, refused("this system does not report free space")
}
