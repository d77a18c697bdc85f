package export

import (
	"context"
	"errors"
	"io"
	"sync"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/format"
	"culvert/internal/compress"
	"culvert/internal/ordered"
	"culvert/source"
)

// pipeline is one export under way. Its stages are
//
//	1 read       sequential   rows of the source into a frame
//	2 format     parallel     values into text
//	3 compress   parallel     text into a zstd frame or gzip member
//	4 write      sequential   frames in order, to agefile or dst
//	5 encrypt    parallel     inside agefile.Writer, chunks to dst in order
//
// An [ordered.Queue] of frames joins 1 to 4. Where the database prints the rows, stage 2 has nothing to do.
type pipeline struct {
	plan     *Plan
	rows     source.Rows
	encoder  format.Encoder
	codec    *compress.Encoder
	trailer  *compress.Trailer
	dst      io.Writer
	progress *Progress
	ctx      context.Context
	cancel   context.CancelCauseFunc
	stats    Stats

	frameSize int // bytes to read before they go on
	queue     *ordered.Queue[*frame]
	outsized  chan struct{} // has room for the one outsized frame that may be on its way
}

// frame is a batch of rows on its way.
type frame struct {
	batch    source.Batch // stage 1, unless the text comes from the database
	text     []byte       // stage 1 or 2
	textSize int
	data     []byte // stage 3; or the text, if it is not compressed
	rows     int64
	err      error // of stage 2
	outsized bool
}

// maxKept is the size above which a frame is outsized, as a row can make it. Only one such frame is on its way at a
// time, and its buffers are given up as soon as they have been used.
const maxKept = 8 * source.BatchSize

// idle has the frames of past exports. New ones would cost a small export more time than all else.
var idle = sync.Pool{New: func() any { return new(frame) }}

func (f *frame) reset() {
	f.text, f.data = kept(f.text), kept(f.data)
	f.textSize, f.rows, f.err, f.outsized = 0, 0, nil, false
}

// free hands the frame on to an export that follows.
func (f *frame) free() {
	if f.batch.Rows() > 0 || f.batch.Size() > 0 {
		f.batch.Reset(0) // left by an export that failed
	}
	f.reset()
	idle.Put(f)
}

// kept gives the memory of a buffer for its next use, if it is not outsized.
func kept(buf []byte) []byte {
	if cap(buf) > maxKept {
		return nil
	}
	return buf[:0]
}

// runEncrypted runs the pipeline into an age file.
func (pl *pipeline) runEncrypted(config agefile.Config, recipients []age.Recipient) error {
	w, err := config.NewWriter(pl.dst, recipients...)
	if err != nil {
		return err
	}
	defer w.Abort() // does nothing once it is closed
	pl.dst = w
	if err := pl.run(); err != nil {
		return err
	}
	return w.Close()
}

// frameSize is how many bytes are read before they go on. Frames that are not compressed gain nothing by being large,
// and what has been read can go on while the database makes more.
func (p *Plan) frameSize() int {
	if p.Compression == None {
		return source.BatchSize / 16
	}
	return source.BatchSize
}

// errStopped is what stage 1 returns when stage 4 has failed, which has the better error.
var errStopped = errors.New("export: stopped")

func (pl *pipeline) run() error {
	jobs := pl.plan.jobs()
	frames := make([]*frame, jobs+2)
	for i := range frames {
		frames[i] = idle.Get().(*frame)
		frames[i].batch.SetRowSize(pl.encoder.RowSize())
		frames[i].batch.SetLimit(pl.frameSize)
	}
	pl.queue = ordered.New(frames, jobs, pl.work)
	pl.outsized = make(chan struct{}, 1)

	written := make(chan error, 1)
	go func() {
		err := pl.write()
		if err != nil {
			pl.queue.Stop()
			pl.cancel(err)
		}
		written <- err
	}()

	readErr, writeErr := pl.readAll(written)
	for _, f := range frames {
		f.free()
	}
	switch {
	case writeErr != nil:
		return writeErr
	case readErr != nil:
		return readErr
	}
	_, err := pl.trailer.WriteTo(pl.dst)
	return err
}

