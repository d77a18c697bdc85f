//go:build linux || darwin

package draft

import (
	"io/fs"
	"syscall"

	"culvert/internal/publish"
)

// keepOwner sets the user and group of a file to those of another, if they differ and the process may.
func keepOwner(file publish.File, of fs.FileInfo) {
	want, is := of.Sys().(*syscall.Stat_t)
	if !is {
		return
	}
	if info, err := file.Stat(); err == nil {
		if have, is := info.Sys().(*syscall.Stat_t); is && have.Uid == want.Uid && have.Gid == want.Gid {
			return
		}
	}
	_ = file.Chown(int(want.Uid), int(want.Gid)) // it fails without CAP_CHOWN
}
