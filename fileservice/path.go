package fileservice

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// The longest path and the longest element of one, in bytes, as Linux has them.
const (
	MaxPath    = 4096
	MaxElement = 255
)

// CheckPath refuses what no peer may name. It is the same on both ends: a server does not open such a path, and a
// client does not believe in one. The result is the path in the form of this system.
func CheckPath(name string) (string, error) {
	switch {
	case len(name) > MaxPath:
		return "", fmt.Errorf("%w: a path of more than %d bytes: %w", fs.ErrInvalid, MaxPath, syscall.ENAMETOOLONG)
	case !fs.ValidPath(name):
		return "", fmt.Errorf("%w: not a path within the tree", fs.ErrInvalid)
	case strings.ContainsFunc(name, isUnfit):
		return "", fmt.Errorf("%w: a path with control characters", fs.ErrInvalid)
	}
	for element := range strings.SplitSeq(name, "/") {
		if len(element) > MaxElement {
			err := syscall.ENAMETOOLONG
			return "", fmt.Errorf("%w: a name of more than %d bytes: %w", fs.ErrInvalid, MaxElement, err)
		}
	}
	local, err := filepath.Localize(name)
	if err != nil {
		return "", fmt.Errorf("%w: a path this system cannot have", fs.ErrInvalid)
	}
	return local, nil
}

// IsName reports whether an entry of a directory can be part of a path.
func IsName(name string) bool {
	_, err := CheckPath(name)
	return err == nil && name != "." && !strings.Contains(name, "/")
}

// IsTarget reports whether something may be shown as the target of a link. It may lead anywhere: nothing here follows
// it.
func IsTarget(target string) bool {
	return target != "" && len(target) <= MaxPath && utf8.ValidString(target) && !strings.ContainsFunc(target, isUnfit)
}

// isUnfit finds what steers a terminal, or makes a name read as another.
func isUnfit(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}
