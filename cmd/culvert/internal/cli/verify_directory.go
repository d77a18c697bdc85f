package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/format"
	"culvert/manifest"
	"culvert/source"
)

// verifiedTable says how a table of a directory was found.
type verifiedTable struct {
	Name     string `json:"name"`
	File     string `json:"file,omitempty"`
	Snapshot string `json:"snapshot,omitempty"` // if it is not that of the export
	Error    string `json:"error,omitempty"`    // what is wrong with the file, or why the table has none
}

// comparison says with what the tables of a directory are compared.
type comparison struct {
	is    bool // whether they are
	db    database.Database
	names map[string]string // of the tables, as for [export.Directory.Compare]
}

func verifyDirectory(
	ctx context.Context, a *command.App, w *command.Work, r *verifyReport, l *argument.Location,
	config export.ReadConfig, o *verifyOptions, with *comparison,
) error {
	r.File, w.Name = l.Text, l.Text
	files, err := l.Directory()
	if err != nil {
		return err
	}
	d, err := config.OpenDirectory(ctx, files)
	if err != nil {
		return l.Damage(err)
	}
	if d.MaskKey, err = o.masks.Key(); err != nil {
		return err
	}
	if d.MaskPrograms, err = o.masks.Started(ctx); err != nil {
		return err
	}
	r.MaskKey = d.Manifest.MaskKey
	if err := o.author.Check(l.Text, d.Manifest); err != nil {
		return err
	}
	r.Author = argument.Author(d.Manifest)
	r.Encrypted, r.Compression, r.manifest = &d.Manifest.Encrypted, d.Manifest.Compression, d.Manifest
	r.Consistent, r.Snapshot = &d.Manifest.Consistent, d.Manifest.Snapshot
	r.Omitted = d.Manifest.LeftOut()
	w.Total = d.Size()
	progress := new(export.Progress)
	w.Figures = func() ui.Figures {
		in, out := d.Progress()
		figures := ui.Figures{Rows: ui.NoRows, In: in, Out: out}
		if with.is {
			figures.Rows = progress.Rows.Load()
		}
		return figures
	}
	w.Begin()
	warn := func(text string) {
		if !w.Flags.JSON {
			a.Console.Warn(ui.Line(text))
		}
	}
	if !d.Manifest.Consistent {
		warn(l.Text + ": the tables are not all of one snapshot")
	}
	for i := range d.Manifest.Tables {
		t := &d.Manifest.Tables[i]
		if unfit := t.Unfit(); len(unfit) > 0 {
			warn(database.Unfit(t.Name, unfit, format.LossyNames[d.Manifest.Lossy]))
		}
	}
	err = d.Verify(ctx, func(t *manifest.Table, err error) {
		result := verifiedTable{Name: t.Name, File: t.File(), Snapshot: t.Snapshot}
		if t.Error != "" {
			result.Error = command.PackageNames.ReplaceAllString(t.Error, "$1")
			warn(fmt.Sprintf("%s: table %q is missing, because its export failed: %s", l.Text, t.Name, result.Error))
		} else if err != nil {
			file := t.File()
			at, is := errors.AsType[*fs.PathError](err)
			if is && t.Parted() {
				file = at.Path
			}
			if is && (l.URL != nil || t.Parted()) {
				err = at.Err
			}
			result.Error = command.Plain(err)
			if !w.Flags.JSON {
				a.Console.Error(ui.Name(l.Join(file)) + ": " + result.Error)
			}
			if t.Parted() {
				result.Error = file + ": " + result.Error
			}
		}
		r.Tables = append(r.Tables, result)
	})
	if ctx.Err() != nil {
		return err
	}
	const most = 10
	names, more, listErr := d.Unlisted(most)
	if listErr != nil {
		return l.Damage(listErr)
	}
	r.Unexpected = names
	for _, name := range names {
		warn(l.Join(name) + ": the manifest does not list it")
	}
	if more > 0 {
		warn(fmt.Sprintf("%s: it does not list %d more", l.Text, more))
	}
	if err != nil && !command.Is[*export.PartialError](err) || !with.is {
		return l.Damage(err)
	}
	if err := compare(ctx, w, r, d, with, config.Jobs, progress); err != nil {
		return err
	}
	return l.Damage(err)
}

