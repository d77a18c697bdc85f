package export

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"culvert/internal/compress"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
)

// TableStats are the figures of one of several tables. They are zero if its export failed.
type TableStats struct {
	Stats
	Name    string          // of the table
	File    string          // the name of its file
	Columns []source.Column // of the table
	SHA256  [sha256.Size]byte
	Parts   []manifest.Part // of a table in parts, instead of SHA256; File is the name of their directory
	Err     error           // why there is no file

	definition *source.Definition // nil if it is not known
}

// PartialError reports that some of several tables could not be exported. The others are complete, and the manifest is
// written.
type PartialError struct {
	Failed, Tables int
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("export: %d of %d tables failed", e.Failed, e.Tables)
}

// Tables writes each table to a file of its own, one table after the other, and then the manifest. Each table is read
// by as many connections as with Table. [manifest.FileNames] returns the names of the files.
//
// All tables are looked up before anything is written, and an unknown name ends the export. If a table fails later, the
// others are still exported, unless FailFast is set, and the error is a [*PartialError]. A lost database
// ([source.ErrUnavailable]), the end of the context and an error of the place stop the export. Then there is no
// manifest, and the result has only the tables whose files are complete.
//
// If a manifest exists, or the journal of an export by several workers that was not finished, the error wraps
// [fs.ErrExist]. With Overwrite, they are removed before the first file is written.
// If several exports without Overwrite write the same tables to one place, the one that completes the first file goes
// on, and the others fail with such an error.
func (p *Plan) Tables(ctx context.Context, to place.Place, src source.Source, names []string) ([]TableStats, error) {
	if err := p.checkTables(names); err != nil {
		return nil, err
	}
	description, err := source.Describe(ctx, src)
	if err != nil {
		return nil, err
	}
	list := p.NewManifest(description)
	outside, err := source.OutsideSnapshot(ctx, src, names)
	if err != nil {
		return nil, err
	}
	shares, err := p.survey(ctx, src, names)
	if err != nil {
		return nil, err
	}
	t := &tables{plan: p, src: src, ctx: ctx, to: to, all: make([]TableStats, len(names)), codec: p.compressor()}
	fileNames := manifest.FileNames(names, p.Extension())
	for i, name := range names {
		t.all[i] = TableStats{Name: name, File: fileNames[i], Err: errStopped}
	}
	if err := t.run(shares); err != nil {
		return t.complete(), err
	}

	failed := 0
	for i := range t.all {
		entry, err := p.entry(&t.all[i])
		if err != nil {
			return t.complete(), err
		}
		list.Tables = append(list.Tables, entry)
		if t.all[i].Err != nil {
			failed++
		}
	}
	if err := p.writeManifestOf(ctx, to, list, t.all, outside); err != nil {
		return t.complete(), err
	}
	if failed > 0 {
		return t.all, &PartialError{Failed: failed, Tables: len(names)}
	}
	return t.all, nil
}

func (p *Plan) checkTables(names []string) error {
	if err := p.checkRecipients(); err != nil {
		return err
	}
	if len(names) == 0 {
		return errors.New("export: no tables")
	}
	if !p.Selection.IsZero() {
		return errors.New("export: several tables cannot have a selection")
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("export: table %q is given twice", name)
		}
		seen[name] = true
	}
	return nil
}

// stops reports whether no other table can be read after an error.
func stops(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, source.ErrUnavailable))
}

// tables is an export of several tables under way. While one is exported, the files of earlier ones are committed.
type tables struct {
	plan  *Plan
	src   source.Source
	ctx   context.Context
	to    place.Place
	all   []TableStats
	begun bool // there is no manifest

	// alone: a file is complete. Until then, another export to the same place may take the first name. If this one went
	// on meanwhile, each of the two could take names from the other, and both would fail.
	alone bool

	commits []commit // under way, the oldest first
	codec   *compress.Encoder
}

const (
	// maxCommits bounds the files that wait for the disk at the same time. A file system often combines concurrent
	// syncs.
	maxCommits = 8

	// maxWaiting bounds what these files may have in memory: a place such as a bucket sends files of up to heldOfFile
	// only when they are committed.
	maxWaiting = 16 << 20
	heldOfFile = 8 << 20
)

// commit is the commit of a file.
type commit struct {
	of     *TableStats
	held   int64 // bytes that may be in memory until it ends
	result chan error
}

