package cli

import (
	"bytes"
	"encoding"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/demo"
	"culvert/cmd/culvert/internal/doctor"
	"culvert/cmd/culvert/internal/export"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/jobfile"
	"culvert/cmd/culvert/internal/jobs"
	"culvert/cmd/culvert/internal/load"
	"culvert/cmd/culvert/internal/logs"
	"culvert/cmd/culvert/internal/masks"
	"culvert/cmd/culvert/internal/prune"
	"culvert/cmd/culvert/internal/remote"
	"culvert/cmd/culvert/internal/serve"
	"culvert/cmd/culvert/internal/tables"
	"culvert/cmd/culvert/internal/ui"
)

// reports are the objects that commands print with --json.
var reports = map[string]any{
	"job check": jobfile.CheckReport{}, "job columns": jobfile.ColumnsReport{},
	"keygen": keygenReport{}, "version": versionReport{}, "inspect": inspectReport{}, "verify": verifyReport{},
	"tables": tables.Report{}, "doctor": doctor.Report{}, "prune": prune.Report{},
	"export": export.Report{}, "export --dry-run": export.PlanReport{},
	"export --workers": export.Event{}, "export --queue": export.Event{},
	"encrypt": command.WorkReport{}, "decrypt": command.WorkReport{}, "cat": command.WorkReport{},
	"worker": jobs.WorkerReport{}, "jobs": jobs.Report{}, "snapshot hold": jobs.HoldReport{},
	"demo": demo.Report{}, "serve": serve.Report{}, "ls": remote.LsReport{},
	"pull": remote.TransferReport{}, "push": remote.TransferReport{}, "mount": remote.MountReport{},
	"load": load.Report{}, "load --dry-run": load.PlanReport{},
	"copy": load.Report{}, "copy --dry-run": load.PlanReport{},
	"mask suggest": masks.SuggestReport{}, "mask preview": masks.PreviewReport{},
	"wal verify": logs.VerifyReport{}, "wal copy": logs.CopyReport{}, "wal repair": logs.CopyReport{},
}

// neverSet are fields that a command shares with others, and does not use.
var neverSet = map[string][]string{
	"worker": {"output"}, "encrypt": {"rows"}, "decrypt": {"rows"}, "cat": {"rows"}, "verify": {"rows", "output"},
	"load": {"output"}, "copy": {"output"},
}

func testRoot() *cobra.Command {
	a := &command.App{Console: ui.NewConsole(io.Discard)}
	return newRoot(a)
}

// everyCommand calls f with all commands but cobra's own.
func everyCommand(root *cobra.Command, f func(cmd *cobra.Command)) {
	f(root)
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			everyCommand(cmd, f)
		}
	}
}

// TestJSONTopic compares culvert help json with the objects that commands print: their fields and the types of those.
func TestJSONTopic(t *testing.T) {
	described := describedObjects(help.Text("topics/json.txt"))
	for name, report := range reports {
		want := jsonFields("", reflect.TypeOf(report))
		maps.DeleteFunc(want, func(field, _ string) bool {
			return described[""][field] != "" || slices.Contains(neverSet[name], field)
		})
		if !maps.Equal(described[name], want) {
			t.Errorf("culvert %s: the topic describes\n%v, but the object has\n%v", name, described[name], want)
		}
		delete(described, name)
	}
	if want := jsonFields("", reflect.TypeFor[command.Outcome]()); !maps.Equal(described[""], want) {
		t.Errorf("all commands: the topic describes %v, but the object has %v", described[""], want)
	}
	delete(described, "")
	if len(described) > 0 {
		t.Errorf("the topic describes objects of other commands: %v", described)
	}
	everyCommand(testRoot(), func(cmd *cobra.Command) {
		name := strings.TrimPrefix(cmd.CommandPath(), "culvert ")
		if (reports[name] != nil) != (cmd.Flags().Lookup("json") != nil) {
			t.Errorf("%s has --json or an object, but not both", name)
		}
	})
}

