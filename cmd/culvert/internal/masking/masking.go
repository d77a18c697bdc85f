// Package masking is what verbs share about masks: the flags and the file of the key, which columns rules are meant
// for, and the search for columns that need one.
package masking

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/export"
	"culvert/internal/keyfile"
	"culvert/internal/namepattern"
	"culvert/mask"
	"culvert/source"
)

// Flags are the flags of verbs whose rows may be masked.
type Flags struct {
	rules    []string
	keyFile  string
	programs []string
	strict   bool

	list, job string   // the list of columns, or "", and the job file that names it
	fresh     []string // columns that the list does not have

	started *mask.Programs // or nil
}

// Add adds the flags to a command.
func (f *Flags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.rules, "mask", nil, "mask columns: `PATTERN=RULE`, such as *.email=email; repeatable")
	f.AddKey(cmd)
	flags.BoolVar(&f.strict, "strict", false, "refuse columns that look like personal data and have no rule")
}

// AddKey adds only the flags of what is not in a manifest: the key, and the files of programs.
func (f *Flags) AddKey(cmd *cobra.Command) {
	cmd.Flags().Var((*command.NotEmpty)(&f.keyFile), "mask-key", "mask with the key in `FILE`")
	cmd.Flags().StringArrayVar(&f.programs, "mask-program", nil,
		"run a program for the rule \"program NAME\": `NAME=FILE`; repeatable")
}

// Given reports whether anything is to be masked, to be refused, or to be compared with a list.
func (f *Flags) Given() bool { return f.Hides() || f.Compares() }

// Hides reports whether there may be values that nobody is to see.
func (f *Flags) Hides() bool { return len(f.rules) > 0 || f.strict }

// Use adds rules that come before those of the flags, and what the flags do not say.
func (f *Flags) Use(rules []string, keyFile string, strict bool) {
	f.rules = append(slices.Clone(rules), f.rules...)
	if f.keyFile == "" {
		f.keyFile = keyFile
	}
	f.strict = f.strict || strict
}

// Inputs are the files that are read.
func (f *Flags) Inputs() []string {
	if f.keyFile == "" {
		return nil
	}
	return []string{f.keyFile}
}

// maxKeyFile is the most bytes of a file with a key and comments.
const maxKeyFile = 64 << 10

// Key reads the key. It is nil if no file is named.
func (f *Flags) Key() (_ *mask.Key, err error) {
	if f.keyFile == "" {
		return nil, nil
	}
	file, err := os.Open(f.keyFile)
	if err != nil {
		return nil, command.WithHint(err, "make a key: culvert keygen --mask -o "+command.ForShell(f.keyFile))
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if keyfile.OthersCanRead(file) {
		return nil, command.WithHint(fmt.Errorf("other users can read the mask key in %q", f.keyFile),
			"chmod 600 "+command.ForShell(f.keyFile))
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFile))
	if err != nil {
		return nil, err
	}
	key, err := mask.ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("mask key %q: %w", f.keyFile, err)
	}
	return key, nil
}

// assignment is a rule for the columns that a pattern matches.
type assignment struct {
	pattern *namepattern.Pattern
	anyCase *namepattern.Pattern // the same in lower case
	rule    mask.Rule            // the zero value for none
}

// none is the rule of columns that stay as they are, whatever rules come before it.
const none = "none"

// assignments parses the rules.
func (f *Flags) assignments() ([]assignment, error) {
	all := make([]assignment, 0, len(f.rules))
	for _, text := range f.rules {
		pattern, rule, found := strings.Cut(text, "=")
		if !found {
			return nil, command.WithHint(command.Usagef("--mask is PATTERN=RULE, not %q", text),
				"see: culvert help masks")
		}
		one := assignment{}
		var err error
		if one.anyCase, err = namepattern.Parse(strings.ToLower(pattern), 3); err == nil {
			one.pattern, err = namepattern.Parse(pattern, 3)
		}
		if err == nil && strings.TrimSpace(rule) != none {
			one.rule, err = mask.ParseRule(rule)
		}
		if err != nil {
			return nil, command.WithHint(command.Usagef("--mask %s: %v", text, command.Plain(err)),
				"see: culvert help masks")
		}
		all = append(all, one)
	}
	return all, nil
}

// Check refuses flags that do not fit together, before a database is asked.
func (f *Flags) Check() error {
	all, err := f.assignments()
	if err != nil {
		return err
	}
	needed := slices.ContainsFunc(all, func(one assignment) bool { return !one.rule.IsZero() && !one.rule.IsDrop() })
	if needed && f.keyFile == "" {
		return command.WithHint(command.Usagef("masks need a key"),
			"make one, and keep it: culvert keygen --mask -o mask.key", "use it: --mask-key mask.key")
	}
	return f.checkPrograms(all)
}

