package load

import (
	"bytes"
	"errors"
	"io"

	"culvert/convert"
	"culvert/format"
	"culvert/sink"
	"culvert/source"
)

// sifting loads blocks so that rows which are refused are rejected, and the others are loaded. It sets a mark and tries
// a whole block. If that fails, it undoes the rows back to the mark, and tries fewer at a time, until each row that is
// refused has been tried alone. The row that the database names only saves attempts: nothing depends on it.
type sifting struct {
	*worker
	to      sink.Marker
	prepare preparer // of rows that are tried again
	part    *block   // some rows of a block
	block   *block
	rows    rows // of the block
	unread  bool // the block could not be read as a whole, so its rows have no sum yet

	waiting rows    // that refer to rows which are not there, and may still come
	numbers []int64 // of them in the file
	waited  int     // their size
	again   []int64 // the numbers of the rows that are tried, if these have waited
	last    bool    // rows do not wait any more
}

// waitingSize is the size of the rows that may wait. Later ones are rejected at once.
const waitingSize = 32 << 20

// sifted are the figures of a worker that rejects rows.
type sifted struct {
	taken    figures
	unread   figures // sums of all rows of blocks that were not summed up as a whole
	rejected int64
}

// sift takes the place of load if rows can be rejected: it loads all blocks that the worker is dealt.
func (w *worker) sift() (err error) {
	to, is := w.loader.(sink.Marker)
	if !is {
		return errors.New("load: the database cannot undo rows, so none can be rejected")
	}
	s := &sifting{worker: w, to: to, part: idle.Get().(*block), prepare: *w.pl.prepare}
	s.prepare.masker = nil // rows are kept as they are masked
	s.part.reset()
	defer s.part.free()
	for err = w.take(); err == nil; err = w.take() {
		if err := s.sift(w.item.Value); err != nil {
			return err
		}
	}
	if err == io.EOF {
		err = s.tryWaiting()
	}
	if err != nil {
		return err
	}
	confirmed, err := w.loader.Flush()
	if err == nil && confirmed != w.rows {
		err = &source.CountError{Received: w.rows, Confirmed: confirmed}
	}
	return err
}

// sift loads a block.
func (s *sifting) sift(b *block) error {
	s.block, s.rows, s.unread = b, rows{}, b.err != nil
	err := b.err
	if err == nil {
		if err = s.try(b); err == nil {
			return nil
		}
	}
	s.rows = s.prepare.rowsOf(b)
	if s.unread && s.rows.len() == 1 {
		return s.between(0, 1) // which sums it up
	}
	return s.failed(0, s.rows.len(), err, rowOf(err, b))
}

// between loads some rows of the block.
func (s *sifting) between(first, end int) error {
	if first == end {
		return nil
	}
	b := s.part
	b.reset()
	s.prepare.values.begin(b)
	s.rows.fill(b, first, end)
	s.prepare.prepare(b)
	err := b.err
	if err == nil {
		err = s.try(b)
	}
	if s.unread && (err == nil || end-first == 1) {
		of := s.pl.figuresOf(b)
		of.rows, of.text = 0, 0 // known
		s.sifted.unread.add(of)
	}
	if err != nil {
		return s.failed(first, end, err, rowOf(err, b))
	}
	return nil
}

