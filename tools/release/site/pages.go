package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// site is the directory of pages that is being written. Files keep the places that they have in the repository, so
// links between them stay as they are.
type site struct {
	source fs.FS
	dir    string
	has    map[string]bool // the pages
}

func (s *site) write(name string, text []byte) error {
	file := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

var (
	fence = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	cells = regexp.MustCompile(`(?m)^\|.*\|$`)
	span  = regexp.MustCompile("`[^`]+`")
	link  = regexp.MustCompile(`(!?)\[([^\]]*)\]\(([^)\s]+)\)`)
)

// first is the page with which the site begins.
const first = "README.md"

// copyPage copies a page of the repository, with what it shows. A link to source code becomes plain text.
func (s *site) copyPage(name string) error {
	data, err := fs.ReadFile(s.source, name)
	if err != nil {
		return err
	}
	text, failure := string(data), error(nil)
	var out strings.Builder
	if name == first {
		out.WriteString("---\nhide: [navigation, toc]\n---\n\n") // it has a list of its own, and a wide drawing
	}
	at := 0
	for _, code := range append(fence.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		prose := cells.ReplaceAllStringFunc(text[at:code[0]], plainPipes)
		out.WriteString(link.ReplaceAllStringFunc(prose, func(whole string) string {
			parts := link.FindStringSubmatch(whole)
			kept, err := s.keeps(name, parts[3])
			if err != nil {
				failure = err
			}
			if kept {
				return whole
			}
			return parts[2]
		}))
		out.WriteString(text[code[0]:code[1]])
		at = code[1]
	}
	if failure != nil {
		return failure
	}
	return s.write(name, []byte(out.String()))
}

// plainPipes removes the backslashes before pipes in the code of a table's line. GitHub needs them, MkDocs shows them.
func plainPipes(line string) string {
	return span.ReplaceAllStringFunc(line, func(code string) string { return strings.ReplaceAll(code, `\|`, "|") })
}

// keeps reports whether the target of a link is on the site, and takes along a file that is not a page.
func (s *site) keeps(page, target string) (bool, error) {
	file, _, _ := strings.Cut(target, "#")
	if strings.Contains(target, "://") || file == "" {
		return true, nil
	}
	file = path.Join(path.Dir(page), file)
	switch path.Ext(file) {
	case ".md":
		return s.has[file], nil
	case ".svg", ".png", ".json":
		data, err := fs.ReadFile(s.source, file)
		if err != nil {
			return false, err
		}
		return true, s.write(file, data)
	}
	return false, nil
}
