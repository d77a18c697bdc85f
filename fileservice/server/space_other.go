//go:build !linux && !darwin

package server

import (
	"os"

	pb "culvert/fileservice/internal/fileservicepb"
)

// spaceOf asks for the room in the file system of an open directory.
func spaceOf(*os.File) (*pb.SpaceResponse, error) {
	return nil, refused("this system does not say how much room there is")
}
