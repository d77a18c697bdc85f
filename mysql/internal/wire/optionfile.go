package wire

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// optionFileLimit is the largest size of an option file, in bytes.
const optionFileLimit = 1 << 20

// option is a line of an option file.
type option struct{ name, value string }

// readOptions reads an option file. It refuses one that everyone may write to, since it could redirect the password.
func readOptions(path string) (text string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("mysql: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("mysql: %w", err)
	}
	const othersWrite = 0o002
	if runtime.GOOS != "windows" && info.Mode()&othersWrite != 0 {
		return "", fmt.Errorf("mysql: everyone may write to the option file %s; try: chmod o-w %[1]s", path)
	}
	content, err := io.ReadAll(io.LimitReader(file, optionFileLimit+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("mysql: %w", err)
	case len(content) > optionFileLimit:
		return "", fmt.Errorf("mysql: the option file %s is larger than %d bytes", path, optionFileLimit)
	}
	return string(content), nil
}

// optionGroup is the group that all client programs of MySQL read.
const optionGroup = "client"

// parseOptions returns the options of the group, in order. The format is described in the MySQL manual, "Using Option
// Files". Include directives and malformed lines are ignored. In names, an underscore is the same as a hyphen.
func parseOptions(text string) []option {
	var found []option
	current := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "", strings.ContainsRune("#;!", rune(line[0])):
			continue
		case line[0] == '[':
			current, _, _ = strings.Cut(line[1:], "]")
			continue
		case current != optionGroup:
			continue
		}
		name, value, _ := strings.Cut(withoutComment(line), "=")
		name = strings.ReplaceAll(strings.TrimSpace(name), "_", "-")
		found = append(found, option{name, optionValue(strings.TrimSpace(value))})
	}
	return found
}

// withoutComment cuts a line at the first # outside quotes.
func withoutComment(line string) string {
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && quote != 0:
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '#':
			return line[:i]
		}
	}
	return line
}

var optionEscapes = map[byte]byte{
	'b': '\b', 't': '\t', 'n': '\n', 'r': '\r', 's': ' ', '\\': '\\', '\'': '\'', '"': '"',
}

// optionValue removes the quotes of a value and resolves its escapes. Before any other character, a backslash stands
// for itself.
func optionValue(value string) string {
	if n := len(value); n >= 2 && (value[0] == '\'' || value[0] == '"') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) {
			if c, ok := optionEscapes[value[i+1]]; ok {
				b.WriteByte(c)
				i++
				continue
			}
		}
		b.WriteByte(value[i])
	}
	return b.String()
}
