// Command site writes the pages of the documentation as MkDocs reads them, with a reference made of what culvert help
// prints. ./dev docs runs it, and then MkDocs, which makes pages for browsers of them.
//
//	site SOURCE PROGRAM DIRECTORY
//
// takes the pages of the repository in SOURCE and the help of PROGRAM. In DIRECTORY it writes mkdocs.yml and pages.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"culvert/tools/release/helptext"
)

// settings are those of MkDocs, except for the list of pages.
//
//go:embed mkdocs.yml
var settings string

//go:embed site.css
var style []byte

// group is a part of the list of pages, which names files of the repository.
type group struct {
	title string
	pages []string
}

// groups are all pages that people read, in the order in which they meet them.
var groups = []group{
	{"Start", []string{first}},
	{"How to", []string{
		"docs/exporting.md", "docs/loading.md", "docs/whole-databases.md", "docs/jobs.md", "docs/masking.md",
		"docs/files.md", "docs/many-machines.md", "docs/packages.md",
	}},
	{"What it costs", []string{"docs/performance.md", "docs/memory.md", "docs/faults.md"}},
	{"Project", []string{
		"SECURITY.md", "docs/compatibility.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "bench/README.md",
		"wal/SPEC.md", "secureconn/SPEC.md",
	}},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: site SOURCE PROGRAM DIRECTORY")
	}
	source, program, dir := args[0], args[1], args[2]
	help, err := helptext.Read(program)
	if err != nil {
		return err
	}
	s := &site{source: os.DirFS(source), dir: filepath.Join(dir, "pages"), has: map[string]bool{}}
	list := &strings.Builder{}
	list.WriteString("\nnav:\n")
	for _, g := range groups {
		for _, page := range g.pages {
			s.has[page] = true
		}
	}
	for i, g := range groups {
		if i == len(groups)-1 {
			listReference(list, help)
		}
		fmt.Fprintf(list, "  - %s:\n", g.title)
		for _, page := range g.pages {
			fmt.Fprintf(list, "      - %s\n", page)
			if err := s.copyPage(page); err != nil {
				return err
			}
		}
	}
	for _, page := range help {
		if err := s.write(referenceFile(page), []byte(reference(page, help))); err != nil {
			return err
		}
	}
	if err := s.write("site.css", style); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "mkdocs.yml"), []byte(settings+list.String()), 0o644)
}

// listReference lists the pages of help: the commands, then the topics.
func listReference(list *strings.Builder, help []helptext.Page) {
	for _, isTopic := range []bool{false, true} {
		title := "Commands"
		if isTopic {
			title = "Topics"
		}
		fmt.Fprintf(list, "  - %s:\n", title)
		for _, page := range help {
			if page.IsTopic == isTopic {
				fmt.Fprintf(list, "      - %q: %s\n", label(page), referenceFile(page))
			}
		}
	}
}

// label is the name of a page of help in the list.
func label(p helptext.Page) string {
	if len(p.Path) == 0 {
		return "culvert"
	}
	return strings.Join(p.Path, " ")
}

// referenceFile is the file of a page of help.
func referenceFile(p helptext.Page) string {
	if p.IsTopic {
		return path.Join("help", p.Path[0]+".md")
	}
	return path.Join("commands", p.Name()+".md")
}
