package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// objects is the page that lists the fields of all objects. A test of the program compares it with the objects, so an
// earlier version of it is the golden file of a later one.
const objects = "cmd/culvert/internal/help/topics/json.txt"

// compareFields returns what has changed, and whether fields were removed or have another type.
func compareFields(old, root string) (text string, lost bool, err error) {
	before, err := os.ReadFile(filepath.Join(old, objects))
	if err != nil {
		return "", false, err
	}
	now, err := os.ReadFile(filepath.Join(root, objects))
	if err != nil {
		return "", false, err
	}
	text, lost = difference(fields(string(before)), fields(string(now)))
	return text, lost, nil
}

func difference(before, now map[string]string) (text string, lost bool) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if now[name] == "" {
			fmt.Fprintf(&b, "- JSON, %s: removed\n", name)
		} else if now[name] != before[name] {
			fmt.Fprintf(&b, "- JSON, %s: changed from %s to %s\n", name, before[name], now[name])
		}
	}
	lost = b.Len() > 0
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if before[name] == "" {
			fmt.Fprintf(&b, "- JSON, %s: added\n", name)
		}
	}
	return b.String(), lost
}

var (
	named = regexp.MustCompile(`culvert ([^,:(]*[a-z])`)
	field = regexp.MustCompile(`^( +)(\w+) +(string|number|boolean|array|object) `)
)

// fields returns the types of all fields, by their commands and paths, such as "export: schema.by".
func fields(page string) map[string]string {
	all := map[string]string{}
	var commands, path []string
	for line := range strings.Lines(page) {
		if m := field.FindStringSubmatch(line); m != nil {
			path = append(path[:min(len(path), len(m[1])/2-1)], m[2])
			for _, command := range commands {
				all[command+": "+strings.Join(path, ".")] = m[3]
			}
		} else if strings.HasPrefix(line, "culvert ") || strings.HasPrefix(line, "All commands:") {
			commands, path = []string{"all commands"}, nil
			if found := named.FindAllStringSubmatch(line, -1); found != nil {
				commands = nil
				for _, m := range found {
					commands = append(commands, m[1])
				}
			}
		}
	}
	return all
}
