package fileservice

import (
	"fmt"
	"io/fs"
	"path"
	"time"

	"culvert/fileservice/internal/fileservicepb"
)

func versionMessage(v Version) *fileservicepb.Version {
	return &fileservicepb.Version{Size: v.Size, ModifiedUnixNano: v.ModifiedUnixNano, Tag: v.Tag}
}

func versionOfMessage(m *fileservicepb.Version) Version {
	return Version{Size: m.GetSize(), ModifiedUnixNano: m.GetModifiedUnixNano(), Tag: m.GetTag()}
}

// entryOf describes a file of this machine, of which info has just been made by package os.
func entryOf(name string, info fs.FileInfo) *fileservicepb.Entry {
	a := attributesOf(name, info)
	return &fileservicepb.Entry{
		Name: a.Name, Mode: uint32(a.Mode), Version: versionMessage(a.Version), Inode: a.Inode,
		TimeStep: int64(a.TimeStep), LinkLength: uint32(a.LinkLength),
	}
}

// infoOfMessage believes nothing that would harm who uses it. An entry of a directory has no path yet; otherwise the
// name is that of the path.
func infoOfMessage(m *fileservicepb.Entry, name string) (*Info, error) {
	a := Attributes{
		Name: m.GetName(), Mode: fs.FileMode(m.GetMode()), Version: versionOfMessage(m.GetVersion()),
		Inode: m.GetInode(), LinkLength: int64(m.GetLinkLength()), TimeStep: time.Duration(m.GetTimeStep()),
	}
	switch {
	case name == "" && !isNamable(a.Name):
		return nil, fmt.Errorf("%w: the name %q", ErrIntegrity, printable(a.Name))
	case name != "" && a.Name != path.Base(name):
		return nil, fmt.Errorf("%w: another name than was asked for", ErrIntegrity)
	case a.Version.Size < 0 || a.Version.Size > maxFileSize:
		return nil, fmt.Errorf("%w: a size of %d bytes", ErrIntegrity, a.Version.Size)
	case a.Version.Size != 0 && !a.Mode.IsRegular():
		return nil, fmt.Errorf("%w: a size of what is not a regular file", ErrIntegrity)
	case a.TimeStep < 0 || a.TimeStep > maxTimeStep:
		return nil, fmt.Errorf("%w: times in steps of %v", ErrIntegrity, a.TimeStep)
	case a.LinkLength > maxPath || a.LinkLength != 0 && a.Mode.Type() != fs.ModeSymlink:
		return nil, fmt.Errorf("%w: a target of %d bytes", ErrIntegrity, a.LinkLength)
	}
	return newInfo(a), nil
}
