package argument

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"

	"culvert/cmd/culvert/internal/command"
	"culvert/export"
	"culvert/manifest"
	"culvert/place"
)

// Table is a table of an export, which an argument names by its file or by the directory of its parts.
type Table struct {
	Export *export.Directory
	Entry  *manifest.Table
	At     func(file string) string // names a file of the export as the argument does
	Close  func(error) error
}

// Explain says which part of the table an error is about.
func (t *Table) Explain(err error) error {
	if at, is := errors.AsType[*fs.PathError](err); is {
		return ReadError(t.At(at.Path), at.Err)
	}
	return ReadError(t.At(t.Entry.File()), err)
}

// BytesIn returns how much of the files was read, after so many bytes of text: what is read at a time is not known.
func (t *Table) BytesIn(out int64) int64 {
	return int64(float64(t.Entry.FileBytes) * float64(out) / float64(max(1, t.Entry.TextBytes)))
}

// OpenTable returns the table that an argument names, or nil if it names anything else. The caller closes it with the
// error of everything.
func OpenTable(ctx context.Context, a *command.App, argument string, f *PlaceFlags, config export.ReadConfig) (
	*Table, error,
) {
	locate, name := argument, ""
	if !IsURL(argument) {
		absolute, err := filepath.Abs(argument)
		if err != nil {
			return nil, err
		}
		locate, name = filepath.Join(argument, ".."), filepath.Base(absolute)
	}
	ctx, l, err := Locate(ctx, a, locate, f)
	if err != nil {
		return nil, err
	}
	if l.URL != nil {
		l.Name, name = path.Dir(l.Name), path.Base(l.Name)
	}
	t, err := l.table(ctx, name, config)
	if t == nil || err != nil {
		return nil, l.Close(err)
	}
	return t, nil
}

// table returns the table that has a name in the export in the directory of the location, or nil.
func (l *Location) table(ctx context.Context, name string, config export.ReadConfig) (*Table, error) {
	if name == "." {
		return nil, nil
	}
	files, err := place.Sub(place.WithContext(ctx, l.Place), l.Name)
	if err != nil {
		return nil, err
	}
	d, err := config.OpenDirectory(ctx, files)
	if errors.Is(err, export.ErrNoManifest) {
		return nil, nil
	}
	if at, is := errors.AsType[*fs.PathError](err); is {
		return nil, ReadError(l.Join(path.Base(at.Path)), at.Err)
	} else if err != nil {
		return nil, err
	}
	entry := d.Table(name)
	if entry == nil {
		return nil, nil
	}
	return &Table{Export: d, Entry: entry, At: l.Join, Close: l.Close}, nil
}

// Damage says which directory of an export, or which file in it, is not as it should be.
func (l *Location) Damage(err error) error {
	if at, is := errors.AsType[*fs.PathError](err); is {
		return ReadError(l.Join(at.Path), at.Err)
	}
	if errors.Is(err, export.ErrNoManifest) {
		return command.WithHint(command.About(l.Text, err),
			"an export that was stopped has none: run it again with --force",
			"to check one file: culvert verify FILE")
	}
	if errors.Is(err, export.ErrDamaged) {
		return command.About(l.Text, err)
	}
	return err
}