// Look looks tables up, and returns what is masked of them. It warns of what cannot be checked. With strict, it reads
// some rows of each table.
func (f *Flags) Look(
	ctx context.Context, a *command.App, src source.Source, plan *export.Plan, names []string,
) (*mask.Policy, error) {
	tables, err := plan.MaskTables(ctx, src, names)
	if err != nil {
		return nil, err
	}
	policy, err := f.Policy(ctx, tables)
	if err != nil {
		return nil, err
	}
	read := WithoutDropped(policy, tables)
	if err := CheckHeirs(policy, withRows(plan, read)); err != nil {
		return nil, err
	}
	if err := f.compare(a, plan, read); err != nil {
		return nil, err
	}
	if f.strict {
		suspects, err := Suspects(ctx, src, tables, f.decided(tables))
		if err = errors.Join(err, refuse(suspects)); err != nil {
			return nil, err
		}
	}
	notices, err := policy.Check(read)
	unknown := append(policy.Unknown(read), f.undecidedViews(read)...)
	if f.strict && err == nil && len(unknown) > 0 {
		return nil, fmt.Errorf("masks: %s", strings.Join(unknown, "; "))
	}
	notices = slices.Concat(notices, unknown, policy.Positions(tables), policy.Telling(tables))
	for _, notice := range notices {
		a.Console.Warn(notice)
	}
	return policy, err
}

// OfQuery returns what is masked of a query. With strict, it looks at the names and types of columns, not at rows,
// which are already on their way.
func (f *Flags) OfQuery(ctx context.Context, columns []source.Column) (*mask.Policy, error) {
	tables := []mask.Table{{Columns: columns}}
	policy, err := f.Policy(ctx, tables)
	if err != nil || !f.strict {
		return policy, err
	}
	return policy, refuse(suspectsOf(tables[0], make([][][]byte, len(columns)), f.decided(tables)[""]))
}

// Policy returns what is masked of tables. Of several rules for a column, the last one counts. The error names a
// pattern that matches no column.
func (f *Flags) Policy(ctx context.Context, tables []mask.Table) (*mask.Policy, error) {
	p, err := f.rulesOf(tables)
	if err != nil {
		return nil, err
	}
	if p.Key, err = f.Key(); err != nil {
		return nil, err
	}
	p.Programs, err = f.Started(ctx)
	return p, err
}

// rulesOf is Policy without what masks need to be applied.
func (f *Flags) rulesOf(tables []mask.Table) (*mask.Policy, error) {
	all, err := f.assignments()
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if t.Definition == nil && t.Name != "" && len(all) > 0 {
			return nil, fmt.Errorf("the definition of the table %q is too large to be looked up, so it is not known "+
				"which masks its columns have: leave out the table", t.Name)
		}
	}
	p, used := &mask.Policy{Tables: map[string]mask.Rules{}}, make([]bool, len(all))
	related := relativesOf(tables)
	for _, t := range tables {
		for _, c := range t.Columns {
			at := ruleOf(all, related.namesOf(t, c.Name), used)
			if at < 0 || all[at].rule.IsZero() {
				continue
			}
			if p.Tables[t.Name] == nil {
				p.Tables[t.Name] = mask.Rules{}
			}
			p.Tables[t.Name][c.Name] = all[at].rule
		}
	}
	if at := slices.Index(used, false); at >= 0 {
		return nil, command.WithHint(fmt.Errorf("no column matches %q, which is to be masked", all[at].pattern),
			"a pattern is column, table.column or schema.table.column: culvert help masks")
	}
	return p, nil
}

// WithoutDropped returns tables with the columns that are read.
func WithoutDropped(policy *mask.Policy, tables []mask.Table) []mask.Table {
	without := make([]mask.Table, len(tables))
	for i, t := range tables {
		dropped := policy.Dropped(t.Name)
		t.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c source.Column) bool {
			return slices.Contains(dropped, c.Name)
		})
		without[i] = t
	}
	return without
}

// PatternOf returns the pattern that matches only one column.
func PatternOf(t mask.Table, column string) string {
	parts := append(partsOf(t), column)
	if parts[0] == "" {
		parts = parts[1:] // SQLite has no schemas
	}
	return namepattern.Quote(parts...)
}

// Fit returns a rule for a column, or hash or text if the column is unique and the rule could make values equal.
func Fit(t mask.Table, column string, rule mask.Rule) mask.Rule {
	for _, text := range []string{rule.String(), "hash", "text"} {
		one, err := mask.ParseRule(text)
		if err != nil {
			continue
		}
		p := &mask.Policy{Key: mask.GenerateKey(), Tables: map[string]mask.Rules{t.Name: {column: one}}}
		if _, err := p.Check(WithoutDropped(p, []mask.Table{t})); err == nil {
			return one
		}
	}
	return rule
}

// partsOf returns the schema and the name of a table. Those of a query are empty.
func partsOf(t mask.Table) []string {
	if t.Definition == nil {
		return []string{"", t.Name}
	}
	return []string{t.Definition.Schema, t.Definition.Name}
}

// decided returns the columns that have a rule, also one that leaves them as they are.
func (f *Flags) decided(tables []mask.Table) map[string]map[string]bool {
	all, _ := f.assignments() // they were parsed before
	used := make([]bool, len(all))
	decided, related := map[string]map[string]bool{}, relativesOf(tables)
	for _, t := range tables {
		decided[t.Name] = map[string]bool{}
		for _, c := range t.Columns {
			decided[t.Name][c.Name] = ruleOf(all, related.namesOf(t, c.Name), used) >= 0
		}
	}
	return decided
}
