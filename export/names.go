package export

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FileNames makes the names of output files of the names of tables, in the same order, each with the extension at its
// end. What a file system might refuse, or take for something else, becomes an underscore; quotes around a name are
// dropped. No two of the names are the same, also where letter case does not count; a number tells them apart then.
func FileNames(tables []string, extension string) []string {
	names := make([]string, len(tables))
	taken := map[string]bool{}
	last := map[string]int{} // the number of the last name with a beginning, so that not all are tried for each
	for _, name := range manifestNames {
		taken[name] = true
	}
	for i, table := range tables {
		base := fileName(table)
		name := base + extension
		n := max(1, last[caseless(base)])
		for taken[caseless(name)] {
			n++
			name = base + "-" + strconv.Itoa(n) + extension
		}
		last[caseless(base)] = n
		taken[caseless(name)] = true
		names[i] = name
	}
	return names
}

// caseless is the same for names that a file system may take for the same, which compares by upper or by lower case.
func caseless(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// device matches what Windows takes for a device, whatever the extension ("Naming Files, Paths, and Namespaces" in the
// documentation of Win32).
var device = regexp.MustCompile(`(?i)^(CON|CONIN\$|CONOUT\$|PRN|AUX|NUL|COM[0-9¹²³]|LPT[0-9¹²³]) *$`)

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

// isFileName reports whether a name can be that of a file in a directory, on every system, and of no other place.
func isFileName(name string) bool {
	const longest = 255 // bytes, on the file systems in use
	return name != "" && name != "." && name != ".." && len(name) <= longest && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune(`/\:`, r) })
}
