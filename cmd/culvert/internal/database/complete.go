package database

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"culvert/source"
)

// completionPatience is how long a shell waits for names.
const completionPatience = 3 * time.Second

// CompleteTables completes the names of tables after a SOURCE. Nobody is asked for a password, and what fails completes
// nothing.
func (f *Flags) CompleteTables(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if f.File != "" || len(args) == 0 {
		return nil, cobra.ShellCompDirectiveDefault // files, of which a SOURCE may be one
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	names, err := tablesOf(ctx, args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func tablesOf(ctx context.Context, text string) (names []string, err error) {
	db, err := Parse(text)
	if err != nil {
		return nil, err
	}
	src, err := db.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	lister, is := src.(source.Lister)
	if !is {
		return nil, errors.New("database: it does not list its tables")
	}
	return lister.Tables(ctx, "")
}
