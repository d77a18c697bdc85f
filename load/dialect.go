package load

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"culvert/format"
	"culvert/sink"
)

// converted returns a text in a dialect as the CSV that it becomes, and others as they are. Without a header, the
// columns are those of the table, in order.
func (p *Plan) converted(
	ctx context.Context, dst sink.Sink, r io.Reader, name string, f format.Readable, table string,
) (io.Reader, format.Readable, error) {
	d, is := f.(format.Dialect)
	if !is {
		return r, f, nil
	}
	if d.NoHeader && d.Names == nil {
		if len(p.Columns)+len(p.Rename) > 0 {
			return nil, nil, about(name, errors.New("columns can be chosen and renamed only if the file names them"))
		}
		plan, err := dst.Plan(ctx, table, p.Filling)
		if err != nil {
			return nil, nil, err
		}
		d.Names = namesOf(plan.Columns)
	}
	text, err := d.Reader(r)
	if err != nil {
		return nil, nil, &fs.PathError{Op: "load", Path: name, Err: err}
	}
	return text, format.CSV{}, nil
}

// withoutHeader has the row of an error of a splitter not count the header. A dialect, which knows lines, does not.
func withoutHeader(err error) {
	if row, is := errors.AsType[*format.RowError](err); is && row.Line == 0 {
		row.Row--
	}
}
