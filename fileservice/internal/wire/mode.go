package wire

import "io/fs"

// The bits of st_mode, as POSIX systems number them (sys/stat.h).
const (
	typeMask    = 0o170000
	typeSocket  = 0o140000
	typeLink    = 0o120000
	typeRegular = 0o100000
	typeBlock   = 0o060000
	typeDir     = 0o040000
	typeChar    = 0o020000
	typePipe    = 0o010000
	setuidBit   = 0o4000
	setgidBit   = 0o2000
	stickyBit   = 0o1000
)

var fileTypes = []struct {
	posix uint32
	mode  fs.FileMode
}{
	{typeRegular, 0},
	{typeDir, fs.ModeDir},
	{typeLink, fs.ModeSymlink},
	{typePipe, fs.ModeNamedPipe},
	{typeSocket, fs.ModeSocket},
	{typeChar, fs.ModeDevice | fs.ModeCharDevice},
	{typeBlock, fs.ModeDevice},
}

var modeBits = []struct {
	posix uint32
	mode  fs.FileMode
}{
	{setuidBit, fs.ModeSetuid},
	{setgidBit, fs.ModeSetgid},
	{stickyBit, fs.ModeSticky},
}

// PosixMode returns a mode as the bits of st_mode. A type that POSIX does not have is 0.
func PosixMode(mode fs.FileMode) uint32 {
	posix := uint32(mode.Perm())
	for _, t := range fileTypes {
		if mode.Type() == t.mode {
			posix |= t.posix
		}
	}
	for _, b := range modeBits {
		if mode&b.mode != 0 {
			posix |= b.posix
		}
	}
	return posix
}

// fileMode is the inverse of PosixMode.
func fileMode(posix uint32) fs.FileMode {
	mode := fs.ModeIrregular
	for _, t := range fileTypes {
		if posix&typeMask == t.posix {
			mode = t.mode
		}
	}
	for _, b := range modeBits {
		if posix&b.posix != 0 {
			mode |= b.mode
		}
	}
	return mode | fs.FileMode(posix)&fs.ModePerm
}
