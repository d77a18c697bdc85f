// Command modulepath gives the module another path, as whoever publishes it needs one that the go command can fetch:
//
//	go -C tools run ./modulepath example.org/culvert ['Jane Doe <jane@example.org>']
//
// The second argument becomes the maintainer of the packages of a release.
//
// It rewrites the path in every file of the repository: imports, go.mod of all modules, documentation, tests and
// settings. Other text that happens to begin like the path stays, such as the contexts of keys and signatures, whose
// change would be one of the formats. Generated code is to be made again.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "modulepath:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if n := len(args); n != 1 && n != 2 || !regexp.MustCompile(`^[a-z0-9][\w.~-]*(/[\w.~-]+)*$`).MatchString(args[0]) {
		return errors.New("usage: modulepath PATH [MAINTAINER], " +
			"such as example.org/culvert 'Jane Doe <jane@example.org>'")
	}
	const root = ".."
	if len(args) == 2 {
		if _, err := mail.ParseAddress(args[1]); err != nil {
			return fmt.Errorf("the maintainer is not of the form 'Jane Doe <jane@example.org>': %w", err)
		}
		file := filepath.Join(root, "tools", "release", "files", "maintainer")
		if err := os.WriteFile(file, []byte(args[1]+"\n"), 0o644); err != nil {
			return err
		}
	}
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(string(module), "\n")
	rules, err := rulesFor(root, strings.TrimPrefix(line, "module "))
	if err != nil {
		return err
	}
	tracked, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(tracked), "\x00"), "\x00") {
		if err := rewrite(filepath.Join(root, name), rules, args[0]); err != nil {
			return err
		}
	}
	return nil
}

// rulesFor returns what matches a path of the module, with what precedes it as $1 and what follows as $2.
func rulesFor(root, old string) ([]*regexp.Regexp, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var below []string // the directories of its packages, and of other modules
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			below = append(below, regexp.QuoteMeta(entry.Name()))
		}
	}
	path := regexp.QuoteMeta(old)
	return []*regexp.Regexp{
		regexp.MustCompile(`(?m)(^|[^\w./@-])` + path + `(/(?:` + strings.Join(below, "|") + `)\b)`),
		// The beginning of a path, as tests cut it off.
		regexp.MustCompile(`(")` + path + `(/")`),
		// The module itself: in go.mod, in settings, and where a test looks for its import.
		regexp.MustCompile(`(?m)(\bmodule[ =]|module-path: |^replace |imported == ")` + path + `(\s|"|\\n)`),
		regexp.MustCompile(`(?m)(^\t)` + path + `( v\d)`),
	}, nil
}

func rewrite(name string, rules []*regexp.Regexp, path string) error {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	text, err := os.ReadFile(name)
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return err
	}
	changed := text
	for _, rule := range rules {
		changed = rule.ReplaceAll(changed, []byte("${1}"+path+"${2}"))
	}
	if bytes.Equal(changed, text) {
		return nil
	}
	return os.WriteFile(name, changed, info.Mode().Perm())
}
