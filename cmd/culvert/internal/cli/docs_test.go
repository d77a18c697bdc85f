package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocs finds the commands and the flags of the pages for people, such as those of systemd units and Kubernetes.
func TestDocs(t *testing.T) {
	continued := regexp.MustCompile(`\\\n\s*`)
	listed := regexp.MustCompile(`args: \[(.*)\]`) // a line of a Kubernetes manifest
	commands := regexp.MustCompile("culvert ([a-z][^`\n#;|&]*)")
	flags := regexp.MustCompile(`(?:^|\s)(--?[a-z][\w-]*)`)
	root, found := testRoot(), 0
	pages, err := filepath.Glob("../../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../../../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		flat := continued.ReplaceAllString(string(text), " ")
		flat = listed.ReplaceAllStringFunc(flat, func(line string) string {
			return "culvert " + strings.ReplaceAll(listed.FindStringSubmatch(line)[1], ",", "")
		})
		for _, match := range commands.FindAllStringSubmatch(flat, -1) {
			cmd, _, err := root.Find(strings.Fields(match[1]))
			if err != nil || cmd == root {
				continue // prose
			}
			for _, flag := range flags.FindAllStringSubmatch(match[1], -1) {
				found++
				name := strings.TrimLeft(flag[1], "-")
				known := name == "help" || cmd.Flags().Lookup(name) != nil
				if len(name) == 1 {
					known = cmd.Flags().ShorthandLookup(name) != nil
				}
				if !known {
					t.Errorf("%s: culvert %s: there is no %s", page, match[1], flag[1])
				}
			}
		}
	}
	if found < 80 {
		t.Errorf("only %d flags were found", found)
	}
}