// readAll runs stage 1 and waits for the others, also if the source panics, which may be recovered further up.
func (pl *pipeline) readAll(written <-chan error) (readErr, writeErr error) {
	readErr = errStopped
	defer func() {
		if readErr != nil {
			pl.queue.Stop()
		} else {
			pl.queue.Finish()
		}
		writeErr = <-written
		pl.queue.Wait()
	}()
	readErr = pl.read()
	return readErr, nil
}

// read is stage 1.
func (pl *pipeline) read() error {
	if header := pl.encoder.AppendHeader(nil); len(header) > 0 {
		item := pl.get()
		if item == nil {
			return errStopped
		}
		item.Value.text = append(item.Value.text, header...)
		pl.queue.Put(item)
	}
	if rows, ok := pl.csvWriter(); ok {
		return pl.readCSV(rows)
	}
	for {
		item := pl.get()
		if item == nil {
			return errStopped
		}
		f := item.Value
		if err := pl.rows.Next(&f.batch); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		f.rows = int64(f.batch.Rows())
		if f.outsized = f.batch.Size() > maxKept; f.outsized {
			select {
			case pl.outsized <- struct{}{}:
			case <-pl.ctx.Done():
				return context.Cause(pl.ctx)
			}
		}
		pl.queue.Put(item)
	}
}

// csvWriter gives the rows, if the database is to print them. It is the least work here, but the database prints in one
// process, and slower than it gives values: with several cores here it is faster to print on all of them.
func (pl *pipeline) csvWriter() (source.CSVWriter, bool) {
	rows, ok := pl.rows.(source.CSVWriter)
	_, csv := pl.plan.format().(format.CSV)
	return rows, ok && csv && pl.plan.jobs() == 1
}

// get takes an empty frame, or nil if the pipeline has been stopped.
func (pl *pipeline) get() *ordered.Item[*frame] {
	item := pl.queue.Get()
	if item != nil {
		item.Value.reset()
	}
	return item
}

// readCSV is stage 1 where the database prints CSV.
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

// collector gathers rows of text into frames. Its Write is called for each row and has to be cheap.
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
	return len(row), nil
}

// advance begins the next frame.
func (c *collector) advance() error {
	if c.item != nil {
		c.pl.queue.Put(c.item)
	}
	if c.item = c.pl.get(); c.item == nil {
		return errStopped
	}
	if f := c.item.Value; cap(f.text) < c.pl.frameSize {
		f.text = make([]byte, 0, c.pl.frameSize)
	}
	return nil
}

// work is stages 2 and 3.
func (pl *pipeline) work(f *frame) {
	if f.batch.Rows() > 0 {
		if f.text, f.err = pl.encoder.AppendRows(f.text, &f.batch); f.err != nil {
			return
		}
		f.batch.Reset(0)
	}
	f.textSize = len(f.text)
	if pl.plan.Compression == None {
		f.data, f.text = f.text, f.data
		return
	}
	if cap(f.data) < len(f.text) {
		// At once and not in steps, which would leave garbage. What is not used is not resident.
		f.data = make([]byte, 0, len(f.text))
	}
	f.data = pl.codec.AppendFrame(f.data, f.text)
	f.text = kept(f.text)
}

// write is stage 4.
func (pl *pipeline) write() error {
	for {
		item := pl.queue.Next()
		if item == nil {
			return nil
		}
		f := item.Value
		if f.err != nil {
			return pl.locate(f.err)
		}
		if _, err := pl.dst.Write(f.data); err != nil {
			return err
		}
		pl.trailer.Add(int64(len(f.data)), int64(f.textSize))
		pl.stats.Rows += f.rows
		pl.stats.Text += int64(f.textSize)
		pl.progress.Rows.Add(f.rows)
		pl.progress.Text.Add(int64(f.textSize))
		f.data = kept(f.data)
		if f.outsized {
			<-pl.outsized
		}
		pl.queue.Free(item)
	}
}

// locate counts the row of an error, which a format knows within a batch only, from the first one.
func (pl *pipeline) locate(err error) error {
	var invalid *format.InvalidUTF8Error
	if errors.As(err, &invalid) {
		invalid.Row += pl.stats.Rows
	}
	return err
}
