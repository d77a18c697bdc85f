package fusefs

import (
	"hash/fnv"
	"io/fs"
	"math"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// attributes fills in what the kernel is told of a file. Who mounts owns it: the owners of another machine mean nothing
// here.
func (m *mount) attributes(info fs.FileInfo, out *fuse.Attr) syscall.Errno {
	mode := info.Mode()
	kind := kindOf(mode)
	size := info.Size()
	if kind == 0 || size < 0 && mode.IsRegular() {
		return syscall.EIO
	}
	out.Mode = kind | permissionsOf(mode)
	out.Nlink = 1
	out.Owner = fuse.Owner{Uid: m.uid, Gid: m.gid}
	if mode.IsRegular() || mode&fs.ModeSymlink != 0 {
		out.Size = uint64(max(size, 0))
	}
	setTimes(info.ModTime(), out)
	return 0
}

func setTimes(changed time.Time, out *fuse.Attr) {
	// Years before 1970 are negative, which is what the field holds although it has no sign.
	seconds := uint64(changed.Unix()) //nolint:gosec // see above
	nanos := uint32(changed.Nanosecond())
	out.Mtime, out.Mtimensec = seconds, nanos
	out.Ctime, out.Ctimensec = seconds, nanos
	out.Atime, out.Atimensec = seconds, nanos
}

func kindOf(mode fs.FileMode) uint32 {
	switch mode.Type() {
	case 0:
		return syscall.S_IFREG
	case fs.ModeDir:
		return syscall.S_IFDIR
	case fs.ModeSymlink:
		return syscall.S_IFLNK
	case fs.ModeNamedPipe:
		return syscall.S_IFIFO
	case fs.ModeSocket:
		return syscall.S_IFSOCK
	case fs.ModeDevice:
		return syscall.S_IFBLK
	case fs.ModeDevice | fs.ModeCharDevice:
		return syscall.S_IFCHR
	}
	return 0
}

var permissionBits = []struct {
	mode fs.FileMode
	bit  uint32
}{
	{fs.ModeSetuid, syscall.S_ISUID}, {fs.ModeSetgid, syscall.S_ISGID}, {fs.ModeSticky, syscall.S_ISVTX},
}

func permissionsOf(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for _, b := range permissionBits {
		if mode&b.mode != 0 {
			bits |= b.bit
		}
	}
	return bits
}

// modeOf gives the permissions that a program asks for.
func modeOf(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits).Perm()
	for _, b := range permissionBits {
		if bits&b.bit != 0 {
			mode |= b.mode
		}
	}
	return mode
}

// numberOf gives the inode number that the file system has for a file, or 0.
func numberOf(info fs.FileInfo) uint64 {
	number := uint64(0)
	if numbered, is := info.(inodeInfo); is {
		number = numbered.Inode()
	} else if s, is := info.Sys().(*syscall.Stat_t); is {
		number = s.Ino
	}
	if number == math.MaxUint64 { // go-fuse keeps it to itself
		return 0
	}
	return number
}

// hashOf makes an inode number of a path, for file systems without.
func hashOf(path string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(path))
	return max(2, min(hash.Sum64(), math.MaxUint64-1))
}

func inodeOf(info fs.FileInfo, path string) uint64 {
	if number := numberOf(info); number != 0 {
		return number
	}
	return hashOf(path)
}
