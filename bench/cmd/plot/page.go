package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	beginFigures = "<!-- figures: "
	endFigures   = "<!-- end of figures -->"
)

// writePage replaces the figures of a page, and draws its pictures.
func writePage(name, results string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var page strings.Builder
	rest, blocks := string(text), 0
	for {
		before, after, ok := strings.Cut(rest, beginFigures)
		if !ok {
			break
		}
		request, after, ok := strings.Cut(after, " -->\n")
		if !ok || strings.Contains(request, "\n") {
			return fmt.Errorf("%s: a line that begins with %q does not end with %q", name, beginFigures, " -->")
		}
		_, after, ok = strings.Cut(after, endFigures)
		if !ok {
			return fmt.Errorf("%s: the figures %q have no %q", name, request, endFigures)
		}
		figures, err := figuresOf(request, results, filepath.Dir(name))
		if err != nil {
			return fmt.Errorf("%s: figures %q: %w", name, request, err)
		}
		page.WriteString(before + beginFigures + request + " -->\n\n" + figures + "\n" + endFigures)
		rest = after
		blocks++
	}
	if blocks == 0 {
		return fmt.Errorf("%s has no line that begins with %q", name, beginFigures)
	}
	return os.WriteFile(name, []byte(page.String()+rest), 0o644)
}

// figuresOf draws the picture of a topic below a directory, and returns its link and the table in Markdown.
func figuresOf(request, results, below string) (string, error) {
	words := strings.Fields(request)
	if len(words) < 2 {
		return "", fmt.Errorf("there must be a topic and a directory of %s", results)
	}
	i := slices.IndexFunc(topics, func(t topic) bool { return t.name == words[0] })
	if i < 0 {
		return "", fmt.Errorf("there is no topic %q", words[0])
	}
	t := topics[i]
	dirs := words[1:]
	for i, dir := range dirs {
		dirs[i] = filepath.Join(results, dir)
	}
	table, err := t.table(dirs)
	if err != nil {
		return "", err
	}
	p, err := t.picture(dirs[0])
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(below, "pictures"), 0o755); err != nil {
		return "", err
	}
	file := filepath.Join("pictures", t.name+".svg")
	if err := os.WriteFile(filepath.Join(below, file), p.svg(), 0o644); err != nil {
		return "", err
	}
	return fmt.Sprintf("![%s](%s)\n\n%s", p.title, filepath.ToSlash(file), table), nil
}
