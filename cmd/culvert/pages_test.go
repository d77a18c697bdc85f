package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// block is what a page of the documentation has between two fences.
type block struct {
	language string
	text     string
}

// section is what a page has below a heading, without further headings.
type section struct {
	title  string
	blocks []block
}

var heading = regexp.MustCompile(`^##+ (.*)$`)

// sectionsOf returns the sections of a page, whose name is relative to the root of the repository.
func sectionsOf(page string) ([]section, error) {
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(page)))
	if err != nil {
		return nil, err
	}
	sections := []section{{}}
	var open *block
	for line := range strings.Lines(string(text)) {
		last := &sections[len(sections)-1]
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch title := heading.FindStringSubmatch(strings.TrimSpace(line)); {
		case isFence && open == nil:
			open = &block{language: fence}
		case isFence:
			last.blocks = append(last.blocks, *open)
			open = nil
		case open != nil:
			open.text += line
		case title != nil:
			sections = append(sections, section{title: title[1]})
		}
	}
	return sections, nil
}

var prompt = regexp.MustCompile(`^[a-z]*\$ `)

// commands returns the commands of a block of shell or of a console, with their comments.
func (b block) commands() []string {
	switch b.language {
	case "", "console":
	default:
		return nil
	}
	var commands []string
	continues := false
	for line := range strings.Lines(b.text) {
		begin := prompt.FindString(line)
		switch {
		case continues:
			commands[len(commands)-1] += line
		case begin != "" || b.language == "":
			commands = append(commands, strings.TrimPrefix(line, begin))
		default:
			continue // what a command has printed
		}
		continues = strings.HasSuffix(line, "\\\n")
	}
	return commands
}

func (s section) commands() (commands []string) {
	for _, b := range s.blocks {
		commands = append(commands, b.commands()...)
	}
	return commands
}

// page makes scripts of sh of the commands in a section of a page of the documentation, letter for letter except for
// what is replaced: DIR/1, DIR/2 and so on of each, and DIR/block1 and so on of each block of plain commands. Other
// blocks, such as units of systemd, become files of such a name as they are.
//
//	page DIR PAGE TITLE [OLD NEW]...
func page(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args)%2 == 0 {
		ts.Fatalf("usage: page DIR PAGE TITLE [OLD NEW]...")
	}
	dir, name, title := ts.MkAbs(args[0]), args[1], args[2]
	sections, err := sectionsOf(name)
	ts.Check(err)
	ts.Check(os.Mkdir(dir, 0o700))
	write := func(file, text string) {
		text = strings.NewReplacer(args[3:]...).Replace(text)
		ts.Check(os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	all := ""
	for _, s := range sections {
		if s.title != title {
			continue
		}
		for i, b := range s.blocks {
			text := b.text
			if b.language == "" {
				text = "set -ex\n" + text
			}
			write(fmt.Sprint("block", i+1), text)
			all += text
		}
		for i, command := range s.commands() {
			write(strconv.Itoa(i+1), started(command))
		}
	}
	if all == "" {
		ts.Fatalf("%s has no commands in a section %q", name, title)
	}
	for i := 3; i < len(args); i += 2 {
		if !strings.Contains(all, args[i]) {
			ts.Fatalf("the section %q of %s has no %s", title, name, args[i])
		}
	}
}

// started lets a command that runs until it is ended take the place of sh, so that signals reach it. A mount reports
// itself on its standard error.
func started(command string) string {
	for verb, before := range map[string]string{
		"serve ": "exec ", "mount ": "exec 2>&1\nexec ", "worker ": "exec ", "snapshot hold ": "exec ",
	} {
		if strings.HasPrefix(command, "culvert "+verb) {
			return before + command
		}
	}
	return command
}

// elsewhere are sections whose commands are tried by other tests.
var elsewhere = map[string]string{"README.md: Install": "tools/release installs the packages"}

// TestPagesAreRun finds a script for each section of the documentation that has commands.
func TestPagesAreRun(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	run := map[string]bool{}
	ofScript := regexp.MustCompile(`(?m)^page \S+ (\S+) (?:'([^']+)'|(\S+))`)
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range ofScript.FindAllStringSubmatch(string(text), -1) {
			run[match[1]+": "+match[2]+match[3]] = true
		}
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range append(pages, "../../README.md") {
		name = strings.TrimPrefix(filepath.ToSlash(name), "../../")
		sections, err := sectionsOf(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sections {
			if len(s.commands()) == 0 {
				continue
			}
			found++
			if where := name + ": " + s.title; !run[where] && elsewhere[where] == "" {
				t.Errorf("no script of testdata has a line that runs %s, %q: page DIR PAGE TITLE", name, s.title)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d sections with commands were found", found)
	}
}