// describedObjects returns the fields, with their types, by the commands that print them; "" stands for all commands.
func describedObjects(text string) map[string]map[string]string {
	command := regexp.MustCompile(`culvert ([^,:(]*[a-z])`)
	field := regexp.MustCompile(`^( +)(\w+) +(string|number|boolean|array|object) `)
	objects := map[string]map[string]string{}
	var names, path []string
	for line := range strings.Lines(text) {
		if m := field.FindStringSubmatch(line); m != nil {
			path = append(path[:len(m[1])/2-1], m[2])
			for _, name := range names {
				objects[name][strings.Join(path, ".")] = m[3]
			}
		} else if strings.HasPrefix(line, "culvert ") || strings.HasPrefix(line, "All commands:") {
			names, path = nil, nil
			for _, m := range command.FindAllStringSubmatch(line, -1) {
				names = append(names, m[1])
			}
			if names == nil {
				names = []string{""}
			}
			for _, name := range names {
				objects[name] = map[string]string{}
			}
		}
	}
	return objects
}

var textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

// jsonFields returns the types of the fields of an object, by their paths.
func jsonFields(path string, object reflect.Type) map[string]string {
	for object.Kind() == reflect.Pointer || object.Kind() == reflect.Slice {
		object = object.Elem()
	}
	fields := map[string]string{}
	if object.Kind() != reflect.Struct || object.Implements(textMarshaler) {
		return fields
	}
	for field := range object.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			maps.Copy(fields, jsonFields(path, field.Type))
		case name != "" && name != "-":
			fields[path+name] = jsonType(field.Type)
			maps.Copy(fields, jsonFields(path+name+".", field.Type))
		}
	}
	return fields
}

func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "array"
	case reflect.Struct:
		if t.Implements(textMarshaler) {
			return "string"
		}
		return "object"
	}
	return "number"
}

// TestHelp checks the help of every command and topic as it is shown: it has examples, lists each flag once, says the
// argument of none twice in a row, points to topics that exist, and fits a terminal of 80 columns.
func TestHelp(t *testing.T) {
	root := testRoot()
	topics := map[string]bool{}
	for _, topic := range help.Topics() {
		topics[topic.Name()] = false
	}
	everyCommand(root, func(cmd *cobra.Command) {
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.InitDefaultHelpFlag()
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > help.Width {
				t.Errorf("%s: a line of %d characters: %s", cmd.CommandPath(), n, line)
			}
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			want := 1
			if flag.Name == "help" {
				want = 0
			}
			if n := len(regexp.MustCompile(`(?m)^ +(-\w, )?--`+flag.Name+`( |$)`).FindAllString(text, -1)); n != want {
				t.Errorf("%s: --%s is listed %d times, want %d: see flagGroups", cmd.CommandPath(), flag.Name, n, want)
			}
			argument, usage := pflag.UnquoteUsage(flag)
			if first, _, _ := strings.Cut(usage, " "); first == argument {
				t.Errorf("%s: --%s %s is followed by the same word: %s", cmd.CommandPath(), flag.Name, argument, usage)
			}
		})
		if !cmd.Runnable() || cmd == root {
			return
		}
		if n := len(regexp.MustCompile(`(?m)^  .*culvert`).FindAllString(cmd.Example, -1)); n < 1 || n > 5 {
			t.Errorf("%s has %d examples", cmd.CommandPath(), n)
		}
		_, seeAlso, _ := strings.Cut(text, "\nSee also: culvert help ")
		for topic := range strings.SplitSeq(strings.TrimSpace(seeAlso), ", ") {
			if found, _, err := root.Find([]string{topic}); topic != "" && (err != nil || found == root) {
				t.Errorf("%s: there is no help on %q", cmd.CommandPath(), topic)
			}
			topics[topic] = true
		}
	})
	delete(topics, "environment") // the topics point to it
	for topic, known := range topics {
		if !known {
			t.Errorf("no command points to the topic %s", topic)
		}
	}
}
