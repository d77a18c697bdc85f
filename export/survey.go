package export

import (
	"context"
	"errors"
	"slices"

	"culvert/source"
)

// survey looks up all tables, and asks for their sizes if anybody wants to know the progress. Of a table that cannot be
// read, the export of it will tell why.
func (p *Plan) survey(ctx context.Context, src source.Source, names []string) ([]share, error) {
	sizes := make([]source.Size, len(names))
	for i, name := range names {
		size, err := p.lookUp(ctx, src, name)
		unknown, _ := errors.AsType[*source.UnknownError](err)
		if unknown != nil || stops(ctx, err) {
			return nil, err
		}
		sizes[i] = size
	}
	return weigh(names, sizes), nil
}

// The work that every table is, however small, next to that of its rows: some milliseconds.
const (
	bytesOfTable = 512 << 10
	rowsOfTable  = 8 << 10
)

// weigh says what share each table has in the work. Sizes are of use where they can be compared: in bytes if all tables
// that have rows have them, else in rows. If nothing is known there is no share.
func weigh(names []string, sizes []source.Size) []share {
	inBytes := !slices.ContainsFunc(sizes, func(s source.Size) bool { return s.Bytes == 0 && s.Rows > 0 })
	known := slices.ContainsFunc(sizes, func(s source.Size) bool { return s != source.Size{} })
	shares := make([]share, len(names))
	total := 0.0
	for i, size := range sizes {
		weight := float64(size.Rows + rowsOfTable)
		if inBytes {
			weight = float64(size.Bytes + bytesOfTable)
		}
		if !known {
			weight = 0
		}
		shares[i] = share{
			name: names[i], number: i + 1, of: len(names), size: size, weight: weight, before: total,
		}
		total += weight
	}
	for i := range shares {
		shares[i].total = total
	}
	return shares
}

func (p *Plan) lookUp(ctx context.Context, src source.Source, name string) (size source.Size, err error) {
	rows, err := src.Table(ctx, name)
	if err != nil {
		return source.Size{}, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if p.Progress == nil {
		return source.Size{}, nil
	}
	return sizeOf(rows)
}
