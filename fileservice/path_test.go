package fileservice

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPaths(t *testing.T) {
	for _, name := range []string{
		".", "a", "a/b", "..a/b..", "two words", "ü/日本", "a\u202fm", "\ufffd", strings.Repeat("x", 255),
	} {
		if _, err := CheckPath(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{
		"", "/", "/a", "a/", "..", "../a", "a/../b", "a/..", "./a", "a//b", "a/./b", "a\x00", "a\nb", "\x1b[31m",
		"\u0085", "\u009b", "a\u202e", "\u2066", "\x7f", "\xff", "a/\xc0\xaf",
		strings.Repeat("x", 256), strings.Repeat("x/", 2048) + "xx",
	} {
		if _, err := CheckPath(name); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	for _, name := range []string{strings.Repeat("x", 256), strings.Repeat("x/", 2048) + "xx"} {
		if _, err := CheckPath(name); !errors.Is(err, syscall.ENAMETOOLONG) || !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%d bytes: %v", len(name), err)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, name := range []string{".", "a/b", "../a", "a\x00b", "/x", "con", "a\\b", "c:x", "\u202e"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		local, err := CheckPath(name)
		if err != nil {
			return
		}
		if !filepath.IsLocal(local) || !fs.ValidPath(name) || !utf8.ValidString(name) || len(name) > MaxPath ||
			strings.ContainsFunc(name, unicode.IsControl) {
			t.Errorf("%q was taken as %q", name, local)
		}
	})
}
