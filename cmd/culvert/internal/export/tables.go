package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/internal/publish"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
)

// lookUp finds out which tables there are and what makes their database again, which schema reads, and returns what is
// left out.
func (e *request) lookUp(
	ctx context.Context, a *command.App, src source.Source,
	schema func(context.Context, *command.App, source.Source) ([]string, error),
) (omitted []string, err error) {
	o := e.options
	if _, ok := src.(source.Parter); !ok && o.parted() {
		return nil, command.WithHint(command.Usagef("this source cannot be read in parts"), "leave out --part-size")
	}
	if err = e.choose(ctx, src, a); err == nil {
		e.plan.Omitted, err = e.omitted(ctx, src)
	}
	if err == nil {
		omitted, err = schema(ctx, a, src)
	}
	if err == nil && e.plan.Schema != nil && e.plan.Schema.OwnRows {
		e.plan.Omitted, err = e.omitted(ctx, src)
	}
	switch { // which tables there are depends on the schema
	case err != nil:
	case !o.schemaOnly:
		e.names, err = e.listTables(ctx, src)
		omitted = append(omitted, e.late.omitted...)
	case !e.plan.Schema.Tables, o.masks.Given():
		e.defined, err = e.listTables(ctx, src)
	}
	if err == nil && e.plan.Schema == nil && e.plan.FinishSchema == nil && o.several(e.names) {
		var lacks []string
		lacks, err = e.readNeeds(ctx, src, e.names)
		omitted = append(e.plan.Schema.WithoutMade(omitted), lacks...)
	}
	if err == nil && !o.JSON {
		a.WarnOmitted(omitted)
	}
	if err == nil {
		err = e.checkBloom(ctx, src, e.names)
	}
	if err == nil {
		err = e.mask(ctx, a, src, slices.Concat(e.names, e.defined))
	}
	return omitted, e.db.Explain(err)
}

// tables exports several tables.
func (e *request) tables(ctx context.Context, a *command.App, w *command.Work, r *Report) (err error) {
	o := e.options
	var l *argument.Location
	defer func() {
		if l != nil {
			err = l.Close(err)
		}
	}()
	if o.output != "" {
		if ctx, l, err = newDirectory(ctx, a, o.output, o); err != nil {
			return err
		}
	}
	if !o.plaintext {
		if e.plan.Recipients, err = o.RecipientFlags.Read(ctx, a, nil); err != nil {
			return err
		}
	}
	if key, err := a.Author(ctx); err != nil {
		return err
	} else if key != nil {
		e.plan.Author, r.Author = key.ConnectionKey(), key.Fingerprint()
	}
	if o.shared.given() {
		if l == nil {
			if ctx, l, err = e.locate(ctx, a); err != nil {
				return err
			}
		}
		return e.share(ctx, a, w, r, l)
	}
	directory := func(src source.Source) (_ context.Context, _ *argument.Location, err error) {
		if l == nil {
			var path string
			if path, err = o.directory(ctx, src); err != nil {
				return nil, nil, e.db.Explain(err)
			}
			ctx, l, err = newDirectory(ctx, a, path, o)
		}
		return ctx, l, err
	}
	return e.attempt(a, r, func(one *request) error { return one.tablesOnce(ctx, a, w, r, directory) })
}

