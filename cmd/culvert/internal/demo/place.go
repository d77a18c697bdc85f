package demo

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/export"
	"culvert/manifest"
	"culvert/place"
	"culvert/sqlite"
)

// placed is an export in a place of the user, in a directory of its own, which is removed at the end.
type placed struct {
	demo  *demo
	at    argument.Location // the directory
	files place.Place       // in it
	begun bool
}

// openPlace connects to the place. The function that it returns takes the error of what was done there.
func (d *demo) openPlace(ctx context.Context, url string, flags *argument.PlaceFlags) (
	_ context.Context, _ *placed, done func(error) error, err error,
) {
	ctx, l, err := argument.Locate(ctx, d.app, url, flags)
	if err != nil {
		return nil, nil, nil, err
	}
	name := "culvert-demo-" + strings.ToLower(rand.Text()[:12])
	p := &placed{demo: d, at: *l}
	p.at.Name, p.at.Text = path.Join(l.Name, name), l.Join(name)
	if p.files, err = p.at.Directory(); err != nil {
		return nil, nil, nil, l.Close(err)
	}
	return ctx, p, func(err error) error {
		if p.begun {
			p.remove(ctx)
		}
		return l.Close(err)
	}, nil
}

func (p *placed) stages(recipient age.Recipient) []stage {
	return []stage{
		{"place", func(ctx context.Context, s *stageFigures) error { return p.export(ctx, s, recipient) }},
		{"place ls", p.list},
		{"place cat", p.cat},
		{"place verify", p.verify},
	}
}

// export exports the table as one of several, with a manifest.
func (p *placed) export(ctx context.Context, s *stageFigures, recipient age.Recipient) (err error) {
	src, err := sqlite.OpenSource(p.demo.database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	p.begun = true
	plan := export.Plan{Recipients: []age.Recipient{recipient}, Ordered: true} // as cat compares them
	tables, err := plan.Tables(ctx, p.files, src, []string{"todos"})
	if len(tables) > 0 {
		err = cmp.Or(tables[0].Err, err)
		s.Rows, s.BytesIn, s.BytesOut = tables[0].Rows, tables[0].Text, tables[0].Out
		s.moved, s.compresses = tables[0].Text, true
	}
	return err
}

// fileNames are the names of the files that the export has.
var fileNames = []string{manifest.EncryptedName, "todos.csv.zst.age"}

func (p *placed) list(ctx context.Context, _ *stageFigures) error {
	entries, err := fs.ReadDir(place.WithContext(ctx, p.at.Place), p.at.Name)
	if err != nil {
		return p.at.Blame(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if !slices.Equal(names, fileNames) {
		return fmt.Errorf("%s: there are the files %q, and there should be %q", p.at.Text, names, fileNames)
	}
	return nil
}

func (p *placed) open(ctx context.Context) (*export.Directory, error) {
	config := export.ReadConfig{Identities: []age.Identity{p.demo.identity}}
	directory, err := config.OpenDirectory(ctx, p.files)
	return directory, p.at.Blame(err)
}

// cat compares the text with that of the database.
func (p *placed) cat(ctx context.Context, s *stageFigures) (err error) {
	directory, err := p.open(ctx)
	if err != nil {
		return err
	}
	text, err := directory.Open(&directory.Manifest.Tables[0])
	if err != nil {
		return p.at.Blame(err)
	}
	defer func() { err = errors.Join(err, text.Close()) }()
	sum := sha256.New()
	if s.moved, err = io.Copy(sum, text); err != nil {
		return p.at.Blame(err)
	}
	s.BytesIn = directory.Size()
	if got := fmt.Sprintf("%x", sum.Sum(nil)); got != p.demo.report.SHA256 {
		return fmt.Errorf("%w: the text in %s has the hash %s, the database %s",
			agefile.ErrCorrupt, p.at.Text, got, p.demo.report.SHA256)
	}
	return nil
}

func (p *placed) verify(ctx context.Context, s *stageFigures) error {
	directory, err := p.open(ctx)
	if err != nil {
		return err
	}
	err = directory.Verify(ctx, nil)
	s.BytesIn, s.moved = directory.Progress()
	return p.at.Blame(err)
}

// removal bounds the time of what is done after an interruption.
const removal = 10 * time.Second

// remove removes what the demo has made. If the place does not allow that, the report says so.
func (p *placed) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
	defer cancel()
	for _, name := range fileNames {
		err := p.at.Place.Remove(ctx, path.Join(p.at.Name, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.demo.report.Left = p.at.Text
			p.demo.app.Console.Warn(fmt.Sprintf("the files of the demo stay in %s: %s",
				p.at.Text, command.Plain(p.at.Blame(err))))
			return
		}
	}
	_ = p.at.Place.Remove(ctx, p.at.Name) // a bucket has no directory
}
