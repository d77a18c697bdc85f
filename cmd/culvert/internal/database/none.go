package database

import (
	"context"
	"errors"
	"fmt"

	"culvert/cmd/culvert/internal/command"
	"culvert/source"
)

// ErrNoTables marks the error of a database without tables.
var ErrNoTables = errors.New("there are no tables")

// NoTables returns the error of a source without tables, for a purpose such as "export". It names the database.
func NoTables(ctx context.Context, src source.Source, purpose string) error {
	err := fmt.Errorf("%w to %s", ErrNoTables, purpose)
	d, describing := source.Describe(ctx, src)
	switch {
	case describing != nil:
		return err
	case d.Database == "":
		return command.WithHint(fmt.Errorf("%w: no database is named", err),
			"name a database in SOURCE, or in the environment")
	}
	return command.WithHint(fmt.Errorf("%w: the database %q has none that can be seen", err, d.Database),
		"name another database in SOURCE, or in the environment", "culvert doctor SOURCE says what can be read")
}
