package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/jobfile"
	"culvert/internal/namepattern"
	"culvert/internal/tablechoice"
	"culvert/manifest"
	"culvert/sink"
	"culvert/source"
)

// applyJob sets what the job file says and the command line does not, and returns the arguments with its SOURCE and
// DEST.
func (o *copyOptions) applyJob(cmd *cobra.Command, args []string) ([]string, error) {
	file, err := o.choice.File(cmd)
	if err != nil || file == nil {
		return args, err
	}
	o.masks.Compare(file.ColumnsFile(o.choice.Name()), o.choice.Name())
	named := len(args) > 0
	if args, err = file.Source(cmd, args); err != nil || named {
		return args, err
	}
	o.all = true
	return withDest(file, o.choice.Name(), args)
}

// withDest adds the DEST of a job file to arguments.
func withDest(file *jobfile.File, name string, args []string) ([]string, error) {
	if file.To == "" {
		return args, nil
	}
	to, err := file.Expand(name, time.Now(), func() (string, error) {
		return "", command.Usagef("%s: {database} is for the output of an export", name)
	})
	return append(args, to), err
}

// choose returns those of some tables that the rules mean, if any are given, and has the plan know what of them.
func (c *copying) choose(ctx context.Context, names []string) ([]string, error) {
	if !c.o.choice.Given() {
		return names, nil
	}
	rules, err := c.o.choice.Rules()
	if err != nil {
		return nil, err
	}
	chosen, err := rules.Choose(ctx, c.src, names)
	if err != nil {
		return nil, jobfile.Explain(err)
	}
	if len(chosen.Names) == 0 {
		return nil, errors.New("no table is left to copy")
	}
	if c.chosen == nil && !c.o.JSON {
		for _, pattern := range chosen.Unmatched {
			c.a.Console.Warn(fmt.Sprintf("no table matches %q", pattern))
		}
		for _, one := range chosen.Hidden {
			c.a.Console.Warn(one)
		}
	}
	c.chosen, c.plan.Choices = chosen, chosen.Choices
	return chosen.Names, nil
}

// chooseTargets leaves out the tables that are named and that the rules leave out.
func (c *copying) chooseTargets(ctx context.Context) error {
	names := make([]string, len(c.targets))
	for i, t := range c.targets {
		names[i] = t.from
	}
	names, err := c.choose(ctx, names)
	c.targets = slices.DeleteFunc(c.targets, func(t target) bool { return !slices.Contains(names, t.from) })
	if err == nil && c.chosen != nil {
		c.leaveOut(c.chosen.LeftOut, c.o.JSON)
	}
	return err
}

// schemaConfig says what belongs to the schema.
func (c *copying) schemaConfig() source.SchemaConfig {
	config := source.SchemaConfig{LargeObjects: c.o.largeObjects}
	if c.chosen != nil {
		config.Without, config.WithoutKeys = c.chosen.Without()
	}
	return config
}

// leftOut adds the foreign keys that are left out.
func (c *copying) leftOut(omitted []string) []string {
	if c.chosen == nil {
		return omitted
	}
	return append(slices.Clip(omitted), c.chosen.LeftOut...)
}

// withoutNeeds returns what is left out, without what is made since tables need it, and with what of that is not made.
func (c *copying) withoutNeeds(ctx context.Context, names, omitted []string) ([]string, error) {
	described, err := source.Describe(ctx, c.src)
	if err != nil {
		return nil, err
	}
	if _, provides := sink.ProviderOf(c.dst, source.DialectOf(described.System)); !provides {
		return omitted, nil
	}
	needs, err := source.NeedsOf(ctx, c.src, names)
	if err != nil || needs == nil {
		return omitted, err
	}
	return append(needs.WithoutMade(omitted), needs.Lacks...), nil
}

// applyJob sets what the job file says and the command line does not, and returns the arguments with its DIR and DEST.
// The file may also be that of the export.
func (o *options) applyJob(cmd *cobra.Command, a *command.App, args []string) ([]string, error) {
	file, err := o.choice.File(cmd)
	if err != nil || file == nil {
		return args, err
	}
	isHere := argument.IsURL(file.From) || argument.IsDirectory(file.From)
	o.ofExport = len(o.choice.Ignored) > 0 || file.From != "" && !isHere
	if len(o.choice.Ignored) > 0 && o.Tells() {
		a.Console.Print(fmt.Sprintf("%s: ignored, since a load has no use for it: %s", o.choice.Name(),
			strings.Join(o.choice.Ignored, ", ")))
	}
	switch {
	case len(args) > 0:
		return args, nil
	case file.From == "":
		return args, jobfile.Hinted(&jobfile.Error{
			File: o.choice.Name(), Text: "it does not say what is loaded",
			Hint: "add: from: DIR",
		})
	case len(o.choice.Ignored) > 0 && !isHere:
		return args, jobfile.Hinted(&jobfile.Error{
			File: o.choice.Name(), Text: "it is for an export, so it does not say which directory is loaded",
			Hint: "say it: culvert load --job " + command.ForShell(o.choice.Name()) + " DIR DEST",
		})
	case o.to.File != "":
		return []string{file.From}, nil
	}
	return withDest(file, o.choice.Name(), []string{file.From})
}

// chooseTables has only those tables of an export loaded that the rules mean, if any are given: as if they were named.
func (l *loading) chooseTables(m *manifest.Manifest) error {
	if !l.o.choice.Given() {
		return nil
	}
	rules, err := l.o.choice.Rules()
	if err != nil {
		return err
	}
	var names [][]string
	var chosen []target
	for i := range m.Tables {
		t := &m.Tables[i]
		names = append(names, jobfile.NameOf(t))
		at := slices.IndexFunc(l.tables, func(one target) bool { return one.from == t.Name })
		if len(l.tables) > 0 && at < 0 || len(rules.Include) > 0 && !means(t, rules.Include) ||
			means(t, rules.Exclude) || at < 0 && t.IsDefined() && !l.o.create {
			continue
		}
		one := target{from: t.Name, to: t.Name}
		if at >= 0 {
			one = l.tables[at]
		}
		chosen = append(chosen, one)
	}
	needed := rules.Include
	if !l.o.ofExport || !l.o.choice.ExcludesOfFile() { // otherwise the export has left them out already
		needed = slices.Concat(needed, rules.Exclude)
	}
	for _, p := range needed {
		isMeant := func(t manifest.Table) bool { return means(&t, namepattern.Set{p}) }
		if !rules.Optional && !slices.ContainsFunc(m.Tables, isMeant) {
			none := tablechoice.Unmatched(p, names)
			for _, name := range names {
				if p.Match(name...) {
					none.Hidden = append(none.Hidden, namepattern.Quote(name...))
				}
			}
			return jobfile.Explain(none)
		}
	}
	if len(chosen) == 0 {
		return errors.New("no table is left to load")
	}
	l.tables = chosen
	return nil
}

// means reports whether any of the patterns means a table of an export, by the search path that the export had.
func means(t *manifest.Table, set namepattern.Set) bool {
	return tablechoice.Means(set, jobfile.NameOf(t), t.Definition != nil && t.Definition.Hidden)
}
