package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"culvert/tools/release/helptext"
)

// manual returns the man pages of a program, compressed, by their names: culvert.1.gz, culvert-wal-copy.1.gz, and in
// section 7 the topics, such as culvert-formats.7.gz.
func manual(program, version string, date time.Time) (map[string][]byte, error) {
	texts, err := helptext.Read(program)
	if err != nil {
		return nil, err
	}
	pages := map[string][]byte{}
	for _, text := range texts {
		section := "1"
		if text.IsTopic {
			section = "7"
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed) // without a time, so that the same page is always the same bytes
		if _, err := w.Write(page(text.Name(), section, text.Short, text.Text, version, date)); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		pages[text.Name()+"."+section+".gz"] = packed.Bytes()
	}
	return pages, nil
}

// margin is how far man indents text, and columns is how wide a terminal is.
const margin, columns = 7, 80

// setter sets a page. Its tables and examples begin left of the text if they are wide.
type setter struct{ indent int }

// page sets a help text as a man page, in the order that man pages have: synopsis, description, options.
func page(name, section, short, help, version string, date time.Time) []byte {
	all := helptext.Sections(help)
	set := &setter{indent: max(0, min(margin, columns-widest(all)))}
	var synopsis, description, options, lists, examples, also bytes.Buffer
	for _, s := range all {
		switch {
		case s.Title == "":
			text, more, _ := strings.Cut(s.Text, "\nSee also: ")
			set.prose(&description, text)
			if more != "" {
				also.WriteString(escape(more) + "\n")
			}
		case s.Title == "Usage":
			set.prose(&synopsis, s.Text)
		case s.Title == "Examples":
			set.prose(&examples, s.Text)
		case s.Flags() != nil:
			fmt.Fprintf(&options, ".SS %s\n", s.Title)
			flags(&options, s.Flags())
		default:
			if s.Title != "Commands" {
				fmt.Fprintf(&lists, ".SS %s\n", s.Title)
			}
			set.prose(&lists, s.Text)
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
	for _, block := range helptext.Blocks(text) {
		if block.IsHeading {
			fmt.Fprintf(out, ".SS %s\n", escape(block.Text))
			continue
		}
		out.WriteString(".PP\n")
		kept := false
		for line := range strings.Lines(block.Text) {
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
func flags(out *bytes.Buffer, all []helptext.Flag) {
	for _, f := range all {
		fmt.Fprintf(out, ".TP\n.B %s\n", escape(f.Names))
		for _, line := range f.Does {
			out.WriteString(escape(line) + "\n")
		}
	}
}

// widest returns the width of the widest table or example, in columns.
func widest(all []helptext.Section) (width int) {
	for _, p := range all {
		if p.Flags() != nil {
			continue
		}
		for line := range strings.Lines(p.Text) {
			if strings.HasPrefix(line, " ") {
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
