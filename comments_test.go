package culvert_test

import (
	"go/doc/comment"
	"regexp"
	"strings"
	"testing"
)

// linkToFile is a link of Markdown, which a package comment shows as it is.
var linkToFile = regexp.MustCompile(`\]\([^)]+\)`)

// TestPackageComments reads the comment of each package as go doc does. A heading must stand alone between two blank
// lines, and consists of words only: otherwise it is shown as a line of text with a #.
func TestPackageCommentsAreRendered(t *testing.T) {
	for _, p := range readPackages(t) {
		for _, problem := range commentProblems(p.doc) {
			t.Errorf("%s: %s", p.dir, problem)
		}
	}
}

func commentProblems(text string) []string {
	var problems []string
	var parser comment.Parser
	for _, block := range parser.Parse(text).Content {
		var prose string
		switch block := block.(type) {
		case *comment.Paragraph:
			prose = plainText(block.Text)
		case *comment.List:
			for _, item := range block.Items {
				for _, paragraph := range item.Content {
					if paragraph, ok := paragraph.(*comment.Paragraph); ok {
						prose += plainText(paragraph.Text) + "\n"
					}
				}
			}
		default:
			continue
		}
		for line := range strings.Lines(prose) {
			switch line = strings.TrimSpace(line); {
			case strings.HasPrefix(line, "#"):
				problems = append(problems, "not rendered as a heading: "+line)
			case strings.HasPrefix(line, "|"), strings.HasPrefix(line, "* "), strings.HasPrefix(line, "```"):
				problems = append(problems, "Markdown that go doc does not know: "+line)
			case linkToFile.MatchString(line), strings.Contains(line, "**"):
				problems = append(problems, "Markdown that go doc does not know: "+line)
			}
		}
	}
	return problems
}

func plainText(texts []comment.Text) string {
	var b strings.Builder
	for _, text := range texts {
		switch text := text.(type) {
		case comment.Plain:
			b.WriteString(string(text))
		case comment.Italic:
			b.WriteString(string(text))
		case *comment.Link:
			b.WriteString(plainText(text.Text))
		case *comment.DocLink:
			b.WriteString(plainText(text.Text))
		}
	}
	return b.String()
}
