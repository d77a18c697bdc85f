package fusefs

import (
	"hash/fnv"
	"io/fs"
	"math"
	"reflect"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// attributes fills in the attributes of a file. It belongs to the user who mounts, since the owners of another machine
// mean nothing here.
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
	changed := info.ModTime()
	out.SetTimes(&changed, &changed, &changed)
	return 0
}

var kinds = map[fs.FileMode]uint32{
	0: syscall.S_IFREG, fs.ModeDir: syscall.S_IFDIR, fs.ModeSymlink: syscall.S_IFLNK,
	fs.ModeNamedPipe: syscall.S_IFIFO, fs.ModeSocket: syscall.S_IFSOCK,
	fs.ModeDevice: syscall.S_IFBLK, fs.ModeDevice | fs.ModeCharDevice: syscall.S_IFCHR,
}

// kindOf returns the type bits of a mode, or 0 if there are none for it.
func kindOf(mode fs.FileMode) uint32 { return kinds[mode.Type()] }

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

// modeOf returns the permissions that a program asks for.
func modeOf(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits).Perm()
	for _, b := range permissionBits {
		if bits&b.bit != 0 {
			mode |= b.mode
		}
	}
	return mode
}

// numberOf returns the file system's inode number of a file, which is the same for all its names, or 0.
func numberOf(info fs.FileInfo) uint64 {
	number := uint64(0)
	if numbered, is := info.(interface{ Inode() uint64 }); is {
		number = numbered.Inode()
	} else if s, is := info.Sys().(*syscall.Stat_t); is {
		number = s.Ino
	}
	if number == math.MaxUint64 { // go-fuse reserves it
		return 0
	}
	return number
}

// hashOf returns an inode number for a path, for file systems that have no numbers.
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

// version identifies a state of a file. Versions are compared with ==.
type version struct {
	size    int64
	seconds int64 // of the modification time
	nanos   int
	system  any // comparable information of the file system, or nil
}

func versionOf(info fs.FileInfo) version {
	changed := info.ModTime()
	v := version{size: info.Size(), seconds: changed.Unix(), nanos: changed.Nanosecond()}
	sys := info.Sys()
	if sys == nil {
		return v
	}
	if s, is := sys.(*syscall.Stat_t); is {
		v.system = statVersion{s.Dev, s.Ino, s.Ctim}
		return v
	}
	// A pointer identifies the FileInfo, not the file.
	if value := reflect.ValueOf(sys); value.Kind() != reflect.Pointer && value.Comparable() {
		v.system = sys
	}
	return v
}

// statVersion has what only the system sets, so a file that is replaced or written to is another version even if its
// modification time is reset.
type statVersion struct {
	device, inode uint64
	changed       syscall.Timespec
}
