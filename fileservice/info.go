package fileservice

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math"
	"time"
)

// A Version identifies one state of a file. Versions can be compared with ==, and equal versions mean equal bytes,
// except that a file system does not show two changes of equal size within one tick of its clock, some milliseconds.
type Version struct {
	// Size is in bytes. It is 0 if the file is not regular.
	Size int64

	// ModifiedUnixNano is the modification time in nanoseconds since 1970, limited to the years 1677 to 2262.
	ModifiedUnixNano int64

	// Tag is a hash of other data of the server's file system: on Unix, the inode number and the time of the inode's
	// last change, which no program can set. It is 0 if there is none; a change that keeps size and time is not noticed
	// then. It has no meaning on another machine.
	Tag uint64
}

// ModTime returns ModifiedUnixNano as a time.
func (v Version) ModTime() time.Time { return time.Unix(0, v.ModifiedUnixNano) }

// VersionOf returns the version of the file that info describes: an [Info], or a fresh result of package os.
func VersionOf(info fs.FileInfo) Version {
	if there, is := info.(*Info); is {
		return there.Version()
	}
	v := Version{ModifiedUnixNano: UnixNano(info.ModTime()), Tag: tagOf(info)}
	if info.Mode().IsRegular() {
		v.Size = info.Size()
	}
	return v
}

// UnixNano returns a time in nanoseconds since 1970, or the nearest value that an int64 can hold.
func UnixNano(t time.Time) int64 {
	earliest, latest := time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)
	switch {
	case t.Before(earliest):
		return math.MinInt64
	case t.After(latest):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// CheckBlocks fails if blocks do not lie within the version.
func (v Version) CheckBlocks(first, count int64) error {
	if first < 0 || count < 0 || v.Size < 0 || first > math.MaxInt64-count || first+count > Blocks(v.Size) {
		return fmt.Errorf("%w: %d blocks from %d of %d", fs.ErrInvalid, count, first, Blocks(v.Size))
	}
	return nil
}

// tagOf hashes the inode number and change time, so that clients do not come to rely on them.
func tagOf(info fs.FileInfo) uint64 {
	inode, changed := identify(info)
	if inode == 0 {
		return 0
	}
	return hashOf(inode, uint64(changed.UnixNano()))
}

// hashOf hashes numbers that mean something on their own machine only.
func hashOf(numbers ...uint64) uint64 {
	hash := fnv.New64a()
	for _, n := range numbers {
		_, _ = hash.Write(binary.LittleEndian.AppendUint64(nil, n)) // never fails
	}
	return hash.Sum64()
}

// Attributes describe a file.
type Attributes struct {
	Name       string // the last element of the path
	Mode       fs.FileMode
	Version    Version
	Inode      uint64        // 0 if the system has none
	LinkLength int64         // of the target of a symbolic link, in bytes
	TimeStep   time.Duration // of the file system's times; 0 for nanoseconds

	// FileSystem is equal for two directories of one file system, and means nothing else. It is 0 if it is unknown, and
	// for files.
	FileSystem uint64
}

// AttributesOf returns the attributes of a local file. Info is a fresh result of package os.
func AttributesOf(name string, info fs.FileInfo) Attributes {
	a := Attributes{Name: name, Mode: info.Mode() & (fs.ModeType | fs.ModePerm), Version: VersionOf(info)}
	a.Inode, _ = identify(info)
	a.FileSystem = FileSystemOf(info)
	switch a.Mode.Type() {
	case 0:
		a.TimeStep = timeStepOf(info)
	case fs.ModeSymlink:
		a.LinkLength = min(max(info.Size(), 0), MaxPath)
	}
	return a
}

// An Info describes a file of a server. It is an immutable fs.FileInfo and fs.DirEntry.
type Info struct{ attributes Attributes }

// NewInfo returns an Info with the attributes a.
func NewInfo(a Attributes) *Info { return &Info{a} }

// Attributes returns all attributes.
func (i *Info) Attributes() Attributes { return i.attributes }

var (
	_ fs.FileInfo = (*Info)(nil)
	_ fs.DirEntry = (*Info)(nil)
)

// Name returns the last element of the path. It never leads elsewhere and has no control characters.
func (i *Info) Name() string { return i.attributes.Name }

// Size returns the size in bytes of a regular file or of a symbolic link's target. It is 0 for other types.
func (i *Info) Size() int64 { return max(i.attributes.Version.Size, i.attributes.LinkLength) }

// Inode returns the inode number, which all names of a file in one file system share. It is 0 if the server's system
// has none. The tree may span several file systems.
func (i *Info) Inode() uint64 { return i.attributes.Inode }

// Mode returns the type and the permissions. Symbolic links are not followed.
func (i *Info) Mode() fs.FileMode { return i.attributes.Mode }

// Type returns the type bits of Mode.
func (i *Info) Type() fs.FileMode { return i.attributes.Mode.Type() }

// ModTime returns the modification time.
func (i *Info) ModTime() time.Time { return i.attributes.Version.ModTime() }

// IsDir reports whether i describes a directory.
func (i *Info) IsDir() bool { return i.attributes.Mode.IsDir() }

// Sys returns the Version.
func (i *Info) Sys() any { return i.attributes.Version }

// Version returns the version, which reads must name.
func (i *Info) Version() Version { return i.attributes.Version }

// Info returns i, to implement fs.DirEntry.
func (i *Info) Info() (fs.FileInfo, error) { return i, nil }

// String formats i as one line of a listing.
func (i *Info) String() string { return fs.FormatFileInfo(i) }

// MaxFileSize is the largest size of a file: 8 EiB less a block, so that sums of offsets do not overflow.
const MaxFileSize = math.MaxInt64 - BlockSize