// failed goes on with rows that were refused with an error and undone. It rejects a single row, and tries several again
// in smaller groups. The error names one of them, counted from 1, or none.
func (s *sifting) failed(first, end int, err error, named int64) error {
	at := first + int(named) - 1
	known := at >= first && at < end
	switch {
	case !isAboutRow(err):
		return err
	case !isRejectable(err, s.pl.dangling):
		row := int64(0)
		if known {
			row = s.number(at)
		}
		return s.pl.about(numbered(err, row), 0)
	case end-first == 1 && isDangling(err) && !s.last && s.waited < waitingSize:
		s.waiting = s.waiting.with(s.rows, first)
		s.numbers = append(s.numbers, s.number(first))
		s.waited += s.rows.size(first)
		return nil
	case end-first == 1:
		s.sifted.rejected++
		row := s.number(first)
		text, failed := s.rows.text(first, s.pl.rejected.encoder)
		if failed != nil {
			return failed
		}
		return s.pl.rejected.add(row, numbered(err, row), text)
	}
	ends := []int{(first + end) / 2, end}
	if known {
		// Others behind it may be refused too. Halving keeps the attempts for a row near the logarithm of their number.
		ends = []int{at, at + 1, (at + 1 + end) / 2, end}
	}
	for _, to := range ends {
		if err := s.between(first, to); err != nil {
			return err
		}
		first = to
	}
	return nil
}

// number returns the number in the file of a row that is tried.
func (s *sifting) number(at int) int64 {
	if s.again != nil {
		return s.again[at]
	}
	return s.block.row + int64(at) + 1
}

// tryWaiting tries the rows again that referred to rows which were not there, as long as some are taken: in a table
// that refers to itself, a row may come before the one to which it refers. Then it rejects the rest.
func (s *sifting) tryWaiting() error {
	s.unread = false // they are summed up
	for before := -1; s.waiting.len() > 0; {
		s.last = s.waiting.len() == before
		before = s.waiting.len()
		s.rows, s.again = s.waiting, s.numbers
		s.waiting, s.numbers, s.waited = rows{}, nil, 0
		if err := s.between(0, before); err != nil {
			return err
		}
	}
	return nil
}

// try loads the rows of a block that are prepared, or none of them.
func (s *sifting) try(b *block) error {
	if err := s.to.Mark(); err != nil {
		return err
	}
	err := s.pass(b)
	if err == nil {
		var confirmed int64
		confirmed, err = s.to.Flush()
		if want := s.worker.rows + b.rows; err == nil && confirmed != want {
			return &source.CountError{Received: want, Confirmed: confirmed}
		}
	}
	if err == nil {
		s.worker.rows += b.rows
		s.sifted.taken.add(s.pl.figuresOf(b))
		return nil
	}
	if _, is := errors.AsType[*sink.RowError](err); is {
		if undone := s.to.Undo(); undone != nil {
			return undone
		}
	}
	return err
}

// pass passes rows to the loader.
func (s *sifting) pass(b *block) error {
	if text, is := s.loader.(sink.TextLoader); is && (s.pl.prepare.asIs || s.pl.prepare.encoder != nil) {
		return text.LoadText(bytes.NewReader(b.out))
	}
	return b.loadInto(s.to)
}

// rowOf returns the row of a block that an error is about, from 1, or a number that is none.
func rowOf(err error, b *block) int64 {
	if row, is := errors.AsType[*sink.RowError](err); is {
		if row.Row > 0 || row.Line == 0 {
			return row.Row
		}
		m := mark{even: b.rows == b.lines}
		if len(b.stretches) > 0 {
			m.wide = b.stretches[0].wide
		}
		return m.rowAt(row.Line)
	}
	if row, is := errors.AsType[*format.RowError](err); is {
		return row.Row
	}
	if value, is := errors.AsType[*convert.ValueError](err); is {
		return value.Row
	}
	return 0
}

// numbered returns a copy of the error of a row, with the row's number in the file.
func numbered(err error, row int64) error {
	if refused, is := errors.AsType[*sink.RowError](err); is {
		at := *refused
		at.Row, at.Line = row, 0
		if errors.Is(err, sink.ErrLocked) {
			return err
		}
		return &at
	}
	if unread, is := errors.AsType[*format.RowError](err); is {
		at := *unread
		at.Row, at.Line = row, 0
		return &at
	}
	if value, is := errors.AsType[*convert.ValueError](err); is {
		at := *value
		at.Row = row
		return &at
	}
	return err
}
