package fileservice

import (
	"fmt"
	"io/fs"
	"math"
	"time"
)

// A Version identifies one state of a file. Versions may be compared with ==. Equal versions have equal bytes, with the
// precision of the file system: two changes within one tick of its clock, some milliseconds, that do not change the
// size have the same version.
type Version struct {
	// Size is in bytes. It is 0 for anything except a regular file.
	Size int64

	// ModifiedUnixNano is the time of the last change of the content, in nanoseconds since 1970, or the nearest time in
	// the range from 1677 to 2262.
	ModifiedUnixNano int64

	// Tag summarizes other facts of the server's file system: on Unix, the number of the inode and the time of its last
	// change, which cannot be set back. If there are none, it is 0, and a change that keeps size and time is not
	// detected. It has no meaning on other machines.
	Tag uint64
}

// ModTime returns ModifiedUnixNano as a time.
func (v Version) ModTime() time.Time { return time.Unix(0, v.ModifiedUnixNano) }

// VersionOf returns the version of the file that info describes. Info is an [Info], or a result of package os.
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

// UnixNano returns a time in nanoseconds since 1970, or the nearest time that an int64 can represent so.
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

// CheckBlocks returns an error if the blocks are not all within the file.
func (v Version) CheckBlocks(first, count int64) error {
	if first < 0 || count < 0 || v.Size < 0 || first > math.MaxInt64-count || first+count > Blocks(v.Size) {
		return fmt.Errorf("%w: %d blocks from %d of %d", fs.ErrInvalid, count, first, Blocks(v.Size))
	}
	return nil
}

// Attributes are the attributes of a file in an Info.
type Attributes struct {
	Name       string // the last element of the path
	Mode       fs.FileMode
	Version    Version
	Inode      uint64        // 0 if the system has none
	LinkLength int64         // of the target of a symbolic link, in bytes
	TimeStep   time.Duration // the resolution of times in the file system; 0 for nanoseconds
}

// AttributesOf returns the attributes of a file of this machine. Info is a result of package os.
func AttributesOf(name string, info fs.FileInfo) Attributes {
	a := Attributes{
		Name: name, Mode: info.Mode() & (fs.ModeType | fs.ModePerm), Version: VersionOf(info), Inode: inodeOf(info),
	}
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

// NewInfo returns an Info with these attributes.
func NewInfo(a Attributes) *Info { return &Info{a} }

// Attributes returns all attributes.
func (i *Info) Attributes() Attributes { return i.attributes }

var (
	_ fs.FileInfo = (*Info)(nil)
	_ fs.DirEntry = (*Info)(nil)
)

// Name returns the last element of the path. It never leads elsewhere and has no control characters.
func (i *Info) Name() string { return i.attributes.Name }

// Size returns the size in bytes of a regular file, or of the target of a symbolic link. It is 0 for anything else.
func (i *Info) Size() int64 { return max(i.attributes.Version.Size, i.attributes.LinkLength) }

// Inode returns the number of the file in its file system, which all hard links of the file share, or 0 if the server's
// system has none. The tree may have several file systems.
func (i *Info) Inode() uint64 { return i.attributes.Inode }

// Mode returns type and permissions. Symbolic links are not followed.
func (i *Info) Mode() fs.FileMode { return i.attributes.Mode }

// Type returns the type bits of Mode.
func (i *Info) Type() fs.FileMode { return i.attributes.Mode.Type() }

// ModTime returns the time of the last change of the content.
func (i *Info) ModTime() time.Time { return i.attributes.Version.ModTime() }

// IsDir reports whether the file is a directory.
func (i *Info) IsDir() bool { return i.attributes.Mode.IsDir() }

// Sys returns the Version.
func (i *Info) Sys() any { return i.attributes.Version }

// Version returns the version, which reads must name.
func (i *Info) Version() Version { return i.attributes.Version }

// Info returns i, and implements fs.DirEntry.
func (i *Info) Info() (fs.FileInfo, error) { return i, nil }

// String formats the Info as a line of a listing.
func (i *Info) String() string { return fs.FormatFileInfo(i) }

// MaxFileSize is the largest size of a file, 8 EiB less a block, for which no sum of offsets overflows.
const MaxFileSize = math.MaxInt64 - BlockSize
