package wire

import "io/fs"

type modeBits struct {
	posix uint32
	mode  fs.FileMode
}

// The types and special bits of st_mode, as POSIX systems number them (sys/stat.h).
var (
	fileTypes = []modeBits{
		{0o100000, 0},
		{0o040000, fs.ModeDir},
		{0o120000, fs.ModeSymlink},
		{0o010000, fs.ModeNamedPipe},
		{0o140000, fs.ModeSocket},
		{0o020000, fs.ModeDevice | fs.ModeCharDevice},
		{0o060000, fs.ModeDevice},
	}
	specialBits = []modeBits{{0o4000, fs.ModeSetuid}, {0o2000, fs.ModeSetgid}, {0o1000, fs.ModeSticky}}
)

const typeMask = 0o170000

// PosixMode returns mode as the bits of st_mode. A type that POSIX does not define is 0.
func PosixMode(mode fs.FileMode) uint32 {
	posix := uint32(mode.Perm())
	for _, t := range fileTypes {
		if mode.Type() == t.mode {
			posix |= t.posix
		}
	}
	for _, b := range specialBits {
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
	for _, b := range specialBits {
		if posix&b.posix != 0 {
			mode |= b.mode
		}
	}
	return mode | fs.FileMode(posix)&fs.ModePerm
}
