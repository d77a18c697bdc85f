// Package helptext reads what culvert help prints. The man pages and the reference of the site are made of that, and of
// nothing else, so they and the program cannot differ.
//
// These are the words of a help text: prose begins in the first column and is filled; what is indented is a table or an
// example, and stays as it is; a line that ends in a colon above such lines begins a section; a block of one short line
// is a heading, unless a table follows.
package helptext

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// Page is the help of a command or on a topic.
type Page struct {
	Path    []string // of the command, without culvert: wal, copy; or the topic
	IsTopic bool
	Short   string // in a line
	Text    string
}

// Name is the page as the name of a file or of a man page has it, such as culvert-wal-copy.
func (p Page) Name() string { return strings.Join(append([]string{"culvert"}, p.Path...), "-") }

// Read asks a program for its help: first that of culvert itself, then that of each command, below it that of its own
// commands, then all topics.
func Read(program string) ([]Page, error) {
	r := &reader{program: program}
	root, err := r.help()
	if err != nil {
		return nil, err
	}
	does, _, _ := strings.Cut(strings.TrimPrefix(root, "Culvert "), ",")
	return r.pages, r.command(nil, does)
}

type reader struct {
	program string
	pages   []Page
}

func (r *reader) help(path ...string) (string, error) {
	text, err := exec.Command(r.program, append([]string{"help"}, path...)...).Output()
	if err != nil {
		return "", fmt.Errorf("culvert help %s: %w", strings.Join(path, " "), err)
	}
	return string(text), nil
}

// command adds the page of a command, and those of what its help lists.
func (r *reader) command(path []string, short string) error {
	text, err := r.help(path...)
	if err != nil {
		return err
	}
	r.pages = append(r.pages, Page{Path: path, Short: short, Text: text})
	for _, s := range Sections(text) {
		for _, e := range s.entries() {
			switch s.Title {
			case "Commands":
				err = r.command(slices.Concat(path, []string{e.name}), e.text)
			case "Topics of culvert help":
				if text, err = r.help(e.name); err == nil {
					_, text, _ = strings.Cut(text, "\n") // which is the title
					r.pages = append(r.pages, Page{Path: []string{e.name}, IsTopic: true, Short: e.text, Text: text})
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Section is a section of a help text. Without a title, it is prose with tables.
type Section struct{ Title, Text string }

var (
	begin   = regexp.MustCompile(`^([A-Z][A-Za-z ]*):$`)
	heading = regexp.MustCompile(`^[A-Z][\w ,-]{1,50}\w$`)
	flag    = regexp.MustCompile(`^ +((?:-\w, )?--[\w-]+.*?) {3,}(.*)$`)
)

// Block is a paragraph of prose, with tables, or a heading.
type Block struct {
	Text      string
	IsHeading bool
}

// Blocks returns the blocks of prose.
func Blocks(text string) (all []Block) {
	texts := strings.Split(strings.Trim(text, "\n"), "\n\n")
	for i, block := range texts {
		leadsToTable := i+1 < len(texts) && strings.HasPrefix(texts[i+1], " ")
		all = append(all, Block{Text: block, IsHeading: heading.MatchString(block) && !leadsToTable})
	}
	return all
}

// Sections cuts a help text where sections begin and end.
func Sections(text string) (all []Section) {
	titled := false
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		first, rest, _ := strings.Cut(block, "\n")
		m := begin.FindStringSubmatch(first)
		indented := strings.HasPrefix(strings.TrimLeft(block, "\n"), " ")
		switch {
		case m != nil && strings.HasPrefix(rest, " "):
			all, titled = append(all, Section{m[1], strings.ReplaceAll("\n"+rest, "\n  ", "\n ")}), true
		case titled && indented || !titled && len(all) > 0:
			all[len(all)-1].Text += "\n\n" + block
		default:
			all, titled = append(all, Section{Text: block}), false
		}
	}
	return all
}

// entry is a line of a list: a name, and what it is.
type entry struct{ name, text string }

func (s Section) entries() (all []entry) {
	for line := range strings.Lines(s.Text) {
		if fields := strings.SplitN(strings.TrimSpace(line), " ", 2); len(fields) == 2 {
			all = append(all, entry{fields[0], strings.TrimSpace(fields[1])})
		}
	}
	return all
}

// Flag is a flag with its argument, such as -j, --jobs N, and the lines that say what it does.
type Flag struct {
	Names string
	Does  []string
}

// Flags returns the flags that a section lists. It has none if it is no list of flags.
func (s Section) Flags() (all []Flag) {
	for line := range strings.Lines(strings.TrimLeft(s.Text, "\n")) {
		if m := flag.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			all = append(all, Flag{Names: m[1], Does: []string{m[2]}})
		} else if len(all) > 0 {
			last := &all[len(all)-1]
			last.Does = append(last.Does, strings.TrimSpace(line))
		}
	}
	return all
}
