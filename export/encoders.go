package export

import (
	"fmt"
	"slices"

	"culvert/format"
	"culvert/internal/canonical"
	"culvert/manifest"
	"culvert/source"
)

// encoders returns the encoder of the text, and the one of the lines that are summed up. It is the same for CSV.
func (p *Plan) encoders(columns []source.Column) (encoder format.Encoder, lines format.LineEncoder, err error) {
	jsonl, isJSONL := p.format().(format.JSONL)
	if isJSONL || p.kept {
		lines = jsonl.Lines(columns)
	} else {
		csv, err := format.CSV{}.Encoder(columns)
		if err != nil {
			return nil, nil, err
		}
		lines = csv.(format.LineEncoder)
	}
	if _, is := p.format().(format.CSV); is {
		return lines, lines, nil
	}
	encoder, err = p.format().Encoder(columns)
	if _, assembled := encoder.(format.Assembled); assembled && p.Compression != None {
		return nil, nil, fmt.Errorf("export: the format of %s files compresses by itself: the compression must be none",
			p.format().Extension())
	}
	return encoder, lines, err
}

// stored returns the columns that are written. A masked column may have NULL, even if it is NOT NULL in the database.
func stored(columns []source.Column, masked []string) []source.Column {
	columns = slices.Clone(columns)
	for i := range columns {
		columns[i].NotNull = columns[i].NotNull && !slices.Contains(masked, columns[i].Name)
	}
	return columns
}

// fitter returns the Fitter of the rows, or nil if there is none, and the columns that are written.
func (p *Plan) fitter(rows source.Rows, columns []source.Column) (format.Fitter, []source.Column, error) {
	if p.Lossy == format.NotLossy {
		return nil, columns, nil
	}
	fitting, is := p.format().(format.Fitting)
	if !is {
		return nil, nil, fmt.Errorf("export: every value fits %s files, so they cannot be Lossy",
			p.format().Extension())
	}
	return fitting.Fitter(columns, printedBy(rows), p.Lossy)
}

// unfitOf returns how many values of each column did not fit, for columns that have some.
func unfitOf(f format.Fitter, columns []source.Column) (all []manifest.Unfit) {
	if f == nil {
		return nil
	}
	for i, n := range f.Unfit() {
		if n > 0 {
			all = append(all, manifest.Unfit{Column: manifest.ValidNames([]string{columns[i].Name})[0], Values: n})
		}
	}
	return all
}

func printedBy(rows source.Rows) source.Dialect {
	if printer, is := rows.(source.Printer); is {
		return printer.PrintedBy()
	}
	return ""
}

// types returns what the values of rows are, and so which of their texts may not be canonical. What is masked is no
// longer what the database has printed.
func (p *Plan) types(rows source.Rows, masked []string) *canonical.Types {
	columns, printed := rows.Columns(), printedBy(rows)
	if p.exported != nil {
		columns, printed = p.exported, ""
	}
	if _, isJSONL := p.format().(format.JSONL); isJSONL || p.kept {
		return canonical.KeptTypesOf(columns, printed, masked...)
	}
	return canonical.TypesOf(columns, printed, masked...)
}

// headerSize returns the size of the text before the first row.
func (p *Plan) headerSize(columns []source.Column) (int64, error) {
	encoder, _, err := p.encoders(columns)
	if err != nil {
		return 0, err
	}
	return int64(len(encoder.AppendHeader(nil))), nil
}
