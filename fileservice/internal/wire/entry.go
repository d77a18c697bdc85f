package wire

import (
	"fmt"
	"io/fs"
	"path"
	"time"

	"culvert/fileservice"
	pb "culvert/fileservice/internal/fileservicepb"
)

// VersionMessage returns v as a message.
func VersionMessage(v fileservice.Version) *pb.Version {
	return &pb.Version{Size: v.Size, ModifiedUnixNano: v.ModifiedUnixNano, Tag: v.Tag}
}

// VersionOf is the inverse of VersionMessage.
func VersionOf(m *pb.Version) fileservice.Version {
	return fileservice.Version{Size: m.GetSize(), ModifiedUnixNano: m.GetModifiedUnixNano(), Tag: m.GetTag()}
}

// EntryOf returns the entry of a local file. Info is a fresh result of package os.
func EntryOf(name string, info fs.FileInfo) *pb.Entry {
	a := fileservice.AttributesOf(name, info)
	return &pb.Entry{
		Name: a.Name, Mode: PosixMode(a.Mode), Version: VersionMessage(a.Version), Inode: a.Inode,
		TimeStep: int64(a.TimeStep), LinkLength: uint32(a.LinkLength),
		FileSystem: a.FileSystem,
	}
}

// InfoOf checks and converts an entry that the other end sent. Name is the requested path, or "" for an entry of a
// directory. Errors wrap fileservice.ErrIntegrity.
func InfoOf(m *pb.Entry, name string) (*fileservice.Info, error) {
	a := fileservice.Attributes{
		Name: m.GetName(), Mode: fileMode(m.GetMode()), Version: VersionOf(m.GetVersion()),
		Inode: m.GetInode(), LinkLength: int64(m.GetLinkLength()), TimeStep: time.Duration(m.GetTimeStep()),
		FileSystem: m.GetFileSystem(),
	}
	switch {
	case name == "" && !fileservice.IsName(a.Name):
		return nil, fmt.Errorf("%w: the name %q", fileservice.ErrIntegrity, Printable(a.Name))
	case name != "" && a.Name != path.Base(name):
		return nil, fmt.Errorf("%w: not the requested name", fileservice.ErrIntegrity)
	case a.Version.Size < 0 || a.Version.Size > fileservice.MaxFileSize:
		return nil, fmt.Errorf("%w: a size of %d bytes", fileservice.ErrIntegrity, a.Version.Size)
	case a.Version.Size != 0 && !a.Mode.IsRegular():
		return nil, fmt.Errorf("%w: a size of a file that is not regular", fileservice.ErrIntegrity)
	case a.TimeStep < 0 || a.TimeStep > fileservice.MaxTimeStep:
		return nil, fmt.Errorf("%w: times in steps of %v", fileservice.ErrIntegrity, a.TimeStep)
	case a.LinkLength > fileservice.MaxPath || a.LinkLength != 0 && a.Mode.Type() != fs.ModeSymlink:
		return nil, fmt.Errorf("%w: a target of %d bytes", fileservice.ErrIntegrity, a.LinkLength)
	}
	return fileservice.NewInfo(a), nil
}
