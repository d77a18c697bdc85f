package load

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"sync"

	"culvert/convert"
	"culvert/format"
	"culvert/internal/canonical"
	"culvert/mask"
	"culvert/sink"
	"culvert/source"
)

// blockSize is the text of a block, unless a row is larger. Less would make the queue busier; more would not be faster.
const blockSize = 1 << 20

// keptSize is the largest buffer that is used again. Of blocks with more text, which have a large row, a pipeline has
// only one at a time.
const keptSize = 2 * blockSize

// hugeSize is the size of a row that leaves several times as much when it is loaded, and garbageSize the size of such
// rows together that is worth a collection, before text is made of the next one. A collection for each row would take
// longer than the rest of a load.
const (
	hugeSize    = 8 * blockSize
	garbageSize = 24 * blockSize
)

// block is a group of whole rows on its way to a loader.
type block struct {
	text      []byte          // as it was read, in memory that the block keeps
	batches   []*source.Batch // of the text, if its rows are decoded; or of a source
	out       []byte          // for a loader of text
	stretches []stretch       // of out

	memory  []byte // of text
	output  []byte // of out, if it is not text
	scratch []byte // for lines that are only summed up
	spare   []*source.Batch
	raw     source.Batch // the rows of batches as they were read and masked, if some may be refused

	rows, lines int64 // of the text, or of out, or rows of the batches
	row, line   int64 // of the file that come before
	sum         canonical.Adder
	loaded      canonical.Adder // as in figures
	summed      bool
	bytes       int64 // of the text, once it is made into rows
	large       bool
	moved       bool // the lines of out are not those of the text
	placed      bool // the row is known, whatever was dealt before
	err         error
}

// idle has the blocks of past pipelines. For a small table, new ones would take most of the time.
var idle = sync.Pool{New: func() any { return new(block) }}

// free gives the block to later pipelines, without what is large in it.
func (b *block) free() {
	b.empty()
	if cap(b.memory) > keptSize {
		b.memory = nil
	}
	if cap(b.output) > keptSize {
		b.output = nil
	}
	b.dropRaw()
	b.text, b.out, b.scratch = nil, nil, nil
	idle.Put(b)
}

// reset makes the block empty.
func (b *block) reset() {
	if cap(b.memory) < blockSize || cap(b.memory) > keptSize {
		b.memory = make([]byte, 0, blockSize)
	}
	if cap(b.output) > keptSize {
		b.output = nil
	}
	b.text, b.out, b.output = b.memory[:0], nil, b.output[:0]
	b.empty()
	b.dropRaw()
	b.rows, b.lines, b.row, b.line, b.err, b.summed, b.moved = 0, 0, 0, 0, nil, false, false
	b.bytes, b.large, b.placed, b.stretches = 0, false, false, b.stretches[:0]
	b.sum.Reset(nil)
	b.loaded.Reset(nil)
}

// batch adds a batch to the block.
func (b *block) batch() *source.Batch {
	if len(b.spare) == 0 {
		b.spare = append(b.spare, new(source.Batch))
	}
	last := len(b.spare) - 1
	one := b.spare[last]
	b.batches, b.spare = append(b.batches, one), b.spare[:last]
	return one
}

// empty takes all batches from the block. The memory of those with large rows is given back, so that such rows are not
// in memory as values and as text.
func (b *block) empty() {
	for _, batch := range b.batches {
		if batch.Memory() > keptSize {
			batch.Release()
		}
	}
	b.spare = append(b.spare, b.batches...)
	b.batches = b.batches[:0]
}

// dropRaw takes the rows as they were read from the block.
func (b *block) dropRaw() {
	if b.raw.Memory() > keptSize {
		b.raw.Release()
	} else if b.raw.Rows() > 0 {
		b.raw.Reset(0)
	}
}

// dropText frees the text of a block whose rows are decoded, if it has a large row.
func (b *block) dropText() {
	if b.large {
		b.bytes = int64(len(b.text))
		b.text, b.memory = nil, nil
	}
}

// size returns the size of the text, about if there is none.
func (b *block) size() int64 {
	switch {
	case b.bytes > 0:
		return b.bytes
	case len(b.text) > 0:
		return int64(len(b.text))
	case len(b.out) > 0:
		return int64(len(b.out))
	}
	size := 0
	for _, batch := range b.batches {
		size += batch.TextSize()
	}
	return int64(size)
}

