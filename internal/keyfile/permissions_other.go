//go:build !unix

package keyfile

import "os"

// OthersCanRead returns false: permissions are not mode bits.
func OthersCanRead(*os.File) bool { return false }
