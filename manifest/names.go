package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"culvert/internal/lazyregexp"
)

// The name of the manifest: the first if the files are encrypted, as the manifest then is too, and otherwise the
// second.
const (
	EncryptedName = "manifest.json.age"
	Name          = "manifest.json"
)

// JournalDirectory has the journal of an export by several workers until the manifest is written.
const JournalDirectory = ".culvert"

// segment also matches what a killed process has left of a file in a directory (see place/dir).
var segment = lazyregexp.New(`^[0-9a-f]{16}-[0-9]{4,9}-[0-9]{6,9}(\.[a-z2-7]{8}\.part)?$`)

// JournalFiles returns the names of the files of journals that a place has.
func JournalFiles(from fs.FS) (names []string, err error) {
	entries, err := fs.ReadDir(from, JournalDirectory)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, entry := range entries {
		if segment.MatchString(entry.Name()) {
			names = append(names, path.Join(JournalDirectory, entry.Name()))
		}
	}
	return names, err
}

// FileNames returns a file name for each table, in the same order, with the extension. Characters that a file system
// might refuse or interpret become underscores, and double quotes are dropped. The names differ even if letter case
// does not count; numbers are added where necessary.
func FileNames(tables []string, extension string) []string {
	names := make([]string, len(tables))
	taken := map[string]bool{}
	last := map[string]int{} // the last number used for a base name, so that not all are tried again
	for _, name := range []string{EncryptedName, Name} {
		taken[name] = true
	}
	for i, table := range tables {
		base := fileName(table)
		name := base + extension
		n := max(1, last[caseless(base)])
		for taken[caseless(name)] || IsSchemaName(name) {
			n++
			name = base + "-" + strconv.Itoa(n) + extension
		}
		last[caseless(base)] = n
		taken[caseless(name)] = true
		names[i] = name
	}
	return names
}

// PartFile returns the name of the file of a part: orders/000001.csv.zst.age, or orders/000001-2.csv.zst.age for its
// second attempt. Parts and attempts count from 1. [FileNames] without an extension returns the names of directories.
func PartFile(directory string, number, attempt int, extension string) string {
	if attempt > 1 {
		return fmt.Sprintf("%s/%06d-%d%s", directory, number, attempt, extension)
	}
	return fmt.Sprintf("%s/%06d%s", directory, number, extension)
}

// caseless returns the same text for names that a file system may take for the same, whether it compares them in upper
// or in lower case.
func caseless(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// device matches names of devices of Windows, which any extension may follow ("Naming Files, Paths, and Namespaces" in
// the documentation of Win32).
var device = lazyregexp.New(`(?i)^(CON|CONIN\$|CONOUT\$|PRN|AUX|NUL|COM[0-9¹²³]|LPT[0-9¹²³]) *$`)

func fileName(table string) string {
	const longest = 150
	name := strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return -1
		case unicode.IsControl(r), r == unicode.ReplacementChar, strings.ContainsRune(`/\:*?<>|`, r):
			return '_'
		}
		return r
	}, table)
	if name == "" || strings.ContainsRune(".-~ ", rune(name[0])) {
		name = "_" + strings.TrimLeft(name, ".-~ ")
	}
	if stem, _, _ := strings.Cut(name, "."); device.MatchString(stem) {
		name = "_" + name
	}
	return strings.ToValidUTF8(name[:min(len(name), longest)], "")
}

// isFileName reports whether a name is valid for a file on every system and cannot lead out of its directory.
func isFileName(name string) bool {
	const longest = 255 // bytes, on the file systems in use
	return name != "" && name != "." && name != ".." && len(name) <= longest && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune(`/\:`, r) })
}