// tablesOnce exports several tables as of one snapshot.
func (e *request) tablesOnce(
	ctx context.Context, a *command.App, w *command.Work, r *Report,
	directory func(source.Source) (context.Context, *argument.Location, error),
) (err error) {
	o := e.options
	src, err := e.open(ctx)
	if err != nil {
		return err
	}
	end := sync.OnceValue(src.Close)
	defer func() { err = errors.Join(err, end()) }()
	if r.Omitted, err = e.lookUp(ctx, a, src, e.startSchema); err != nil {
		return err
	}
	r.Schema, r.MomentReport = reportOf(e.plan.Schema), database.MomentOf(src)
	ctx, l, err := directory(src)
	if err != nil {
		return err
	}
	if err := e.checkFiles(l); err != nil {
		return err
	}
	r.Output, w.Name = l.Text, l.Text
	to, err := l.Directory()
	if err != nil {
		return err
	}
	release, err := o.occupy(l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	w.Begin()
	if len(e.names) == 0 { // --schema-only, or a database without tables
		err := e.plan.SchemaOnly(ctx, to, src, e.defined)
		if w.Summary = r.Schema.summary(); errors.Is(err, fs.ErrExist) {
			err = l.Explain(err) // a manifest
		}
		return e.db.Explain(hintAtForce(err, o, nil))
	}
	e.afterSchema(func() { _ = end() }) // the deferred call has the error
	all, err := e.plan.Tables(ctx, to, src, e.names)
	w.Stop() // what follows is no progress
	e.tellLateSchema(a, r)
	partial := command.Is[*export.PartialError](err)
	of := len(e.names)
	if complete := r.tell(w, e.reports(a, r, all), of); err != nil && !partial && complete > 0 && !o.JSON {
		a.Console.Warn(fmt.Sprintf("%s: %d of %s complete, but there is no manifest",
			r.Output, complete, ui.Several(int64(of), "table")))
	}
	if errors.Is(err, fs.ErrExist) {
		err = l.Explain(err) // a manifest
	}
	return e.db.Explain(hintAtForce(err, o, all))
}

// occupy keeps other exports out of a directory of this machine whose files may be replaced: otherwise each of two
// replaces some files of the other one, and both end well. Without --force, or in another place, it does nothing.
func (o *options) occupy(l *argument.Location) (release func() error, err error) {
	if !o.force || argument.IsURL(l.Text) {
		return func() error { return nil }, nil
	}
	err = os.Mkdir(l.Text, 0o777)
	made := err == nil
	if made {
		err = publish.SyncPath(filepath.Dir(filepath.Clean(l.Text)))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, command.WithOutputHint(err)
	}
	unlock, err := publish.LockDirectory(l.Text)
	if errors.Is(err, publish.ErrLocked) {
		err = command.WithHint(fmt.Errorf("another export writes to %q", l.Text),
			"wait for it, or name another directory: -o DIR")
	}
	return func() error {
		if made {
			_ = os.Remove(l.Text) // fails if anything was written
		}
		return unlock()
	}, err
}

// locate returns the directory of tables if none is named. Its name may be that of the database.
func (e *request) locate(
	ctx context.Context, a *command.App,
) (inner context.Context, l *argument.Location, err error) {
	src, err := e.options.openOne(ctx, e.db)
	if err != nil {
		return nil, nil, err
	}
	path, err := e.options.directory(ctx, src)
	if err = errors.Join(err, src.Close()); err != nil {
		return nil, nil, e.db.Explain(err)
	}
	return newDirectory(ctx, a, path, e.options)
}

// hintAtForce adds a hint to the error of a place that was lost. Because of the files that are complete, the same
// command would be refused.
func hintAtForce(err error, o *options, all []export.TableStats) error {
	if o.force || o.shared.given() || len(all) == 0 || !errors.Is(err, place.ErrUnreachable) {
		return err
	}
	return command.WithHint(err, "run the command again with --force, which replaces the files that are complete")
}

// checkFiles refuses a directory of this machine in which a file would overwrite one that is read.
func (e *request) checkFiles(l *argument.Location) error {
	files := []string{manifest.Name, manifest.EncryptedName}
	if !e.options.parted() {
		files = append(files, manifest.FileNames(e.names, e.plan.Extension())...)
	}
	for _, name := range files {
		if l.URL != nil {
			break
		}
		if err := argument.RefuseSameFile(l.Join(name), e.inputs); err != nil {
			return err
		}
	}
	return nil
}

// listTables returns the tables that are exported. A whole database need not have any.
func (e *request) listTables(ctx context.Context, src source.Source) ([]string, error) {
	names, err := e.tableNames(ctx, src)
	if errors.Is(err, database.ErrNoTables) && e.plan.FinishSchema != nil {
		if _, _, finishErr := e.plan.FinishSchema(ctx); finishErr != nil {
			return nil, finishErr
		}
		e.plan.FinishSchema = nil // there are no rows beside which it could be read
	}
	if errors.Is(err, database.ErrNoTables) && e.plan.Schema != nil && len(e.plan.Schema.Statements) > 0 {
		return nil, nil
	}
	return names, err
}

// tableNames returns the tables that are named, or those that the database has.
func (o *options) tableNames(ctx context.Context, src source.Source, names []string) ([]string, error) {
	if !o.listed() {
		return names, nil
	}
	lister, ok := src.(source.Lister)
	if !ok {
		return nil, command.Usagef("this source cannot list its tables: name them")
	}
	var all []string
	seen := map[string]bool{}
	for _, schema := range o.listedSchemas() {
		tables, err := lister.Tables(ctx, schema)
		if err != nil {
			return nil, err
		}
		for _, name := range tables {
			if !seen[name] {
				seen[name], all = true, append(all, name)
			}
		}
	}
	if len(all) == 0 {
		return nil, database.NoTables(ctx, src, "export")
	}
	return all, nil
}

// listedSchemas are the schemas whose tables are exported; "" is all of them.
func (o *options) listedSchemas() []string {
	if o.all {
		return []string{""}
	}
	return o.schemas
}

// omitted returns what the tables that the database has leave out; nothing if tables are named.
func (o *options) omitted(ctx context.Context, src source.Source) ([]string, error) {
	return source.Omitted(ctx, src, o.listedSchemas()...)
}

// directory is where several tables go: the directory that is named, or else one with the name of the only schema, or
// of the database.
func (o *options) directory(ctx context.Context, src source.Source) (string, error) {
	name := "tables"
	switch {
	case o.output != "":
		return o.output, nil
	case len(o.schemas) == 1:
		name = o.schemas[0]
	default:
		of, err := nameOfDatabase(ctx, src)
		if err != nil {
			return "", err
		}
		name = cmp.Or(of, name)
	}
	return manifest.FileNames([]string{name}, "")[0], nil
}

// newDirectory returns the location of a new directory. It refuses one that is not empty, unless force is set.
func newDirectory(
	ctx context.Context, a *command.App, path string, o *options) (context.Context, *argument.Location, error,
) {
	ctx, l, err := argument.Locate(ctx, a, path, &o.PlaceFlags)
	if err != nil {
		return nil, nil, err
	}
	if err := checkNew(l, o.force || o.shared.resumes()); err != nil {
		if errors.Is(err, errNotEmpty) && o.shared.given() {
			err = command.WithHint(err, "go on with an export that has stopped: --resume",
				"choose another directory with -o DIR, or overwrite files with --force")
		}
		return nil, nil, l.Close(l.Blame(err))
	}
	return ctx, l, nil
}

var errNotEmpty = errors.New("the output directory is not empty")

func checkNew(l *argument.Location, force bool) (err error) {
	if target, err := os.Readlink(l.Text); err == nil {
		if _, err := os.Stat(l.Text); errors.Is(err, fs.ErrNotExist) {
			return command.WithHint(
				fmt.Errorf("output %q is a symbolic link to %q, which does not exist", l.Text, target),
				"make the directory that it leads to, or choose another one with -o DIR")
		}
	}
	info, err := l.Info()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return command.WithHint(command.Usagef("output %q is not a directory, which several tables need", l.Text),
			"name another: -o DIR")
	case force:
		return nil
	}
	f, err := l.Place.Open(l.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if dir, is := f.(fs.ReadDirFile); is {
		_, err = dir.ReadDir(1)
	}
	switch err {
	case io.EOF:
		return nil
	case nil:
		return command.WithHint(command.Rephrase(errNotEmpty, fmt.Sprintf("output directory %q is not empty", l.Text)),
			"choose another one with -o DIR, or overwrite files with --force")
	}
	return err
}
