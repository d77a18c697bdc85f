package cli

import (
	"io"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
)

// TestOneVerb builds each verb alone, and compares it with the one among all verbs.
func TestOneVerb(t *testing.T) {
	t.Parallel()
	all := testRoot()
	var names []string
	for _, cmd := range all.Commands() {
		if cmd.Runnable() && cmd.Name() != "help" && cmd.Name() != "completion" {
			names = append(names, cmd.Name())
		}
	}
	if len(names) != len(verbs) {
		t.Fatalf("%d commands can be run, and there are %d verbs", len(names), len(verbs))
	}
	for _, name := range names {
		a := &command.App{Console: ui.NewConsole(io.Discard)}
		alone := rootFor(a, []string{name, "--json"})
		if found := alone.Commands(); len(found) != 1 {
			t.Errorf("%s: %d commands are built", name, len(found))
		}
		got, _, err := alone.Find([]string{name})
		if err != nil || got.Name() != name {
			t.Errorf("%s: %v, %v is built", name, err, got.Name())
			continue
		}
		want, _, err := all.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := interfaceOf(got), interfaceOf(want); !slices.Equal(got, want) {
			t.Errorf("%s alone has %q, and among all %q", name, got, want)
		}
	}
	for _, args := range [][]string{nil, {"help"}, {"--version"}, {"exprot"}, {cobra.ShellCompRequestCmd, ""}} {
		a := &command.App{Console: ui.NewConsole(io.Discard)}
		if found := len(rootFor(a, args).Commands()); found < len(verbs) {
			t.Errorf("%q: %d commands are built", args, found)
		}
	}
}

// interfaceOf returns what a command and those below it are called, and their flags.
func interfaceOf(cmd *cobra.Command) (found []string) {
	everyCommand(cmd, func(cmd *cobra.Command) {
		found = append(found, cmd.CommandPath(), cmd.Short)
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { found = append(found, flag.Name+flag.Shorthand+flag.Usage) })
	})
	return found
}
