package fileservice

import (
	"fmt"
	"io/fs"
	"math"
	"time"
)

// A Version names one state of a file. Versions may be compared with ==, and equal ones mean equal bytes, as far as the
// file system tells: it does not show two changes within one tick of its clock, some milliseconds, that leave the size
// as it is.
type Version struct {
	// Size is in bytes, and 0 for what is not a regular file.
	Size int64

	// ModifiedUnixNano is when the content was last changed, in nanoseconds since 1970, or the nearest time that can be
	// told so: they reach from 1677 to 2262.
	ModifiedUnixNano int64

	// Tag is made of what else the server's file system knows: on Unix, the number of the inode and when it was last
	// changed, which nobody can set back. It is 0 if there is no such thing, and a change that leaves size and time as
	// they were is not noticed then. It means nothing to another machine.
	Tag uint64
}

// ModTime gives ModifiedUnixNano as a time.
func (v Version) ModTime() time.Time { return time.Unix(0, v.ModifiedUnixNano) }

// VersionOf returns the version of the file that info describes: an [Info], or what package os has just returned.
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

// UnixNano gives a time in nanoseconds since 1970, or the nearest that there is.
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

// Attributes are what an Info tells of a file.
type Attributes struct {
	Name       string // the last element of the path
	Mode       fs.FileMode
	Version    Version
	Inode      uint64        // 0 if the system has none
	LinkLength int64         // of the target of a symbolic link, in bytes
	TimeStep   time.Duration // in which the file system keeps times; 0 for nanoseconds
}

// AttributesOf returns the attributes of a file of this machine, of which info has just been made by package os.
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

// An Info describes a file of a server. It is an fs.FileInfo and an fs.DirEntry. It does not change.
type Info struct{ attributes Attributes }

// NewInfo returns an Info that tells these attributes.
func NewInfo(a Attributes) *Info { return &Info{a} }

// Attributes returns all that the Info tells.
func (i *Info) Attributes() Attributes { return i.attributes }

var (
	_ fs.FileInfo = (*Info)(nil)
	_ fs.DirEntry = (*Info)(nil)
)

// Name gives the last element of the path. It is never one that leads elsewhere or has control characters.
func (i *Info) Name() string { return i.attributes.Name }

// Size gives the size in bytes of a regular file, and that of the target of a symbolic link. It is 0 for anything else.
func (i *Info) Size() int64 { return max(i.attributes.Version.Size, i.attributes.LinkLength) }

// Inode gives the number that the file has in its file system, which is the same for all names of a file. It is 0 if
// the server's system has none. The tree may have several file systems.
func (i *Info) Inode() uint64 { return i.attributes.Inode }

// Mode gives type and permissions. A symbolic link is one; nothing on either end follows it.
func (i *Info) Mode() fs.FileMode { return i.attributes.Mode }

// Type gives the type out of Mode.
func (i *Info) Type() fs.FileMode { return i.attributes.Mode.Type() }

// ModTime gives when the file was last changed.
func (i *Info) ModTime() time.Time { return i.attributes.Version.ModTime() }

// IsDir reports whether it is a directory.
func (i *Info) IsDir() bool { return i.attributes.Mode.IsDir() }

// Sys gives the Version.
func (i *Info) Sys() any { return i.attributes.Version }

// Version gives the version, which reads have to name.
func (i *Info) Version() Version { return i.attributes.Version }

// Info gives itself, as a directory entry has to.
func (i *Info) Info() (fs.FileInfo, error) { return i, nil }

// String formats it as one line of a listing.
func (i *Info) String() string { return fs.FormatFileInfo(i) }

// MaxFileSize is how long a file may be, so that no sum of offsets overflows: 8 EiB less a block.
const MaxFileSize = math.MaxInt64 - BlockSize