// preparer makes what loaders take of the rows of a block. It is safe for concurrent use.
type preparer struct {
	from    format.Readable // of the text; nil for batches
	fields  []format.Field
	sent    bool               // the rows are in the binary form that is loaded
	asIs    bool               // text is loaded as it is, if the table keeps it
	csv     bool               // the text is CSV, and is summed up
	shows   bool               // the decoder shows the lines that are summed up
	loaded  bool               // so are the rows that are loaded, which can have other text
	encoder format.Encoder     // for a table of text
	lines   format.LineEncoder // the same, or nil if it is not that of CSV; without encoder, only for the sum
	masker  *mask.Masker       // or nil
	values  values

	converter *convert.Converter // or nil
	rejects   bool               // the rows are needed as they were read: they may be refused

	headerLines int64            // before the first row
	table       sink.TextTable   // or nil
	binary      sink.BinaryTable // the table, if its loaders take the binary form; or nil
	fitter      sink.Fitter      // the table, or nil
	direct      sink.CSVRows     // makes what loaders send of the text, or nil

	decoders chan format.Decoder
}

// prepare is the work of the queue.
func (p *preparer) prepare(b *block) {
	p.read(b)
	if b.err != nil && p.rejects {
		b.rows = int64(p.rowsOf(b).len())
	}
}

func (p *preparer) isCSV() bool {
	_, is := p.from.(format.CSV)
	return is
}

func (p *preparer) read(b *block) {
	if p.sent {
		b.pass()
		return
	}
	if p.direct != nil && !b.large {
		if b.output, b.rows, b.lines, b.summed = p.direct(b.output, b.text, &b.sum); b.summed {
			b.out = b.output
			return
		}
		p.values.begin(b)
	}
	if p.csv {
		b.rows, b.lines = addLines(&b.sum, b.text)
		b.summed = true
	}
	if p.asIs && p.table.KeepsText(b.text) {
		b.loaded.Text, b.loaded.Canonical = b.sum.Text, b.sum.Canonical
		p.passText(b)
		return
	}
	if p.from != nil {
		b.err = p.decode(b)
		return
	}
	for i := range b.batches {
		if b.err = p.mask(b, i); b.err == nil && p.rejects {
			b.err = p.keep(b, b.batches[i])
		}
		if b.err == nil {
			b.err = p.convert(b, i)
		}
		if b.err != nil {
			b.err = shifted(b.err, b.rowsBefore(i))
			return
		}
	}
	for _, batch := range b.batches {
		if b.err = p.take(b, batch); b.err != nil {
			return
		}
	}
	if p.encoder != nil {
		b.empty()
	}
	b.finish()
}

// passText has a loader take the text of a block as it is, or the binary form of it.
func (p *preparer) passText(b *block) {
	one := stretch{rows: b.rows, lines: b.lines, wide: findWide(b.text, b.rows, b.lines)}
	b.out = b.text
	if p.binary != nil && !b.large {
		if b.output, one.binary = p.binary.AppendTextAsBinary(b.output, b.text); one.binary {
			b.out = b.output
		}
	}
	one.end = len(b.out)
	b.stretches = append(b.stretches, one)
}

// decode makes batches of the text of a block, or text for the loaders, one batch at a time.
func (p *preparer) decode(b *block) (err error) {
	var decoder format.Decoder
	select {
	case decoder = <-p.decoders:
	default:
		if decoder, err = p.from.Decoder(p.fields); err != nil {
			return err
		}
	}
	defer func() {
		select {
		case p.decoders <- decoder:
		default:
		}
	}()
	rows := int64(0)
	for text := b.text; len(text) > 0; {
		batch := b.batch()
		n, err := 0, error(nil)
		if p.shows {
			n, err = decoder.(format.LineDecoder).DecodeLines(batch, text, &b.sum)
			b.summed = true
		} else {
			n, err = decoder.Decode(batch, text)
		}
		if err == nil {
			if text = text[n:]; len(text) == 0 && !p.rejects {
				text = nil
				b.dropText()
			}
			if err = p.convert(b, len(b.batches)-1); err == nil {
				err = p.take(b, b.batches[len(b.batches)-1])
			}
		}
		if err != nil {
			return shifted(err, rows)
		}
		rows += int64(batch.Rows())
		if p.encoder != nil {
			b.empty()
		}
	}
	b.rows = rows
	b.finish()
	return nil
}

// loadInto passes the rows to a loader that does not read text.
func (b *block) loadInto(loader sink.Loader) error {
	if len(b.out) > 0 {
		return loader.(sink.CSVLoader).LoadCSV(b.out, b.rows)
	}
	for _, batch := range b.batches {
		if err := loader.Load(batch); err != nil {
			return err
		}
	}
	return nil
}

