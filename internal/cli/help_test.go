package cli

import (
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"culvert/internal/ui"
)

// TestHelpNamesAllFields holds the help of each command to the object that it prints with --json.
func TestHelpNamesAllFields(t *testing.T) {
	a := &app{console: ui.NewConsole(io.Discard)}
	objects := map[string]any{
		"keygen": keygenReport{}, "version": versionReport{}, "inspect": inspectReport{}, "verify": verifyReport{},
		"export": exportReport{}, "encrypt": workReport{}, "decrypt": workReport{}, "cat": workReport{},
		"demo": demoReport{}, "serve": serveReport{}, "ls": lsReport{},
		"pull": transferReport{}, "push": transferReport{}, "mount": mountReport{},
	}
	for _, cmd := range a.newRoot().Commands() {
		object, found := objects[cmd.Name()]
		if found != (cmd.Flags().Lookup("json") != nil) {
			t.Errorf("%s: there is --json, or an object, but not both", cmd.Name())
		}
		if !found {
			continue
		}
		fields := jsonFields(reflect.TypeOf(object))
		if cmd.Name() == "export" {
			fields = append(fields, jsonFields(reflect.TypeOf(planReport{}))...)
		}
		for _, field := range fields {
			if field == "rows" && cmd.Name() != "export" || field == "output" && cmd.Name() == "verify" {
				continue // never set there
			}
			if !regexp.MustCompile(`\b` + field + `\b`).MatchString(cmd.Long) {
				t.Errorf("culvert %s --help does not name the field %s", cmd.Name(), field)
			}
		}
	}
}

func jsonFields(object reflect.Type) []string {
	if object.Kind() == reflect.Pointer || object.Kind() == reflect.Slice {
		object = object.Elem()
	}
	if object.Kind() != reflect.Struct {
		return nil
	}
	var fields []string
	for field := range object.Fields() {
		if !field.IsExported() && !field.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" {
			fields = append(fields, name)
		}
		fields = append(fields, jsonFields(field.Type)...)
	}
	return fields
}

// TestHelp holds the help of every command to what the house promises: examples, the exit codes, lines that fit a
// terminal.
func TestHelp(t *testing.T) {
	a := &app{console: ui.NewConsole(io.Discard)}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" {
			return // cobra's own
		}
		if cmd.RunE != nil && cmd.HasParent() && cmd.Name() != "version" && cmd.Name() != "help" {
			if cmd.Example == "" {
				t.Errorf("%s has no examples", cmd.CommandPath())
			}
			if !strings.Contains(cmd.Long, "culvert help exit-codes") {
				t.Errorf("%s does not point to the exit codes", cmd.CommandPath())
			}
		}
		for _, text := range []string{cmd.Long, cmd.Example, cmd.Short} {
			for line := range strings.Lines(text) {
				if len([]rune(line)) > 86 {
					t.Errorf("%s: a line of %d characters: %s", cmd.CommandPath(), len([]rune(line)), line)
				}
			}
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(a.newRoot())
}
