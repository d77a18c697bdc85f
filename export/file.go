package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"slices"

	"culvert/internal/compress"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
)

// PlaceError is an error of the place that a file was written to, which other files are likely to meet too.
type PlaceError struct{ Err error }

func (e *PlaceError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *PlaceError) Unwrap() error { return e.Err }

func isOfPlace(err error) bool {
	_, is := errors.AsType[*PlaceError](err)
	return is
}

// Part writes a part of a table to a file of its own, which begins with the header and can be read alone. It commits
// the file. The source must be a [source.Parter] that reads the snapshot of the part. The selection of the plan is
// ignored, since the part has one. An error of the place is a [*PlaceError].
//
// One connection reads. With one job, PostgreSQL prints the CSV itself, which takes the least processor time. So to
// write many parts, make several calls at the same time, each with its own source and one job.
func (p *Plan) Part(
	ctx context.Context, to place.Place, file string, src source.Source, part source.Part,
) (manifest.Part, error) {
	out, err := p.writeFile(ctx, to, file, partWork(src, &part, p.compressor()))
	if err == nil {
		err = out.commit()
	}
	if err != nil {
		return manifest.Part{}, err
	}
	return out.entry, nil
}

func partWork(src source.Source, part *source.Part, codec *compress.Encoder) work {
	return work{table: part.Table, part: part, codec: codec, open: func(ctx context.Context) (source.Rows, error) {
		parter, ok := src.(source.Parter)
		if !ok {
			return nil, errNoParts
		}
		return parter.Part(ctx, *part)
	}}
}

// output is a file of an export.
type output struct {
	file     place.File
	sum      hash.Hash
	err      error // of creating or writing the file
	progress *Progress
	written  int64
	large    func() // is called once more than minBytes are written; or nil

	// These are set once the file is written.
	stats   Stats
	columns []source.Column
	entry   manifest.Part
}

// writeFile writes a file, and leaves it to the caller to commit or discard it. The file is not begun before the
// database has accepted to read its rows, and is discarded if they fail.
func (p *Plan) writeFile(ctx context.Context, to place.Place, name string, w work) (*output, error) {
	out := &output{sum: sha256.New(), progress: p.Progress, large: w.large}
	open := w.open
	w.dst = out
	w.open = func(reading context.Context) (source.Rows, error) {
		rows, err := open(reading)
		if err != nil {
			return nil, err
		}
		out.columns = slices.Clone(rows.Columns())
		if out.file, out.err = p.create(ctx, to, name); out.err != nil {
			return nil, errors.Join(out.err, rows.Close())
		}
		return rows, nil
	}
	var err error
	if out.stats, err = p.run(ctx, w); err != nil {
		return nil, out.fail(err)
	}
	out.entry = manifest.Part{
		File: name, Rows: out.stats.Rows, TextBytes: out.stats.Text, FileBytes: out.stats.Out,
		SHA256: hex.EncodeToString(out.sum.Sum(nil)), Sum: out.stats.Sum.String(),
		Canonical: out.stats.Canonical.String(), Untold: manifest.ValidNames(out.stats.Untold),
		Unfit: out.stats.Unfit,
	}
	if w.part != nil && w.part.Range != (source.Range{}) {
		out.entry.Range = &w.part.Range
	}
	return out, nil
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

func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	_, _ = o.sum.Write(p[:n]) // never fails
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		o.err = err
	}
	before := o.written
	o.written += int64(n)
	if before <= minBytes && o.written > minBytes && o.large != nil {
		o.large()
	}
	return n, err
}

func (o *output) commit() error { return o.committed(o.file.Commit()) }

// committed returns the error of a commit, as one of the place.
func (o *output) committed(err error) error {
	if err == nil {
		return nil
	}
	o.progress.forget(o.stats)
	return &PlaceError{err}
}

// fail takes the file back. It returns the error, and whether it is one of the place.
func (o *output) fail(err error) error {
	o.progress.forget(o.stats)
	discardErr := o.discard()
	if o.err != nil || discardErr != nil {
		return &PlaceError{errors.Join(err, discardErr)}
	}
	return err
}

func (o *output) discard() error {
	if o.file == nil {
		return nil
	}
	return o.file.Discard()
}
