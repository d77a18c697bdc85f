package wire_test

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"culvert/fileservice"
	"culvert/fileservice/internal/wire"
)

// TestErrors sends errors to the other end. Their kind and errno arrive, and their text cannot control a terminal.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ sent, want error }{
		{&fs.PathError{Op: "open", Path: "/home/secret", Err: syscall.ENOENT}, fs.ErrNotExist},
		{syscall.ENOSPC, fileservice.ErrRefused},
		{syscall.ENOSPC, syscall.ENOSPC},
		{fileservice.ErrChanged, fileservice.ErrChanged},
		{errors.Join(fileservice.ErrIntegrity, errors.New("\x1b[2J\xff")), fileservice.ErrIntegrity},
	} {
		got, err := wire.UnmarshalError(wire.MarshalError(c.sent))
		if err != nil || !errors.Is(got, c.want) {
			t.Errorf("%v arrives as %v, %v", c.sent, got, err)
			continue
		}
		text := got.Error()
		if strings.Contains(text, "\x1b") || strings.Contains(text, "secret") || !utf8.ValidString(text) {
			t.Errorf("%v arrives as %q", c.sent, got)
		}
	}
	for _, malformed := range [][]byte{nil, {0xff}, {0x08, 0x00}} {
		if got, err := wire.UnmarshalError(malformed); err == nil {
			t.Errorf("%x is %v", malformed, got)
		}
	}
}
