package load

import (
	"bytes"

	"culvert/format"
	"culvert/source"
)

// rows are the rows of a block as they were read, as texts or as values, since some of them may be refused. Values keep
// their kinds, which a text does not have: in SQLite, a number and a text of digits may be in one column.
type rows struct {
	texts  [][]byte
	values *source.Batch // in place of texts, or nil
}

// rowsOf returns the rows of a block.
func (p *preparer) rowsOf(b *block) rows {
	if p.from == nil {
		return rows{values: &b.raw}
	}
	return rows{texts: textRows(b.text, p.isCSV())}
}

func (r rows) len() int {
	if r.values != nil {
		return r.values.Rows()
	}
	return len(r.texts)
}

// size is about that of a row.
func (r rows) size(at int) int {
	if r.values != nil {
		return r.values.RowBytes(at)
	}
	return len(r.texts[at])
}

// fill puts some of the rows into a block that is empty.
func (r rows) fill(b *block, first, end int) {
	if r.values != nil {
		appendRows(b.batch(), r.values, first, end)
		return
	}
	for _, text := range r.texts[first:end] {
		b.text = append(b.text, text...)
	}
	b.memory = b.text
}

// appendRows fills a batch with rows of another one.
func appendRows(dst, src *source.Batch, first, end int) {
	dst.Reset(src.Columns())
	for row := first; row < end; row++ {
		dst.AppendFrom(src, row, 0, src.Columns())
		dst.EndRow()
	}
}

// with returns the rows and a copy of another row. All are texts, or all are values.
func (r rows) with(from rows, at int) rows {
	if from.values == nil {
		text := bytes.Clone(from.texts[at])
		if !bytes.HasSuffix(text, []byte{'\n'}) { // the last one of the file
			text = append(text, '\n')
		}
		r.texts = append(r.texts, text)
		return r
	}
	if r.values == nil {
		r.values = new(source.Batch)
		r.values.Reset(from.values.Columns())
	}
	r.values.AppendFrom(from.values, at, 0, from.values.Columns())
	r.values.EndRow()
	return r
}

// text returns a row for a file of rejected rows: as it was read, or as the encoder writes its values.
func (r rows) text(at int, encoder format.Encoder) ([]byte, error) {
	if r.values == nil {
		return r.texts[at], nil
	}
	var one source.Batch
	appendRows(&one, r.values, at, at+1)
	return encoder.AppendRows(nil, &one)
}

// textRows cuts a text into its rows. A row of JSON Lines is a line that is not blank, with the blank lines before it.
func textRows(text []byte, csv bool) (rows [][]byte) {
	start, quoted, blank := 0, false, true
	for at := 0; at < len(text); {
		end := bytes.IndexByte(text[at:], '\n') + 1
		if end == 0 {
			end = len(text) - at
		}
		line := text[at : at+end]
		if csv {
			quoted = quoted != (bytes.Count(line, []byte{'"'})%2 != 0)
			blank = false
		} else if len(bytes.TrimSpace(line)) > 0 {
			blank = false
		}
		at += end
		if !quoted && !blank {
			rows = append(rows, text[start:at])
			start, blank = at, true
		}
	}
	return rows
}
