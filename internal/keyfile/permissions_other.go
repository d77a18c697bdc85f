//go:build !unix

package keyfile

import "os"

// othersCanRead is not known where permissions are not mode bits.
func othersCanRead(*os.File) bool { return false }
