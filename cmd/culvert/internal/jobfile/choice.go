package jobfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/internal/namepattern"
	"culvert/internal/tablechoice"
	"culvert/manifest"
)

// ChoiceFlags say which of the tables are meant, by patterns. They override the job file.
type ChoiceFlags struct {
	Ignored []string // what the job file has and the command has no use for, once File was called

	include, exclude, noRows []string
	reads                    bool // the rows of a database

	file   string // --job
	read   *File
	tables Tables // of the file
}

// Add adds the flags to a command. Does is what the command does with tables, such as "export"; reads says whether it
// reads their rows from a database, and can leave them out.
func (f *ChoiceFlags) Add(cmd *cobra.Command, does string, reads bool) {
	f.reads = reads
	f.AddPatterns(cmd, does)
	flags := cmd.Flags()
	if reads {
		flags.StringArrayVar(&f.noRows, "exclude-rows", nil,
			"leave out the rows of tables that match `PATTERN`, not the tables; repeatable")
	}
	flags.Var((*command.NotEmpty)(&f.file), "job", "do what the job file `FILE` says; flags override it")
}

// AddPatterns adds only the patterns of tables.
func (f *ChoiceFlags) AddPatterns(cmd *cobra.Command, does string) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.include, "include", nil, does+" only tables that match `PATTERN`; repeatable")
	flags.StringArrayVar(&f.exclude, "exclude", nil, "leave out tables that match `PATTERN`; repeatable")
}

// NameOf returns the schema and the name of a table of an export, which patterns match.
func NameOf(t *manifest.Table) []string {
	d := t.Definition
	if d == nil {
		return []string{"main", t.Name}
	}
	return []string{cmp.Or(d.Schema, "main"), d.Name}
}

// Name returns the name of the job file, or "".
func (f *ChoiceFlags) Name() string { return f.file }

// Given reports whether any rule is given.
func (f *ChoiceFlags) Given() bool {
	return len(f.include)+len(f.exclude)+len(f.noRows) > 0 || !f.tables.isZero()
}

func (t *Tables) isZero() bool {
	return len(t.Include)+len(t.Exclude)+len(t.Rows.Exclude)+len(t.Named) == 0
}

// ExcludesOfFile reports whether the tables that are left out are those of the file.
func (f *ChoiceFlags) ExcludesOfFile() bool { return f.exclude == nil }

// Rules returns the rules of the flags and of the file. A text that is no pattern is an error of usage.
func (f *ChoiceFlags) Rules() (r tablechoice.Rules, err error) {
	t := &f.tables
	for _, one := range []struct {
		into *namepattern.Set
		flag []string
		file []TablePattern
		name string
	}{
		{&r.Include, f.include, t.Include, "include"},
		{&r.Exclude, f.exclude, t.Exclude, "exclude"},
		{&r.NoRows, f.noRows, t.Rows.Exclude, "exclude-rows"},
	} {
		texts := one.flag
		if texts == nil {
			texts = Texts(one.file)
		}
		if *one.into, err = namepattern.ParseSet(texts, 2); err != nil {
			return r, command.WithHint(command.Usagef("--%s: %v", one.name, err), patternHint)
		}
	}
	r.Optional, r.NoFollow = t.Optional, t.Follow != nil && !*t.Follow
	for _, name := range slices.Sorted(maps.Keys(t.Named)) {
		rule, err := t.Named[name].rule(string(name))
		if err != nil {
			return r, err
		}
		r.Tables = append(r.Tables, rule)
	}
	return r, nil
}

const patternHint = "a pattern is TABLE or SCHEMA.TABLE, with * ? [a-z] and \"quotes\"; see: culvert help jobs-file"

func (t Table) rule(name string) (r tablechoice.Rule, err error) {
	r = tablechoice.Rule{
		Where: t.Where, Columns: t.Columns.Include, WithoutColumns: t.Columns.Exclude,
		NoFollow: t.Follow != nil && !*t.Follow, Cut: t.Cut,
	}
	if r.Pattern, err = namepattern.Parse(name, 2); err != nil {
		return r, err
	}
	for _, one := range t.References {
		to, err := namepattern.Parse(string(one.Table), 2)
		if err != nil {
			return r, err
		}
		r.References = append(r.References, tablechoice.Reference{Columns: one.Columns, Table: to, Key: one.Key})
	}
	return r, nil
}

// Explain adds to an error of the choice what to do about it.
func Explain(err error) error {
	if none, is := errors.AsType[*tablechoice.UnmatchedError](err); is {
		var hints []string
		if near := nearHint(none.Pattern, none.Known); near != "" && len(none.Hidden) == 0 {
			hints = append(hints, near)
		}
		if len(none.Hidden) > 0 {
			hints = append(hints, "without a schema, it means only tables of the search path: write "+none.Hidden[0])
		}
		if none.What == "table" {
			hints = append(hints, patternHint)
		}
		return command.WithHint(command.Rephrase(err, fmt.Sprintf("no %s matches %q", none.What, none.Pattern)),
			hints...)
	}
	if circle, is := errors.AsType[*tablechoice.CircleError](err); is {
		return command.WithHint(err, fmt.Sprintf(
			"say in a job file which key is not followed: tables: %q: {cut: [%s]}", circle.Tables[len(circle.Tables)-2],
			cmp.Or(circle.Column, "COLUMN")))
	}
	return err
}
