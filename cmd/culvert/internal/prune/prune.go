// Package prune is the verb prune: it removes exports that no rule keeps from a place that has many.
//
// [policy] chooses, remove.go removes one export so that a death in between is recognised, and the rest finds out what
// is an export.
package prune

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/export"
	"culvert/manifest"
	"culvert/place"
)

// options are the flags of culvert prune.
type options struct {
	argument.InputFlags
	author argument.AuthorFlags
	keep   policy
	yes    bool
}

// New returns the command prune.
func New(a *command.App) *cobra.Command {
	o, r := &options{}, &Report{Exports: []pruned{}}
	cmd := a.Reporting("prune", r, func(ctx context.Context, args []string) error { return o.run(ctx, a, r, args[0]) })
	cmd.Args = command.Exactly(1)
	o.InputFlags.Add(cmd)
	o.author.Add(cmd, "count and remove")
	o.keep.add(cmd)
	cmd.Flags().BoolVar(&o.yes, "yes", false, "remove; without it, prune only says what it would remove")
	return cmd
}

func (o *options) run(ctx context.Context, a *command.App, r *Report, from string) (err error) {
	if !o.keep.given() {
		return command.WithHint(command.Usagef("no rule says what is kept"), "such as --keep-daily 7 --keep-weekly 4")
	}
	if err := o.author.Read(ctx, a); err != nil {
		return err
	}
	config := export.ReadConfig{}
	if config.Identities, err = o.DecryptFlags.WhenNeeded(ctx, a); err != nil {
		return err
	}
	ctx, l, err := argument.Locate(ctx, a, from, &o.PlaceFlags)
	if err != nil {
		return err
	}
	defer func() { err = l.Close(err) }()
	r.Place, r.Yes = l.Text, o.yes
	all, err := place.Sub(l.Place, l.Name)
	if err == nil {
		err = r.scan(ctx, all, config, &o.author)
	}
	if err != nil {
		return l.Blame(err)
	}
	r.choose(&o.keep)
	if o.yes {
		err = r.remove(ctx, all)
	}
	if err != nil {
		return l.Blame(err)
	}
	if r.incomplete {
		return command.Incomplete(errors.New("some exports could not be read or removed"))
	}
	return nil
}

// scan finds the exports.
func (r *Report) scan(
	ctx context.Context, all place.Place, config export.ReadConfig, author *argument.AuthorFlags,
) error {
	entries, err := fs.ReadDir(all, ".")
	if err != nil && len(entries) == 0 {
		return err
	}
	r.incomplete = err != nil
	for _, entry := range entries {
		name := entry.Name()
		if name == manifest.Name || name == manifest.EncryptedName {
			return command.WithHint(command.Usagef("%s is one export", r.Place), "name the directory that it is in")
		}
		one := pruned{Name: name, Result: left}
		if !entry.IsDir() {
			one.Error = "it is a file"
		} else if err := one.look(ctx, all, config, author); err != nil {
			if ctx.Err() != nil || errors.Is(err, place.ErrUnreachable) {
				return err
			}
			one.Error = command.Plain(err)
			r.incomplete = r.incomplete || !errors.Is(err, errNoExport)
		}
		r.Exports = append(r.Exports, one)
	}
	return nil
}

// errNoExport marks the errors of what is no export, and of exports that are none any more.
var errNoExport = errors.New("it is no export")

func noExport(err error) error {
	return command.Rephrase(errors.Join(errNoExport, err), command.Plain(err))
}

// skew is by how much clocks may differ. An export that a wrong clock has dated later would be the newest for years,
// and so in place of all that follow it.
const skew = 24 * time.Hour

// look finds out whether a directory is an export, and whether all of it is there.
func (e *pruned) look(
	ctx context.Context, all place.Place, config export.ReadConfig, author *argument.AuthorFlags,
) error {
	p, err := place.Sub(place.WithContext(ctx, all), e.Name)
	if err != nil {
		return err
	}
	marked, err := readMark(p)
	if err != nil {
		return err
	}
	d, err := config.OpenDirectory(ctx, p)
	switch {
	case errors.Is(err, export.ErrNoManifest) && marked != "":
		e.Result, e.marked = due, true
		return nil
	case errors.Is(err, export.ErrNoManifest):
		return noExport(errors.New("there is no manifest"))
	case err != nil:
		if at, is := errors.AsType[*fs.PathError](err); is {
			err = argument.ReadError(path.Join(e.Name, path.Base(at.Path)), at.Err)
		}
		return err
	}
	if err := author.Check(e.Name, d.Manifest); err != nil {
		return noExport(err)
	}
	if d.Manifest.Begun.After(time.Now().Add(skew)) {
		return noExport(errors.New("it has begun in the future, by the clock of this machine"))
	}
	files := filesOf(d.Manifest)
	e.manifest, e.marked = d.Manifest, marked == textOf(d.Manifest)
	e.Database, e.Begun = d.Manifest.Database, d.Manifest.Begun
	e.Files, e.Bytes = len(files)+1, d.Size()
	if err := missing(p, files); err != nil && !e.marked {
		return noExport(err)
	}
	e.Result = due
	return nil
}

// choose finds out which of the exports are kept.
func (r *Report) choose(keep *policy) {
	groups := map[[2]string][]*pruned{}
	for i := range r.Exports {
		if e := &r.Exports[i]; e.Result == due && !e.marked {
			of := [2]string{e.Database, string(e.manifest.Author())} // machines have databases of the same name
			groups[of] = append(groups[of], e)
		}
	}
	for _, group := range groups {
		slices.SortFunc(group, func(a, b *pruned) int {
			return cmp.Or(b.Begun.Compare(a.Begun), cmp.Compare(b.Name, a.Name))
		})
		begun := make([]time.Time, len(group))
		for i, e := range group {
			begun[i] = e.Begun.Local()
		}
		good := false
		for i, rules := range keep.keep(begun) {
			e := group[i]
			if !good && e.isGood() {
				good = true
				if len(rules) == 0 {
					rules = []string{"good"}
				}
			}
			if e.Keep = rules; len(rules) > 0 {
				e.Result = kept
			}
		}
	}
}

// isGood reports whether the export has all its tables, and rows.
func (e *pruned) isGood() bool {
	tables := e.manifest.Tables
	return !slices.ContainsFunc(tables, func(t manifest.Table) bool { return t.Error != "" }) &&
		slices.ContainsFunc(tables, func(t manifest.Table) bool { return !t.IsDefined() })
}

// remove removes the exports that are due, the oldest first.
func (r *Report) remove(ctx context.Context, all place.Place) error {
	var dues []*pruned
	for i := range r.Exports {
		if r.Exports[i].Result == due {
			dues = append(dues, &r.Exports[i])
		}
	}
	slices.SortFunc(dues, func(a, b *pruned) int { return a.Begun.Compare(b.Begun) })
	for _, e := range dues {
		err := remove(ctx, all, e.Name, e.manifest)
		switch {
		case err == nil:
			e.Result = removed
		case ctx.Err() != nil, errors.Is(err, place.ErrUnreachable):
			return err
		default:
			e.Result, e.Error, r.incomplete = failed, command.Plain(err), true
		}
	}
	return nil
}
