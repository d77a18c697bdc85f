package fileservice

import (
	"io/fs"
	"syscall"
)

func tagOf(info fs.FileInfo) uint64 {
	stat, is := info.Sys().(*syscall.Stat_t)
	if !is {
		return 0
	}
	return makeTag(stat.Ino, stat.Ctimespec.Nano())
}
