package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// figures are the part of a page that this program writes, and what is requested.
var figures = regexp.MustCompile(`(?s)(<!-- figures: ([^\n]*) -->\n).*?(<!-- end of figures -->)`)

// writePage replaces the figures of a page, and draws its pictures.
func writePage(name, results string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var errs []error
	page := figures.ReplaceAllStringFunc(string(text), func(block string) string {
		parts := figures.FindStringSubmatch(block)
		written, err := figuresOf(parts[2], results, filepath.Dir(name))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: figures %q: %w", name, parts[2], err))
		}
		return parts[1] + "\n" + written + "\n" + parts[3]
	})
	if !figures.Match(text) {
		errs = append(errs, fmt.Errorf("%s has no lines %q", name, figures))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(page), 0o644)
}

// figuresOf draws the picture of a topic below a directory, and returns its link and the table in Markdown.
func figuresOf(request, results, below string) (string, error) {
	words := strings.Fields(request)
	if len(words) < 2 {
		return "", fmt.Errorf("there must be a topic and a directory of %s", results)
	}
	dirs := words[1:]
	for i, dir := range dirs {
		dirs[i] = filepath.Join(results, dir)
	}
	if words[0] == "codec" {
		c, err := readCodec(dirs[0])
		if err != nil {
			return "", err
		}
		return save(below, words[0], codecTitle, c.svg(), c.table())
	}
	i := slices.IndexFunc(topics, func(t topic) bool { return t.name == words[0] })
	if i < 0 {
		return "", fmt.Errorf("there is no topic %q", words[0])
	}
	t := topics[i]
	table, err := t.table(dirs)
	if err != nil {
		return "", err
	}
	p, err := t.picture(dirs[0])
	if err != nil {
		return "", err
	}
	return save(below, t.name, p.title, p.svg(), table)
}

// save writes a picture below a directory, and returns its link and the table.
func save(below, name, title string, picture []byte, table string) (string, error) {
	if err := os.MkdirAll(filepath.Join(below, "pictures"), 0o755); err != nil {
		return "", err
	}
	file := filepath.Join("pictures", name+".svg")
	if err := os.WriteFile(filepath.Join(below, file), picture, 0o644); err != nil {
		return "", err
	}
	return fmt.Sprintf("![%s](%s)\n\n%s", title, filepath.ToSlash(file), table), nil
}
