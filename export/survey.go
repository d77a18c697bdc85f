package export

import (
	"context"
	"errors"
	"slices"

	"culvert/source"
)

// survey looks up all tables, and asks for their sizes if the plan has a Progress. It ignores tables that cannot be
// read, because their export will return the error.
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

// The fixed cost of a table, some milliseconds, as bytes or rows.
const (
	bytesOfTable = 512 << 10
	rowsOfTable  = 8 << 10
)

// weigh returns the share of each table in the work. Sizes must be comparable, so it uses bytes if they are known for
// all tables with rows, and otherwise rows. If nothing is known, the shares are zero.
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
