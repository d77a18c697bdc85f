package ui

import (
	"cmp"
	"io"
	"os"
	"strings"
)

// symbols are the characters beyond ASCII in texts of this program.
var symbols = strings.NewReplacer("…", "...", "→", "->", "×", "x", "–", "-", "█", "#", "░", ".", "\uFFFD", "?")

// Symbols returns a text for people with the symbols of this program in ASCII, if the environment names a locale that
// is not in UTF-8, such as C. Names and values from elsewhere stay as they are, except for the same symbols.
func Symbols(text string) string {
	if inASCII() {
		return symbols.Replace(text)
	}
	return text
}

// inASCII reports whether a locale is named, by the variables and in the order of POSIX, that is not in UTF-8. Without
// one, as in most containers, UTF-8 is what terminals understand.
func inASCII() bool {
	locale := strings.ToLower(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return locale != "" && !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
}

// SymbolWriter writes what [Symbols] returns. No character may be cut in two.
type SymbolWriter struct{ io.Writer }

func (w SymbolWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, Symbols(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
