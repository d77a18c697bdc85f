package jobfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/masking"
)

// CheckReport is the report of culvert job check.
type CheckReport struct {
	command.Outcome
	File string `json:"file"`
}

// Text implements [command.Report].
func (r *CheckReport) Text() string { return r.File + ": it is a job file\n" }

// New returns the verbs about job files.
func New(a *command.App) *cobra.Command {
	cmd := help.Command("job")
	cmd.Args = command.UnknownVerb
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	r := &CheckReport{}
	check := a.Reporting("job check", r, func(_ context.Context, args []string) error {
		if len(args) != 1 {
			return command.WithHint(command.Usagef("FILE is missing, or there are several"),
				"usage: culvert job check FILE")
		}
		r.File = args[0]
		return Hinted(Check(args[0]))
	})
	schema := help.Command("job schema")
	schema.Args = cobra.NoArgs
	schema.RunE = func(*cobra.Command, []string) error {
		_, err := a.Stdout.Write(Schema())
		return err
	}
	cmd.AddCommand(check, newColumns(a), schema)
	return cmd
}

// Check reads a job file, and returns what can be found wrong with it without a database.
func Check(name string) error {
	f, err := Read(name)
	if err != nil {
		return err
	}
	if err := f.checkSecrets(name); err != nil {
		return err
	}
	if err := f.checkPlaceholders(name); err != nil {
		return err
	}
	rules := &ChoiceFlags{tables: f.Tables}
	if _, err := rules.Rules(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if f.Columns != "" {
		if _, err := masking.ReadColumns(f.ColumnsFile(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
