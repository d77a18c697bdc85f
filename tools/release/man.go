package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A man page is made of what culvert help prints, and of nothing else, so the two cannot differ. These are its words:
// prose begins in the first column and is filled; what is indented is a table or an example, and stays as it is; a line
// that ends in a colon above such lines begins a section.

// manual asks a program for its help, and returns its man pages, compressed, by their names: culvert.1.gz,
// culvert-wal-copy.1.gz, and in section 7 the topics, such as culvert-formats.7.gz.
func manual(program, version string, date time.Time) (map[string][]byte, error) {
	m := &book{program: program, version: version, date: date, pages: map[string][]byte{}}
	root, err := m.help()
	if err != nil {
		return nil, err
	}
	does, _, _ := strings.Cut(strings.TrimPrefix(root, "Culvert "), ",")
	return m.pages, m.command(nil, does)
}

// book is a manual in the making.
type book struct {
	program, version string
	date             time.Time
	pages            map[string][]byte
}

func (m *book) help(path ...string) (string, error) {
	text, err := exec.Command(m.program, append([]string{"help"}, path...)...).Output()
	if err != nil {
		return "", fmt.Errorf("culvert help %s: %w", strings.Join(path, " "), err)
	}
	return string(text), nil
}

// command makes the page of a command, and those of what its help lists.
func (m *book) command(path []string, short string) error {
	text, err := m.help(path...)
	if err != nil {
		return err
	}
	if err := m.add(path, "1", short, text); err != nil {
		return err
	}
	for _, s := range sections(text) {
		for _, line := range s.entries() {
			below := slices.Concat(path, []string{line.name})
			switch s.title {
			case "Commands":
				err = m.command(below, line.text)
			case topics:
				if text, err = m.help(line.name); err == nil {
					_, text, _ = strings.Cut(text, "\n") // which is the title
					err = m.add(below, "7", line.text, text)
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// topics is the title of the section with the topics.
const topics = "Topics of culvert help"

func (m *book) add(path []string, section, short, help string) error {
	name := strings.Join(append([]string{"culvert"}, path...), "-")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed) // without a time, so that the same page is always the same bytes
	if _, err := w.Write(page(name, section, short, help, m.version, m.date)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	m.pages[name+"."+section+".gz"] = packed.Bytes()
	return nil
}

// part is a section of a help text. Without a title, it is prose with tables.
type part struct{ title, text string }

// entry is a line of a list: a name, and what it is.
type entry struct{ name, text string }

var (
	begin   = regexp.MustCompile(`^([A-Z][A-Za-z ]*):$`)
	heading = regexp.MustCompile(`^[A-Z][\w ,-]{1,50}\w$`)
	flag    = regexp.MustCompile(`(?m)^ +((?:-\w, )?--[\w-]+.*?) {3,}(.*)$`)
)

// sections cuts a help text where sections begin and end.
func sections(text string) (all []part) {
	titled := false
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		first, rest, _ := strings.Cut(block, "\n")
		m := begin.FindStringSubmatch(first)
		indented := strings.HasPrefix(strings.TrimLeft(block, "\n"), " ")
		switch {
		case m != nil && strings.HasPrefix(rest, " "):
			all, titled = append(all, part{m[1], strings.ReplaceAll("\n"+rest, "\n  ", "\n ")}), true
		case titled && indented || !titled && len(all) > 0:
			all[len(all)-1].text += "\n\n" + block
		default:
			all, titled = append(all, part{text: block}), false
		}
	}
	return all
}

// entries returns the lines of a list.
func (s part) entries() (all []entry) {
	for line := range strings.Lines(s.text) {
		if fields := strings.SplitN(strings.TrimSpace(line), " ", 2); len(fields) == 2 {
			all = append(all, entry{fields[0], strings.TrimSpace(fields[1])})
		}
	}
	return all
}

// margin is how far man indents text, and columns is how wide a terminal is.
const margin, columns = 7, 80

// setter sets a page. Its tables and examples begin left of the text if they are wide.
type setter struct{ indent int }

// page sets a help text as a man page, in the order that man pages have: synopsis, description, options.
func page(name, section, short, help, version string, date time.Time) []byte {
	all := sections(help)
	set := &setter{indent: max(0, min(margin, columns-widest(all)))}
	var synopsis, description, options, lists, examples, also bytes.Buffer
	for _, s := range all {
		switch {
		case s.title == "":
			text, more, _ := strings.Cut(s.text, "\nSee also: ")
			set.prose(&description, text)
			if more != "" {
				also.WriteString(escape(more) + "\n")
			}
		case s.title == "Usage":
			set.prose(&synopsis, s.text)
		case s.title == "Examples":
			set.prose(&examples, s.text)
		case flag.MatchString(s.text):
			fmt.Fprintf(&options, ".SS %s\n", s.title)
			flags(&options, s.text)
		default:
			if s.title != "Commands" {
				fmt.Fprintf(&lists, ".SS %s\n", s.title)
			}
			set.prose(&lists, s.text)
		}
	}
	var out bytes.Buffer
	// Nothing is hyphenated, since commands and flags are not to be.
	fmt.Fprintf(&out, ".TH %s %s %s \"Culvert %s\" Culvert\n.nh\n.ad l\n", strings.ToUpper(escape(name)), section,
		date.Format(time.DateOnly), escape(version))
	fmt.Fprintf(&out, ".SH NAME\n%s \\- %s\n", escape(name), escape(short))
	for _, s := range []struct {
		title string
		text  *bytes.Buffer
	}{
		{"SYNOPSIS", &synopsis},
		{"DESCRIPTION", &description},
		{"COMMANDS", &lists},
		{"OPTIONS", &options},
		{"EXAMPLES", &examples},
		{"SEE ALSO", &also},
	} {
		if s.text.Len() > 0 {
			fmt.Fprintf(&out, ".SH %s\n%s", s.title, s.text)
		}
	}
	return out.Bytes()
}

// prose writes paragraphs, and keeps what is indented as it is.
func (s *setter) prose(out *bytes.Buffer, text string) {
	for block := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		if heading.MatchString(block) {
			fmt.Fprintf(out, ".SS %s\n", escape(block))
			continue
		}
		out.WriteString(".PP\n")
		kept := false
		for line := range strings.Lines(block) {
			if indented := strings.HasPrefix(line, " "); indented != kept {
				out.WriteString(s.keep(indented))
				kept = indented
			}
			out.WriteString(escape(strings.TrimRight(line, "\n")) + "\n")
		}
		if kept {
			out.WriteString(s.keep(false))
		}
	}
}

func (s *setter) keep(indented bool) string {
	if indented {
		return fmt.Sprintf(".nf\n.in %dn\n", s.indent)
	}
	return ".in\n.fi\n"
}

// flags writes a list of flags, each with what it does.
func flags(out *bytes.Buffer, text string) {
	for line := range strings.Lines(strings.TrimLeft(text, "\n")) {
		if m := flag.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			fmt.Fprintf(out, ".TP\n.B %s\n%s\n", escape(m[1]), escape(m[2]))
		} else {
			out.WriteString(escape(strings.TrimSpace(line)) + "\n")
		}
	}
}

// widest returns the width of the widest table or example, in columns.
func widest(all []part) (width int) {
	for _, p := range all {
		for line := range strings.Lines(p.text) {
			if strings.HasPrefix(line, " ") && !flag.MatchString(p.text) {
				width = max(width, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
			}
		}
	}
	return width
}

// escape keeps roff from reading a line as anything but text.
func escape(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(line)
	if strings.HasPrefix(line, ".") {
		line = `\&` + line
	}
	return line
}
