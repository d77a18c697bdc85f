package wire

import (
	"io/fs"
	"os"
	"testing"
)

// TestModes compares with what a POSIX system calls these modes.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		mode  fs.FileMode
		posix uint32
	}{
		{0o644, 0o100644},
		{fs.ModeDir | 0o755, 0o040755},
		{fs.ModeDir | fs.ModeSticky | 0o777, 0o041777},
		{fs.ModeSymlink | 0o777, 0o120777},
		{fs.ModeNamedPipe | 0o600, 0o010600},
		{fs.ModeSocket | 0o700, 0o140700},
		{fs.ModeDevice | 0o660, 0o060660},
		{fs.ModeDevice | fs.ModeCharDevice | 0o620, 0o020620},
		{fs.ModeSetuid | 0o755, 0o104755},
		{fs.ModeSetgid | 0o755, 0o102755},
		{fs.ModeIrregular | 0o600, 0o600},
	} {
		if posix := PosixMode(c.mode); posix != c.posix {
			t.Errorf("%v is %o, want %o", c.mode, posix, c.posix)
		}
		if mode := fileMode(c.posix); mode != c.mode {
			t.Errorf("%o is %v, want %v", c.posix, mode, c.mode)
		}
	}
	if info, err := os.Stat(os.DevNull); err != nil || fileMode(PosixMode(info.Mode())) != info.Mode() {
		t.Errorf("%v becomes %v, %v", info.Mode(), fileMode(PosixMode(info.Mode())), err)
	}
	for _, posix := range []uint32{0, 1 << 31, 0o170000, ^uint32(0)} {
		if mode := fileMode(posix); mode.IsRegular() || mode.IsDir() {
			t.Errorf("%o is %v", posix, mode)
		}
	}
}
