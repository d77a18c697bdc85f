package cli

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/help"
)

// bashAlone replaces what cobra's script for bash takes from the package bash-completion, which many machines lack.
//
//go:embed completion.bash
var bashAlone string

// describeCompletion gives cobra's command a help text like those of the others, and has its script for bash work by
// itself.
func describeCompletion(root *cobra.Command) {
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic(err) // cobra has added it
	}
	text := help.Command("completion")
	cmd.Short, cmd.Long, cmd.Example, cmd.Annotations = text.Short, text.Long, text.Example, text.Annotations
	for _, sub := range cmd.Commands() {
		sub.Short = "Print the script for " + sub.Name()
		sub.Long = sub.Short + ". How to use it: culvert completion --help"
		if sub.Name() == "bash" {
			script := sub.RunE
			sub.RunE = func(cmd *cobra.Command, args []string) error {
				if err := script(cmd, args); err != nil {
					return err
				}
				_, err := io.WriteString(cmd.Root().OutOrStdout(), bashAlone)
				return err
			}
		}
	}
}
