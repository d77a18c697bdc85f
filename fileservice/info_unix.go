//go:build linux || darwin

package fileservice

import (
	"encoding/binary"
	"hash/fnv"
	"io/fs"
	"syscall"
	"time"

	"culvert/internal/publish"
)

func tagOf(info fs.FileInfo) uint64 {
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return 0
	}
	return makeTag(stat.Ino, changedUnixNano(stat))
}

func inodeOf(info fs.FileInfo) uint64 {
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return 0
	}
	return stat.Ino
}

// changedOf returns when the inode was last changed, or the zero time.
func changedOf(info fs.FileInfo) time.Time {
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return time.Time{}
	}
	return time.Unix(0, changedUnixNano(stat))
}

// makeTag hashes, so that clients do not come to rely on what it is made of.
func makeTag(inode uint64, changed int64) uint64 {
	hash := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], inode)
	binary.LittleEndian.PutUint64(b[8:], uint64(changed))
	hash.Write(b[:])
	return hash.Sum64()
}

// keepOwner gives a file the user and the group of another one, if they differ and it may.
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
	_ = file.Chown(int(want.Uid), int(want.Gid)) // who may not is not told
}