// run exports all tables. It returns the error that stopped the export.
func (t *tables) run(shares []share) error {
	for i := range t.all {
		one := &t.all[i]
		out := &output{name: one.File, sum: sha256.New()}
		stats, err := t.export(out, one, shares[i])
		if t.plan.Progress != nil {
			t.plan.Progress.end(stats, err)
		}
		if err == nil {
			one.Stats = stats
			if err = t.makeRoom(heldOf(one)); err != nil {
				return errors.Join(err, out.discard(), t.settle(0))
			}
			out.sum.Sum(one.SHA256[:0])
			t.commit(one, out.file)
			if !t.alone {
				if err = t.settle(0); err != nil {
					return err
				}
				t.alone = true
			}
			continue
		}
		one.Columns, one.definition, one.Err = nil, nil, err
		if discardErr := out.discard(); discardErr != nil || out.err != nil || stops(t.ctx, err) || t.plan.FailFast {
			return errors.Join(aboutTable(one, err), discardErr, t.settle(0))
		}
	}
	return t.settle(0)
}

// aboutTable adds the name of the table to an error that does not have it.
func aboutTable(one *TableStats, err error) error {
	// Databases put the name in quotes, possibly after a schema.
	if text := err.Error(); strings.Contains(text, one.Name+`"`) || strings.Contains(text, one.File) {
		return err
	}
	return fmt.Errorf("export: table %q: %w", one.Name, err)
}

// export writes one table. The file is not begun before the database has accepted to read the table.
func (t *tables) export(out *output, one *TableStats, of share) (Stats, error) {
	var err error
	if one.definition, err = source.Define(t.ctx, t.src, one.Name); err != nil {
		return Stats{}, err
	}
	open := t.plan.table(t.src, one.Name)
	begin := func(ctx context.Context) (source.Rows, error) {
		rows, err := open(ctx)
		if err != nil {
			return nil, err
		}
		one.Columns = slices.Clone(rows.Columns())
		if out.file, out.err = t.create(one.File); out.err != nil {
			return nil, errors.Join(out.err, rows.Close())
		}
		return rows, nil
	}
	return t.plan.run(t.ctx, work{dst: out, open: begin, divide: !t.plan.Ordered, share: of, codec: t.codec})
}

// create begins a file. Before the first one, it ensures that there is neither a manifest nor a journal, which
// would list other files.
func (t *tables) create(name string) (place.File, error) {
	if !t.begun {
		if err := t.plan.MakeRoom(t.ctx, t.to); err != nil {
			return nil, err
		}
	}
	t.begun = true
	return t.plan.create(t.ctx, t.to, name)
}

func (p *Plan) create(ctx context.Context, to place.Place, name string) (place.File, error) {
	create := to.Create
	if p.Overwrite {
		create = to.Replace
	}
	file, err := create(ctx, name)
	if err != nil {
		return nil, err // the File may be a non-nil interface with a nil pointer
	}
	return file, nil
}

// commit starts to commit the file of a table.
func (t *tables) commit(one *TableStats, file place.File) {
	c := commit{of: one, held: heldOf(one), result: make(chan error, 1)}
	t.commits = append(t.commits, c)
	go func() { c.result <- file.Commit() }()
}

// heldOf returns how much of a table's file may be in memory until it is committed.
func heldOf(one *TableStats) int64 { return min(one.Out, heldOfFile) }

// makeRoom waits until another commit may be under way, of a file that may have so many bytes in memory.
func (t *tables) makeRoom(held int64) error {
	most, waiting := 0, held
	for _, c := range slices.Backward(t.commits) {
		if waiting += c.held; waiting > maxWaiting || most == maxCommits-1 {
			break
		}
		most++
	}
	return t.settle(most)
}

// settle waits until no more than most commits are under way, and records the results of the others.
func (t *tables) settle(most int) error {
	var errs []error
	for len(t.commits) > most || len(t.commits) > 0 && len(t.commits[0].result) > 0 {
		c := t.commits[0]
		t.commits = t.commits[1:]
		if c.of.Err = <-c.result; c.of.Err != nil {
			errs = append(errs, aboutTable(c.of, c.of.Err))
		}
	}
	return errors.Join(errs...)
}

// complete returns the tables whose files are complete.
func (t *tables) complete() []TableStats {
	return slices.DeleteFunc(t.all, func(one TableStats) bool { return one.Err != nil })
}

// output is a file, its hash, and the error of creating or writing it.
type output struct {
	name string
	file place.File
	sum  hash.Hash
	err  error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	_, _ = o.sum.Write(p[:n]) // never fails
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		o.err = err
	}
	return n, err
}

func (o *output) discard() error {
	if o.file == nil {
		return nil
	}
	return o.file.Discard()
}
