package export

import (
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"culvert/format"
	"culvert/internal/ordered"
	"culvert/source"
)

// read is stage 1. Several readers have a goroutine each. The first that fails ends the others, and has the error.
func (pl *pipeline) read() error {
	if header := pl.encoder.AppendHeader(nil); len(header) > 0 {
		item := pl.get()
		if item == nil {
			return errStopped
		}
		item.Value.text = append(item.Value.text, header...)
		pl.queue.Put(item)
	}
	if len(pl.readers) == 1 {
		return pl.readFrom(pl.readers[0])
	}
	return pl.readTogether()
}

// readTogether reads with several readers. If one panics, readTogether panics after all have stopped, so that the
// caller can recover as from a single reader.
func (pl *pipeline) readTogether() error {
	var (
		mu       sync.Mutex
		failure  error
		panicked *readerPanic
		reading  sync.WaitGroup
	)
	for _, rows := range pl.readers {
		reading.Go(func() {
			err := errStopped // if it does not return
			defer func() {
				value := recover()
				if err == nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if failure == nil {
					failure = err // before the others fail because they are stopped
					pl.queue.Stop()
					pl.cancel(err)
				}
				if value != nil && panicked == nil {
					panicked = &readerPanic{value, debug.Stack()}
				}
			}()
			err = pl.readFrom(rows)
		})
	}
	reading.Wait()
	if panicked != nil {
		panic(panicked)
	}
	return failure
}

// readerPanic is the panic of one of several readers, and its stack.
type readerPanic struct {
	value any
	stack []byte
}

// String is what the runtime prints.
func (p *readerPanic) String() string { return fmt.Sprintf("%v, in a reader:\n%s", p.value, p.stack) }

// readFrom reads rows to their end.
func (pl *pipeline) readFrom(rows source.Rows) error {
	if printing, ok := pl.csvWriter(rows); ok {
		return pl.readCSV(printing)
	}
	var item *ordered.Item[*frame]
	for {
		if item == nil {
			if item = pl.get(); item == nil {
				return errStopped
			}
		}
		f := item.Value
		if err := rows.Next(&f.batch); err == io.EOF {
			if f.isLarge() {
				f.batch.Release()
			}
			pl.queue.Free(item) // others may still read
			return nil
		} else if err != nil {
			return err
		}
		if f.isLarge() {
			// The memory of a large row stays with the reader, for the next one.
			if err := pl.putPieces(&f.batch); err != nil {
				return err
			}
			continue
		}
		f.rows = int64(f.batch.Rows())
		pl.put(item)
		item = nil
	}
}

// put queues a frame when no other reader is in the middle of a row.
func (pl *pipeline) put(item *ordered.Item[*frame]) {
	pl.turn.Lock()
	defer pl.turn.Unlock()
	pl.queue.Put(item)
}

// putPieces formats a batch and queues its text in pieces, with no other frame between them. So the text of a large row
// is never in memory as a whole. Stage 4 frees the frames, and waits for nothing that a reader holds.
func (pl *pipeline) putPieces(b *source.Batch) error {
	pl.turn.Lock()
	defer pl.turn.Unlock()
	item := pl.getText()
	if item == nil {
		return errStopped
	}
	pl.large.Reset(pl.types)
	if pl.masker != nil {
		pl.whole.SetLending(true)
		if err := pl.masker.Mask(&pl.whole, b); err != nil {
			return err
		}
		b = &pl.whole
		defer pl.whole.Reset(0)
	}
	if pl.fitter != nil {
		b = pl.fitter.Fit(&pl.fitted, b)
		defer pl.fitted.Reset(0)
	}
	text, err := pl.appendRows(item.Value, b, &pl.large, pl.frameSize, func(text []byte) ([]byte, error) {
		item.Value.text = text
		pl.queue.Put(item)
		if item = pl.getText(); item == nil {
			return nil, errStopped
		}
		return item.Value.text, nil
	})
	if err == errStopped {
		return err
	}
	item.Value.text, item.Value.err, item.Value.rows = text, err, int64(b.Rows())
	item.Value.sum.Text, item.Value.sum.Canonical = pl.large.Text, pl.large.Canonical
	pl.queue.Put(item)
	return nil
}

// csvWriter returns the rows if the database should print them. This is the least work here, but the database prints in
// one process, and more slowly than it sends values. So with several cores, printing here on all of them is faster.
// A part is read beside others, which keep all cores busy; printed by the database, it takes a quarter more processor
// time in all.
func (pl *pipeline) csvWriter(rows source.Rows) (source.CSVWriter, bool) {
	printing, ok := rows.(source.CSVWriter)
	_, csv := pl.plan.format().(format.CSV)
	return printing, ok && csv && pl.plan.jobs() == 1 && !pl.part && !pl.plan.kept && pl.masker == nil
}

// get takes an empty frame, or nil if the pipeline has been stopped.
func (pl *pipeline) get() *ordered.Item[*frame] {
	if !pl.writing { // there is one reader
		if pl.unwritten--; pl.unwritten < 0 {
			pl.beginWriting()
		}
	}
	item := pl.queue.Get()
	if item != nil {
		item.Value.reset(pl.types)
	}
	return item
}

// textRoom is the most by which nearly all pieces exceed frameSize.
const textRoom = 64 << 10

// getText is get for a piece of text: the frame has enough memory for it.
func (pl *pipeline) getText() *ordered.Item[*frame] {
	item := pl.get()
	if item != nil && cap(item.Value.text) < pl.frameSize {
		item.Value.text = make([]byte, 0, pl.frameSize+textRoom)
	}
	return item
}

// readCSV is readFrom for a database that prints CSV.
func (pl *pipeline) readCSV(rows source.CSVWriter) error {
	c := &collector{pl: pl}
	if _, err := rows.WriteCSV(c); err != nil {
		return err
	}
	if c.item != nil {
		pl.queue.Put(c.item)
	}
	return nil
}

// collector collects rows of text in frames. Its Write is called for each row and must be cheap.
type collector struct {
	pl   *pipeline
	item *ordered.Item[*frame]
}

func (c *collector) Write(row []byte) (int, error) {
	if c.item == nil || len(c.item.Value.text)+len(row) > c.pl.frameSize {
		if err := c.advance(); err != nil {
			return 0, err
		}
	}
	rest := row
	for len(rest) > c.pl.frameSize { // the row is larger than a frame and spans several
		c.item.Value.text = append(c.item.Value.text, rest[:c.pl.frameSize]...)
		rest = rest[c.pl.frameSize:]
		if err := c.advance(); err != nil {
			return 0, err
		}
	}
	f := c.item.Value
	f.text = append(f.text, rest...)
	f.rows++
	f.sum.Line(row)
	return len(row), nil
}

// advance begins the next frame.
func (c *collector) advance() error {
	if c.item != nil {
		c.pl.queue.Put(c.item)
	}
	if c.item = c.pl.getText(); c.item == nil {
		return errStopped
	}
	return nil
}
