package jobfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/masking"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/source"
)

// ColumnsFile returns the file of the list of columns, or "". Its name is relative to the directory of the job file,
// which is called name: both are reviewed together.
func (f *File) ColumnsFile(name string) string {
	if f.Columns == "" || filepath.IsAbs(f.Columns) {
		return f.Columns
	}
	return filepath.Join(filepath.Dir(name), f.Columns)
}

// ColumnsReport is the report of culvert job columns.
type ColumnsReport struct {
	command.Outcome
	File    string   `json:"file"`
	Columns int      `json:"columns"`
	New     []string `json:"new"`
	Gone    []string `json:"gone"`
}

// Text implements [command.Report].
func (r *ColumnsReport) Text() string {
	var b strings.Builder
	for _, one := range r.New {
		fmt.Fprintf(&b, "+ %s\n", ui.Line(one))
	}
	for _, one := range r.Gone {
		fmt.Fprintf(&b, "- %s\n", ui.Line(one))
	}
	fmt.Fprintf(&b, "%s: %s\n", ui.Line(r.File), ui.Several(int64(r.Columns), "column"))
	return b.String()
}

func newColumns(a *command.App) *cobra.Command {
	from, r := &database.Flags{}, &ColumnsReport{New: []string{}, Gone: []string{}}
	cmd := a.Reporting("job-columns", r, func(ctx context.Context, args []string) error {
		if len(args) == 0 {
			return command.WithHint(command.Usagef("FILE is missing"), "usage: culvert job columns FILE [SOURCE]")
		}
		return r.write(ctx, a, from, args[0], args[1:])
	})
	from.Add(cmd)
	return cmd
}

// write looks up the columns that leave, and writes the list of them.
func (r *ColumnsReport) write(
	ctx context.Context, a *command.App, from *database.Flags, name string, args []string,
) error {
	f, err := Read(name)
	if err == nil {
		err = f.checkSecrets(name)
	}
	if err == nil && f.Columns == "" {
		err = &Error{File: name, Text: "it does not name the list of columns", Hint: "add: columns: FILE"}
	}
	if err != nil {
		return Hinted(err)
	}
	if len(args) == 0 && from.File == "" {
		if from.File = f.FromFile; f.From != "" {
			args = []string{f.From}
		}
	}
	r.File = f.ColumnsFile(name)
	old, err := masking.ReadColumns(r.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return command.WithHint(err, "mend or remove it, and write it anew")
	}
	db, rest, err := from.Parse(a, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return command.Usagef("the tables of a job are those of its file")
	}
	all, err := f.columns(ctx, db)
	if err != nil {
		return db.Explain(err)
	}
	r.Columns = len(all)
	r.New, r.Gone = append(r.New, masking.Without(all, old)...), append(r.Gone, masking.Without(old, all)...)
	return masking.WriteColumns(r.File, name, all)
}

// columns returns the columns that leave. A run reads the tables of PostgreSQL with the rows of those that inherit from
// them, or, with the schema of the whole database, each by itself: the columns are those of both.
func (f *File) columns(ctx context.Context, db database.Database) (all []string, err error) {
	src, err := db.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	together, err := f.leaving(ctx, src)
	if err != nil {
		return nil, err
	}
	source.Separate(src)
	apart, err := f.leaving(ctx, src)
	all = slices.Concat(together, apart)
	slices.Sort(all)
	return slices.Compact(all), err
}

// leaving returns the columns that leave the tables that a source has now.
func (f *File) leaving(ctx context.Context, src source.Source) ([]string, error) {
	lister, is := src.(source.Lister)
	if !is {
		return nil, command.Usagef("this source cannot list its tables")
	}
	schemas := f.Schemas
	if len(schemas) == 0 {
		schemas = []string{""}
	}
	var names []string
	for _, schema := range schemas {
		some, err := lister.Tables(ctx, schema)
		if err != nil {
			return nil, err
		}
		names = append(names, some...)
	}
	plan := &export.Plan{}
	choice := &ChoiceFlags{tables: f.Tables}
	if choice.Given() {
		rules, err := choice.Rules()
		if err != nil {
			return nil, err
		}
		chosen, err := rules.Choose(ctx, src, names)
		if err != nil {
			return nil, Explain(err)
		}
		names, plan.Choices = chosen.Names, chosen.Choices
	}
	tables, err := plan.MaskTables(ctx, src, names)
	if err != nil {
		return nil, err
	}
	masks := &masking.Flags{}
	masks.Use(f.Mask, "", false)
	return masks.Leaving(plan, tables)
}
