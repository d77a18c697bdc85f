package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"culvert/tools/release/helptext"
)

// reference sets a help text as a page. What it says stays letter for letter; tables and examples are blocks of code.
func reference(p helptext.Page, all []helptext.Page) string {
	out := &strings.Builder{}
	if p.IsTopic {
		fmt.Fprintf(out, "# %s\n\nThis is `culvert help %s`.\n\n", escape(p.Short), p.Path[0])
	} else {
		fmt.Fprintf(out, "# %s\n\n", strings.Join(append([]string{"culvert"}, p.Path...), " "))
	}
	for _, s := range helptext.Sections(p.Text) {
		if s.Title != "" {
			fmt.Fprintf(out, "## %s\n\n", s.Title)
		}
		if flags := s.Flags(); flags != nil {
			for _, f := range flags {
				fmt.Fprintf(out, "`%s`\n:   %s\n\n", f.Names, linked(strings.Join(f.Does, "\n    "), all))
			}
			continue
		}
		prose(out, s.Text, all)
	}
	return out.String()
}

// prose writes paragraphs, and blocks of code where lines are indented.
func prose(out *strings.Builder, text string, all []helptext.Page) {
	isCode := false
	end := func() {
		if isCode {
			out.WriteString("```\n\n")
			isCode = false
		}
	}
	for _, block := range helptext.Blocks(text) {
		if block.IsHeading {
			end()
			fmt.Fprintf(out, "## %s\n\n", escape(block.Text))
			continue
		}
		if isCode && strings.HasPrefix(block.Text, " ") {
			out.WriteString("\n")
		}
		paragraph := &strings.Builder{}
		for line := range strings.Lines(block.Text) {
			line = strings.TrimRight(line, "\n")
			if !strings.HasPrefix(line, " ") {
				end()
				paragraph.WriteString(line + "\n")
				continue
			}
			if paragraph.Len() > 0 {
				out.WriteString(linked(paragraph.String(), all) + "\n")
				paragraph.Reset()
			}
			if !isCode {
				out.WriteString("```text\n")
				isCode = true
			}
			out.WriteString(strings.TrimPrefix(line, " ") + "\n")
		}
		if paragraph.Len() > 0 {
			out.WriteString(linked(paragraph.String(), all) + "\n")
		}
	}
	end()
}

// seeAlso is a reference to other pages of help: culvert help csv, or at the end culvert help sources, masks.
var seeAlso = regexp.MustCompile(`culvert\s+help\s+[a-z-]+(?:,\s+[a-z-]+)*`)

// linked returns text of a page, in which the pages of help that it names are links.
func linked(text string, all []helptext.Page) string {
	var out strings.Builder
	at := 0
	for _, found := range seeAlso.FindAllStringIndex(text, -1) {
		out.WriteString(escape(text[at:found[0]]))
		for i, name := range strings.SplitAfter(text[found[0]:found[1]], ",") {
			words := strings.Fields(strings.TrimSuffix(name, ","))
			if i > 0 {
				out.WriteString(" ")
			}
			out.WriteString(linkTo(strings.Join(words, " "), words[len(words)-1], all))
			if strings.HasSuffix(name, ",") {
				out.WriteString(",")
			}
		}
		at = found[1]
	}
	return out.String() + escape(text[at:])
}

// linkTo links to the topic or the command of a name, if there is one.
func linkTo(text, name string, all []helptext.Page) string {
	for _, isTopic := range []bool{true, false} {
		for _, p := range all {
			if p.IsTopic == isTopic && len(p.Path) > 0 && label(p) == name {
				return fmt.Sprintf("[%s](%s)", escape(text), path.Join("..", referenceFile(p)))
			}
		}
	}
	return escape(text)
}

var special = regexp.MustCompile("[\\\\`*_{}\\[\\]<>#|&~^$]")

// escape keeps Markdown from reading text as anything but text.
func escape(text string) string {
	return special.ReplaceAllStringFunc(text, func(c string) string {
		return fmt.Sprintf("&#%d;", c[0])
	})
}
