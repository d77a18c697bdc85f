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

// Limits of paths and their elements, in bytes, as on Linux.
const (
	MaxPath    = 4096
	MaxElement = 255
)

// CheckPath fails if name is not a valid path within the tree. A server opens no such path, and a client accepts none.
// The result is the path in the form of this system.
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

// IsName reports whether name is a valid element of a path.
func IsName(name string) bool {
	_, err := CheckPath(name)
	return err == nil && name != "." && !strings.Contains(name, "/")
}

// IsTarget reports whether target can be shown as the target of a link. It may lead anywhere, because it is not
// followed.
func IsTarget(target string) bool {
	return target != "" && len(target) <= MaxPath && utf8.ValidString(target) && !strings.ContainsFunc(target, isUnfit)
}

// isUnfit reports whether r controls a terminal or makes a name look like another.
func isUnfit(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}
