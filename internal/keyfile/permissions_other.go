//go:build !unix

package keyfile

import "os"

// othersCanRead returns false: permissions are not mode bits.
func othersCanRead(*os.File) bool { return false }
