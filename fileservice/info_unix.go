//go:build linux || darwin

package fileservice

import (
	"encoding/binary"
	"hash/fnv"
	"io/fs"
	"syscall"
	"time"
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
