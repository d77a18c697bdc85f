// Package tables is the verb tables: it lists the tables of a database, by its statistics, or of an export, by its
// manifest.
package tables

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/jobfile"
	"culvert/export"
	"culvert/internal/tablechoice"
	"culvert/manifest"
	"culvert/source"
)

// options are the flags of culvert tables.
type options struct {
	argument.InputFlags
	from   database.Flags
	choice jobfile.ChoiceFlags
}

// New returns the command tables.
func New(a *command.App) *cobra.Command {
	o, r := &options{}, &Report{Tables: []table{}}
	cmd := a.Reporting("tables", r, func(ctx context.Context, args []string) error {
		if o.from.File == "" && len(args) > 0 && (argument.IsURL(args[0]) || argument.IsDirectory(args[0])) {
			return o.ofExport(ctx, a, r, args[0], args[1:])
		}
		return o.ofDatabase(ctx, a, r, args)
	})
	cmd.ValidArgsFunction = o.from.CompleteTables
	o.InputFlags.Add(cmd)
	o.from.Add(cmd)
	o.choice.AddPatterns(cmd, "list")
	return cmd
}

// ofDatabase lists tables of a database.
func (o *options) ofDatabase(ctx context.Context, a *command.App, r *Report, args []string) (err error) {
	db, names, err := o.from.Parse(a, args)
	if err != nil {
		return err
	}
	src, err := db.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	r.Estimated = true
	return db.Explain(o.look(ctx, src, r, names))
}

// lookedUpAtOnce is how many tables a source looks up together; see [source.Preparer].
const lookedUpAtOnce = 500

func (o *options) look(ctx context.Context, src source.Source, r *Report, names []string) error {
	described, err := source.Describe(ctx, src)
	if err != nil {
		return err
	}
	r.System, r.Database = described.System, described.Database
	if len(names) == 0 {
		lister, is := src.(source.Lister)
		if !is {
			return command.Usagef("this source cannot list its tables: name them")
		}
		if names, err = lister.Tables(ctx, ""); err != nil {
			return err
		}
	}
	if o.choice.Given() {
		rules, err := o.choice.Rules()
		if err != nil {
			return err
		}
		chosen, err := rules.Choose(ctx, src, names)
		if err != nil {
			return jobfile.Explain(err)
		}
		names = chosen.Names
	}
	failed := 0
	for some := range slices.Chunk(names, lookedUpAtOnce) {
		if err := source.Prepare(ctx, src, some); err != nil {
			return err
		}
		for _, name := range some {
			size, err := sizeOf(ctx, src, name)
			if err != nil {
				if ctx.Err() != nil || errors.Is(err, source.ErrUnavailable) || len(names) == 1 {
					return err
				}
				failed++
			}
			r.add(name, size, err)
		}
	}
	if failed > 0 {
		return &export.PartialError{Failed: failed, Tables: len(names)}
	}
	return nil
}

// sizeOf asks a database for the size of a table.
func sizeOf(ctx context.Context, src source.Source, name string) (size source.Size, err error) {
	rows, err := src.Table(ctx, name)
	if err != nil {
		return source.Size{}, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if sized, is := rows.(source.Sized); is {
		size, err = sized.Size()
	}
	return size, err
}

// ofExport lists tables of an export.
func (o *options) ofExport(ctx context.Context, a *command.App, r *Report, from string, names []string) (err error) {
	config := export.ReadConfig{}
	if config.Identities, err = o.DecryptFlags.WhenNeeded(ctx, a); err != nil {
		return err
	}
	ctx, l, err := argument.Locate(ctx, a, from, &o.PlaceFlags)
	if err != nil {
		return err
	}
	defer func() { err = l.Close(err) }()
	r.Export = l.Text
	files, err := l.Directory()
	if err != nil {
		return err
	}
	d, err := config.OpenDirectory(ctx, files)
	if err != nil {
		return l.Damage(err)
	}
	r.System, r.Database = d.Manifest.System, d.Manifest.Database
	return o.choose(d.Manifest, r, names)
}

// choose lists those tables of a manifest that are meant.
func (o *options) choose(m *manifest.Manifest, r *Report, names []string) error {
	rules, err := o.choice.Rules()
	if err != nil {
		return err
	}
	var known []string
	var parts [][]string
	for i := range m.Tables {
		t := &m.Tables[i]
		name := jobfile.NameOf(t)
		known, parts = append(known, t.Name), append(parts, name)
		if (len(names) == 0 || slices.Contains(names, t.Name)) &&
			(len(rules.Include) == 0 || rules.Include.Match(name...)) && !rules.Exclude.Match(name...) {
			r.addEntry(t)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return jobfile.Explain(&tablechoice.UnmatchedError{What: "table", Pattern: name, Known: known})
		}
	}
	if unmatched := slices.Concat(rules.Include, rules.Exclude).Unmatched(parts); len(unmatched) > 0 {
		return jobfile.Explain(tablechoice.Unmatched(unmatched[0], parts))
	}
	return nil
}