// compare compares the tables with a database.
func compare(
	ctx context.Context, w *command.Work, r *verifyReport, d *export.Directory, with *comparison, jobs int,
	progress *export.Progress,
) (err error) {
	db := with.db
	src, err := db.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	description, err := source.Describe(ctx, src)
	if err != nil {
		return db.Explain(err)
	}
	r.Against = cmp.Or(description.System, db.Engine)
	console := w.App.Console
	err = d.Compare(ctx, src, jobs, progress, with.names, func(t *manifest.Table, err error) {
		if err == nil && t.Sum == "" && !w.Flags.JSON {
			console.Warn(ui.Name(t.Name) + ": only the number of rows was compared: the manifest has no sum")
		}
		if err == nil {
			return
		}
		for i := range r.Tables {
			if r.Tables[i].Name == t.Name {
				r.Tables[i].Error = command.Plain(err)
			}
		}
		if !w.Flags.JSON {
			is := fmt.Sprintf("table %q", t.Name)
			what, begins := strings.CutPrefix(command.AboutTable(t.Name, command.Plain(err)), is)
			if !begins {
				what = ": " + what
			}
			console.Error(is + " of the database" + what)
		}
	})
	return db.Explain(err)
}

// manifestText says what a directory holds.
func (r *verifyReport) manifestText() string {
	m := r.manifest
	failed := 0
	for i := range m.Tables {
		if m.Tables[i].Error != "" {
			failed++
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: ", ui.Name(r.File))
	layers := r.layers()
	if failed > 0 {
		fmt.Fprintf(&b, "what is there is intact: %d of %s (%s)\n", len(m.Tables)-failed,
			ui.Several(int64(len(m.Tables)), "table"), layers)
	} else {
		fmt.Fprintf(&b, "intact: %s (%s)\n", ui.Several(int64(len(m.Tables)), "table"), layers)
	}
	line := func(label, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-10s%s\n", label, ui.Line(value))
		}
	}
	line("database", m.Database)
	line("system", m.System)
	line("snapshot", m.Snapshot)
	line("position", m.Position)
	line("against", r.Against)
	line("author", cmp.Or(r.Author, "unknown: not signed"))
	line("exported", m.Begun.UTC().Format(time.RFC3339)+" to "+m.Ended.UTC().Format(time.RFC3339)+" by "+m.Tool)
	switch {
	case m.Schema == nil:
	case m.Schema.Needs:
		line("schema", ui.Several(int64(m.Schema.Before), "statement")+" for what the tables need")
	default:
		line("schema", ui.Several(int64(m.Schema.Before+m.Schema.After), "statement")+by(m.Schema.By))
	}
	for i := range m.Tables {
		for _, one := range m.Tables[i].Masks {
			line("masked", m.Tables[i].Name+"."+one.Column+": "+one.Rule)
		}
	}
	line("mask key", r.MaskKey)
	for _, text := range command.Omitted(r.Omitted) {
		line("left out", text)
	}
	if !m.Consistent {
		b.WriteString(otherSnapshots(m))
	}
	return b.String()
}

// by says who has printed a schema.
func by(program string) string {
	if program == "" {
		return ""
	}
	return " by " + program
}

// otherSnapshots says which tables do not show the state of the snapshot of the manifest.
func otherSnapshots(m *manifest.Manifest) string {
	var b bytes.Buffer
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i := range m.Tables {
		if t := &m.Tables[i]; t.Snapshot != "" {
			_, _ = fmt.Fprintf(columns, "    %s\t%s\n", ui.Name(t.Name), ui.Line(t.Snapshot))
		}
	}
	_ = columns.Flush() // to memory
	if b.Len() == 0 {
		return "  not consistent: nothing shows that the tables are of one snapshot\n"
	}
	return "  not consistent: these tables are of other snapshots:\n" + b.String()
}
