package fileservice

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"time"

	"culvert/fileservice/internal/fileservicepb"
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

// VersionOf gives the version of a file of this machine, of which info has just been made by package os.
func VersionOf(info fs.FileInfo) Version {
	v := Version{ModifiedUnixNano: unixNanoOf(info.ModTime()), Tag: tagOf(info)}
	if info.Mode().IsRegular() {
		v.Size = info.Size()
	}
	return v
}

// unixNanoOf gives a time in nanoseconds since 1970, or the nearest that there is.
func unixNanoOf(t time.Time) int64 {
	earliest, latest := time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64)
	switch {
	case t.Before(earliest):
		return math.MinInt64
	case t.After(latest):
		return math.MaxInt64
	}
	return t.UnixNano()
}

func (v Version) message() *fileservicepb.Version {
	return &fileservicepb.Version{Size: v.Size, ModifiedUnixNano: v.ModifiedUnixNano, Tag: v.Tag}
}

func versionOfMessage(m *fileservicepb.Version) Version {
	return Version{Size: m.GetSize(), ModifiedUnixNano: m.GetModifiedUnixNano(), Tag: m.GetTag()}
}

// An Info describes a file of a server. It is an fs.FileInfo and an fs.DirEntry. It does not change.
type Info struct {
	name       string
	mode       fs.FileMode
	version    Version
	inode      uint64
	linkLength int64
	timeStep   time.Duration // of its file system; 0 for nanoseconds
}

var (
	_ fs.FileInfo = (*Info)(nil)
	_ fs.DirEntry = (*Info)(nil)
)

// Name gives the last element of the path. It is never one that leads elsewhere or has control characters.
func (i *Info) Name() string { return i.name }

// Size gives the size in bytes of a regular file, and that of the target of a symbolic link. It is 0 for anything else.
func (i *Info) Size() int64 { return max(i.version.Size, i.linkLength) }

// Inode gives the number that the file has in its file system, which is the same for all names of a file. It is 0 if
// the server's system has none. The tree may have several file systems.
func (i *Info) Inode() uint64 { return i.inode }

// Mode gives type and permissions. A symbolic link is one; nothing on either end follows it.
func (i *Info) Mode() fs.FileMode { return i.mode }

// Type gives the type out of Mode.
func (i *Info) Type() fs.FileMode { return i.mode.Type() }

// ModTime gives when the file was last changed.
func (i *Info) ModTime() time.Time { return i.version.ModTime() }

// IsDir reports whether it is a directory.
func (i *Info) IsDir() bool { return i.mode.IsDir() }

// Sys gives the Version.
func (i *Info) Sys() any { return i.version }

// Version gives the version, which reads have to name.
func (i *Info) Version() Version { return i.version }

// Info gives itself, as a directory entry has to.
func (i *Info) Info() (fs.FileInfo, error) { return i, nil }

// String formats it as one line of a listing.
func (i *Info) String() string { return fs.FormatFileInfo(i) }

// maxFileSize is how long a file may be, so that no sum of offsets overflows: 8 EiB less a block.
const maxFileSize = math.MaxInt64 - BlockSize

func entryOf(name string, info fs.FileInfo) *fileservicepb.Entry {
	const shown = fs.ModeType | fs.ModePerm
	entry := &fileservicepb.Entry{
		Name: name, Mode: uint32(info.Mode() & shown), Version: VersionOf(info).message(), Inode: inodeOf(info),
	}
	if info.Mode().IsRegular() {
		entry.TimeStep = int64(timeStepOf(info))
	}
	if info.Mode().Type() == fs.ModeSymlink {
		entry.LinkLength = uint32(min(max(info.Size(), 0), maxPath))
	}
	return entry
}

// infoOfMessage believes nothing that would harm who uses it. An entry of a directory has no path yet; otherwise the
// name is that of the path.
func infoOfMessage(m *fileservicepb.Entry, name string) (*Info, error) {
	info := &Info{
		name: m.GetName(), mode: fs.FileMode(m.GetMode()), version: versionOfMessage(m.GetVersion()),
		inode: m.GetInode(), linkLength: int64(m.GetLinkLength()), timeStep: time.Duration(m.GetTimeStep()),
	}
	switch {
	case name == "" && !isNamable(info.name):
		return nil, fmt.Errorf("%w: the name %q", ErrIntegrity, printable(info.name))
	case name != "" && info.name != path.Base(name):
		return nil, fmt.Errorf("%w: another name than was asked for", ErrIntegrity)
	case info.version.Size < 0 || info.version.Size > maxFileSize:
		return nil, fmt.Errorf("%w: a size of %d bytes", ErrIntegrity, info.version.Size)
	case info.version.Size != 0 && !info.mode.IsRegular():
		return nil, fmt.Errorf("%w: a size of what is not a regular file", ErrIntegrity)
	case info.timeStep < 0 || info.timeStep > maxTimeStep:
		return nil, fmt.Errorf("%w: times in steps of %v", ErrIntegrity, info.timeStep)
	case info.linkLength > maxPath || info.linkLength != 0 && info.Type() != fs.ModeSymlink:
		return nil, fmt.Errorf("%w: a target of %d bytes", ErrIntegrity, info.linkLength)
	}
	return info, nil
}