// keep keeps the rows of a batch, the only one of its block, as they are before what may refuse some, and sums them up.
func (p *preparer) keep(b *block, batch *source.Batch) error {
	appendRows(&b.raw, batch, 0, batch.Rows())
	if !p.values.areRead() {
		return nil
	}
	return p.values.add(b, batch)
}

// mask replaces a batch of a block by one whose values may be passed on.
func (p *preparer) mask(b *block, i int) error {
	if p.masker == nil {
		return nil
	}
	return b.replace(i, p.masker.Mask)
}

// convert replaces a batch of a block by one with converted values.
func (p *preparer) convert(b *block, i int) error {
	if p.converter == nil {
		return nil
	}
	return b.replace(i, p.converter.Convert)
}

// replace replaces a batch of a block by what change makes of it.
func (b *block) replace(i int, change func(dst, src *source.Batch) error) error {
	if len(b.spare) == 0 {
		b.spare = append(b.spare, new(source.Batch))
	}
	last := len(b.spare) - 1
	changed, batch := b.spare[last], b.batches[i]
	if err := change(changed, batch); err != nil {
		return err
	}
	if batch.Memory() > keptSize {
		batch.Release()
	}
	b.batches[i], b.spare[last] = changed, batch
	return nil
}

// rowsBefore returns the rows of the batches before one.
func (b *block) rowsBefore(i int) (rows int64) {
	for _, batch := range b.batches[:i] {
		rows += int64(batch.Rows())
	}
	return rows
}

// shifted has the row of an error count from rows that come before.
func shifted(err error, rows int64) error {
	if row, is := errors.AsType[*format.RowError](err); is {
		row.Row += rows
	}
	if row, is := errors.AsType[*sink.RowError](err); is {
		row.Row += rows
	}
	if row, is := errors.AsType[*mask.ValueError](err); is {
		row.Row += rows
	}
	if row, is := errors.AsType[*convert.ValueError](err); is {
		row.Row += rows
	}
	return err
}

// take makes text of a batch if the loaders take text. It is summed up if it is CSV and its sum is not known, or if
// only its sum is wanted.
func (p *preparer) take(b *block, batch *source.Batch) (err error) {
	read := batch
	if p.fitter != nil {
		if batch, err = p.fitter.Fit(batch); err != nil && p.from == nil {
			err = shifted(err, b.rows)
		}
		if err != nil {
			return err
		}
	}
	if p.from == nil {
		b.rows += int64(batch.Rows())
	}
	sum, known := &b.sum, p.csv || p.shows || p.rejects && p.from == nil && p.values.areRead()
	if !known && p.values.areRead() && (batch != read || p.lines == nil) {
		if err := p.values.add(b, read); err != nil {
			return err
		}
		known = true
	}
	if known {
		sum = &b.loaded
	}
	if size := batch.TextSize(); size > keptSize && p.encoder != nil {
		b.output = slices.Grow(b.output, size+blockSize) // otherwise append would copy it again and again as it grows
	}
	summed := p.lines != nil && (!known || p.loaded)
	isBinary := false
	if p.binary != nil {
		b.output, isBinary = p.binary.AppendBinary(b.output, batch)
	}
	switch {
	case !summed && (p.encoder == nil || isBinary):
	case p.encoder == nil || isBinary:
		b.scratch, err = p.lines.AppendLines(b.scratch[:0], batch, pieceSize, sum, drop)
	case !summed:
		b.output, err = p.encoder.AppendRows(b.output, batch)
	default:
		b.output, err = p.lines.AppendLines(b.output, batch, math.MaxInt, sum, nil)
	}
	b.summed = b.summed || summed
	if p.encoder != nil {
		b.stretched(int64(batch.Rows()), isBinary)
	}
	if isBinary && p.from == nil {
		b.bytes += int64(batch.TextSize())
	}
	return err
}

// addLines adds the rows of CSV to a sum. It returns their number and the number of their lines.
func addLines(sum format.Lines, text []byte) (rows, lines int64) {
	const quote = '"'
	start, quoted := 0, false
	for at := 0; at < len(text); {
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			break // a splitter returns whole rows
		}
		if bytes.Count(text[at:at+end], []byte{quote})%2 != 0 {
			quoted = !quoted
		}
		at += end + 1
		lines++
		if !quoted {
			sum.Line(text[start:at])
			rows++
			start = at
		}
	}
	return rows, lines
}
