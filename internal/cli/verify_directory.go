package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"culvert/export"
	"culvert/internal/cli/argument"
	"culvert/internal/cli/command"
	"culvert/internal/ui"
)

// verifiedTable says how a table of a directory was found.
type verifiedTable struct {
	Name  string `json:"name"`
	File  string `json:"file,omitempty"`
	Error string `json:"error,omitempty"` // what is wrong with the file, or why the export of the table has failed
}

func verifyDirectory(
	ctx context.Context, a *command.App, w *command.Work, r *verifyReport, l *argument.Location,
	config export.ReadConfig,
) error {
	r.File, w.Name = l.Text, l.Text
	files, err := l.Directory()
	if err != nil {
		return err
	}
	d, err := config.OpenDirectory(ctx, files)
	if err != nil {
		return damage(l, err)
	}
	r.Encrypted, r.Compression, r.manifest = &d.Manifest.Encrypted, d.Manifest.Compression, d.Manifest
	w.Total = d.Size()
	w.Figures = func() ui.Figures {
		in, out := d.Progress()
		return ui.Figures{Rows: ui.NoRows, In: in, Out: out}
	}
	w.Begin()
	warn := func(text string) {
		if !w.Flags.JSON {
			a.Console.Warn(ui.Line(text))
		}
	}
	err = d.Verify(ctx, func(t *export.ManifestTable, err error) {
		result := verifiedTable{Name: t.Name, File: t.File}
		if t.Error != "" {
			result.Error = command.PackageNames.ReplaceAllString(t.Error, "")
			warn(fmt.Sprintf("%s: table %q is missing, because its export failed: %s", l.Text, t.Name, result.Error))
		} else if err != nil {
			result.Error = command.Plain(err)
			if at, is := errors.AsType[*fs.PathError](err); is && l.Remote != nil {
				result.Error = command.Plain(at.Err)
			}
			if !w.Flags.JSON {
				a.Console.Error(ui.Line(l.Join(t.File)) + ": " + result.Error)
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
		return damage(l, listErr)
	}
	r.Unexpected = names
	for _, name := range names {
		warn(l.Join(name) + ": the manifest does not list it")
	}
	if more > 0 {
		warn(fmt.Sprintf("%s: it does not list %d more", l.Text, more))
	}
	return damage(l, err)
}

// damage says which directory, or which file in it, is not as it should be.
func damage(l *argument.Location, err error) error {
	if at, is := errors.AsType[*fs.PathError](err); is {
		return argument.ReadError(l.Join(at.Path), at.Err)
	}
	if errors.Is(err, export.ErrNoManifest) {
		return command.WithHint(command.About(l.Text, err), "an export that was stopped has none: run it again",
			"to check one file: culvert verify FILE")
	}
	if errors.Is(err, export.ErrDamaged) {
		return command.About(l.Text, err)
	}
	return err
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
	fmt.Fprintf(&b, "%s: ", ui.Line(r.File))
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
	line("exported", m.Begun.UTC().Format(time.RFC3339)+" to "+m.Ended.UTC().Format(time.RFC3339)+" by "+m.Tool)
	return b.String()
}
