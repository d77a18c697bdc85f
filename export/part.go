package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"culvert/internal/compress"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
)

var errNoParts = errors.New("export: the source cannot cut tables into parts")

// Part writes a part of a table to a file of its own, which begins with the header and can be read alone. It commits
// the file. The source must be a [source.Parter] that reads the snapshot of the part. The selection of the plan is
// ignored, since the part has one.
//
// One connection reads. With one job, PostgreSQL prints the CSV itself, which takes the least processor time. So to
// write many parts, make several calls at the same time, each with its own source and one job.
func (p *Plan) Part(
	ctx context.Context, to place.Place, file string, src source.Source, part source.Part,
) (manifest.Part, error) {
	return p.part(ctx, to, file, src, part, p.compressor())
}

func (p *Plan) part(
	ctx context.Context, to place.Place, file string, src source.Source, part source.Part, codec *compress.Encoder,
) (manifest.Part, error) {
	parter, ok := src.(source.Parter)
	if !ok {
		return manifest.Part{}, errNoParts
	}
	out := &output{name: file, sum: sha256.New()}
	open := func(reading context.Context) (source.Rows, error) {
		rows, err := parter.Part(reading, part)
		if err != nil {
			return nil, err
		}
		if out.file, out.err = p.create(ctx, to, file); out.err != nil {
			return nil, errors.Join(out.err, rows.Close())
		}
		return rows, nil
	}
	stats, err := p.run(ctx, work{dst: out, open: open, part: true, codec: codec})
	if err == nil {
		out.err = out.file.Commit()
		err = out.err
	}
	if err != nil {
		p.Progress.forget(stats)
		if out.err != nil {
			err = &PlaceError{err}
		}
		return manifest.Part{}, errors.Join(err, out.discard())
	}
	entry := manifest.Part{
		File: file, Rows: stats.Rows, TextBytes: stats.Text, FileBytes: stats.Out,
		SHA256: hex.EncodeToString(out.sum.Sum(nil)), Sum: stats.Sum.String(),
		Untold: manifest.ValidNames(stats.Untold),
	}
	if part.Range != (source.Range{}) {
		entry.Range = &part.Range
	}
	return entry, nil
}

// PlaceError is an error of the place that a part was written to, which other parts are likely to meet too.
type PlaceError struct{ Err error }

func (e *PlaceError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *PlaceError) Unwrap() error { return e.Err }

// JoinParts returns the entry of the manifest for a table of which all parts are written. The part is any of them, and
// the files are those of all, in the order of their ranges.
func (p *Plan) JoinParts(part source.Part, files []manifest.Part) (manifest.Table, error) {
	for i := range files {
		if files[i].File == "" {
			return manifest.Table{}, fmt.Errorf("export: part %d is not written", i+1)
		}
	}
	header, err := p.headerSize(part.Columns)
	if err != nil {
		return manifest.Table{}, err
	}
	t := manifest.NewTable(part.Table, part.Columns)
	t.Where, t.HeaderBytes, t.Parts = part.Selection.Where, header, files
	return t, t.AddUp()
}
