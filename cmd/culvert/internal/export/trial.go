package export

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/source"
)

// Trial is the export of a job file, of which package doctor finds out step by step whether it would work. No step
// reads the rows of a table.
type Trial struct {
	request *request
	app     *command.App
	vacant  error // see Vacant
}

// NewTrial reads the job file of the flag --job of a command. The flags of the command that an export has too override
// the file.
// The arguments are a SOURCE, or nothing. The errors are those with which an export refuses its command line.
func NewTrial(a *command.App, from *cobra.Command, args []string) (*Trial, error) {
	cmd, o := newCommand(a)
	var err error
	from.Flags().Visit(func(f *pflag.Flag) {
		if cmd.Flags().Lookup(f.Name) != nil {
			err = errors.Join(err, cmd.Flags().Set(f.Name, f.Value.String()))
		}
	})
	if err != nil {
		return nil, err
	}
	if args, err = o.applyJob(cmd, args); err != nil {
		return nil, err
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	e, err := o.request(a, args)
	if err == nil && len(e.names) > 0 {
		err = command.Usagef("the tables of a job are those of its file")
	}
	return &Trial{request: e, app: a}, err
}

// Close ends the programs of masks.
func (t *Trial) Close() error { return t.request.options.masks.End(nil) }

// Database returns what is exported.
func (t *Trial) Database() database.Database { return t.request.db }

// Schema returns what belongs to the schema, and whether it is exported. It is known once Tables was called.
func (t *Trial) Schema() (source.SchemaConfig, bool) {
	o := t.request.options
	return t.request.schemaConfig(), o.all && !o.dataOnly
}

// Tables returns the tables that are meant, and what is to be known of the patterns that choose them. The error names
// a pattern that matches nothing.
func (t *Trial) Tables(ctx context.Context, src source.Source) (names, notices []string, err error) {
	e := t.request
	if e.options.choice.Given() {
		if e.chosen, err = e.chosenOf(ctx, src); err != nil {
			e.chosen = nil
			return nil, nil, err
		}
		e.plan.Choices = e.chosen.Choices
		for _, pattern := range e.chosen.Unmatched {
			notices = append(notices, fmt.Sprintf("no table matches %q", pattern))
		}
		notices = append(notices, e.chosen.Hidden...)
	}
	names, err = e.tableNames(ctx, src)
	if _, whole := t.Schema(); whole && errors.Is(err, database.ErrNoTables) {
		t.vacant, err = err, nil
	}
	e.names = names
	return names, notices, err
}

// Vacant returns an error if there are no tables, so that nothing is exported unless the schema has something. It is
// known once Tables was called.
func (t *Trial) Vacant() error { return t.vacant }

// Estimate returns what is read of a table, about how many bytes that is, and whether rows are read at all. It has the
// database check the condition.
func (t *Trial) Estimate(ctx context.Context, src source.Source, table string) (
	of source.Selection, bytes int64, rows bool, err error,
) {
	of = t.request.plan.Choices[table].Selection
	estimate, err := t.request.plan.Estimate(ctx, src, table)
	if err != nil || estimate.Defined || t.request.options.schemaOnly {
		return of, 0, false, err
	}
	return of, estimate.Size.Bytes, true, nil
}

// HasMasks reports whether the job has rules for the columns of its tables.
func (t *Trial) HasMasks() bool { return t.request.options.masks.Given() && len(t.request.names) > 0 }

// Masks looks up the rules of the columns, with the key and the programs that they need, and returns how many columns
// have one.
func (t *Trial) Masks(ctx context.Context, src source.Source) (columns int, err error) {
	e := t.request
	if err := e.mask(ctx, t.app, src, e.names); err != nil {
		return 0, err
	}
	for _, name := range e.names {
		columns += len(e.plan.Masks.Of(name))
	}
	return columns, nil
}

// HasBloom reports whether columns of the tables of the job are to have bloom filters.
func (t *Trial) HasBloom() bool { return len(t.request.options.Bloom) > 0 && len(t.request.names) > 0 }

// Bloom looks for the columns that are to have bloom filters, and returns how many names they have.
func (t *Trial) Bloom(ctx context.Context, src source.Source) (columns int, err error) {
	e := t.request
	return len(e.options.Bloom), e.checkBloom(ctx, src, e.names)
}

// Recipients returns who could read the files, or nobody if they would not be encrypted.
func (t *Trial) Recipients(ctx context.Context) ([]string, error) {
	for _, file := range t.request.options.PassphraseFlags.Inputs() {
		if err := command.Readable(file); err != nil {
			return nil, command.About("reading the passphrase", err)
		}
	}
	return t.request.options.describeRecipients(ctx, t.app)
}

// Author returns the fingerprint of whoever would sign the export, or "".
func (t *Trial) Author(ctx context.Context) (string, error) {
	key, err := t.app.Author(ctx)
	if err != nil || key == nil {
		return "", err
	}
	return key.Fingerprint(), nil
}

// Output is where an export would go.
type Output struct {
	Text  string // of the argument, or its URL
	Local string // the directory of this machine that is there already, or ""
	Taken bool   // there are files by that name now, but the next run has another name
	Kept  error  // why the file could not be removed again that was written there, or nil
}

// removal bounds the time of what is done after an interruption.
const removal = 10 * time.Second

// Output writes a file where the export would go, and removes it again.
func (t *Trial) Output(ctx context.Context, src source.Source) (out Output, err error) {
	e, o := t.request, t.request.options
	renews := o.job != nil && (strings.Contains(o.job.To, "{date}") || strings.Contains(o.job.To, "{time}"))
	if err := e.expandOutput(ctx); err != nil {
		return out, err
	}
	if out.Text, err = o.directory(ctx, src); err != nil {
		return out, err
	}
	ctx, l, err := argument.Locate(ctx, t.app, out.Text, &o.PlaceFlags)
	if err != nil {
		return out, err
	}
	defer func() { err = l.Close(err) }()
	out.Text = l.Text
	err = checkNew(l, o.force || o.shared.resumes())
	if out.Taken = renews && errors.Is(err, errNotEmpty); err != nil && !out.Taken {
		return out, l.Blame(err)
	}
	dir, err := nearest(l)
	if err != nil {
		return out, l.Blame(err)
	}
	if l.URL == nil {
		if out.Local = filepath.Clean(l.Text); l.Name != "." {
			out.Local = filepath.Dir(out.Local)
		}
	}
	name := path.Join(dir, ".culvert-doctor-"+strings.ToLower(rand.Text()))
	f, err := l.Place.Create(ctx, name)
	if err == nil {
		_, err = f.Write([]byte("culvert doctor has left this file, which can be removed\n"))
		if err == nil {
			err = f.Commit()
		}
		err = errors.Join(err, f.Discard())
	}
	if err != nil {
		return out, l.Explain(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal) // it is not left after an interruption
	defer cancel()
	if err := l.Place.Remove(ctx, name); err != nil {
		out.Kept = l.Blame(err)
	}
	return out, nil
}

// nearest returns the directory of a location, or the next one above it that is there. A bucket has no directories.
func nearest(l *argument.Location) (string, error) {
	if l.IsBucket() && !argument.IsFile(l.Text) {
		return l.Name, nil
	}
	for name := l.Name; ; name = path.Dir(name) {
		_, err := fs.Stat(l.Place, name)
		if err == nil || name == "." || !errors.Is(err, fs.ErrNotExist) {
			return name, err
		}
	}
}
