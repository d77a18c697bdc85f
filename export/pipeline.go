package export

import (
	"context"
	"errors"
	"io"
	"slices"

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
	cancel   context.CancelCauseFunc
	stats    Stats

	queue *ordered.Queue[*frame]
}

// frame is a batch of rows on its way.
type frame struct {
	batch source.Batch // stage 1, unless the text comes from the database
	text  []byte       // stage 1 or 2
	data  []byte       // stage 3
	rows  int64
	err   error // of stage 2
}

// maxKept is the size above which a buffer that an outsized row has made large is given up after it.
const maxKept = 8 * source.BatchSize

func (f *frame) reset() {
	if cap(f.text) > maxKept {
		f.text = nil
	}
	if cap(f.data) > maxKept {
		f.data = nil
	}
	f.batch.Reset(0)
	f.text, f.data, f.rows, f.err = f.text[:0], f.data[:0], 0, nil
}

// runEncrypted runs the pipeline into an age file.
func (pl *pipeline) runEncrypted(config agefile.Config, recipients []age.Recipient) error {
	w, err := config.NewWriter(pl.dst, recipients...)
	if err != nil {
		return err
	}
	pl.dst = w
	if err := pl.run(); err != nil {
		w.Abort()
		return err
	}
	return w.Close()
}

// errStopped is what stage 1 returns when stage 4 has failed, which has the better error.
var errStopped = errors.New("export: stopped")

func (pl *pipeline) run() error {
	jobs := pl.plan.jobs()
	frames := make([]*frame, jobs+2)
	for i := range frames {
		frames[i] = new(frame)
		frames[i].batch.SetRowSize(pl.encoder.RowSize())
	}
	pl.queue = ordered.New(frames, jobs, pl.work)

	written := make(chan error, 1)
	go func() {
		err := pl.write()
		if err != nil {
			pl.queue.Stop()
			pl.cancel(err)
		}
		written <- err
	}()

	readErr := pl.read()
	if readErr != nil {
		pl.queue.Stop()
	} else {
		pl.queue.Finish()
	}
	writeErr := <-written
	pl.queue.Wait()
	switch {
	case writeErr != nil:
		return writeErr
	case readErr != nil:
		return readErr
	}
	_, err := pl.trailer.WriteTo(pl.dst)
	return err
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
	if c.item == nil || len(c.item.Value.text)+len(row) > source.BatchSize {
		if err := c.advance(); err != nil {
			return 0, err
		}
	}
	rest := row
	for len(rest) > source.BatchSize { // the row is larger than a frame and spans several
		c.item.Value.text = append(c.item.Value.text, rest[:source.BatchSize]...)
		rest = rest[source.BatchSize:]
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
	if f := c.item.Value; cap(f.text) < source.BatchSize {
		f.text = make([]byte, 0, source.BatchSize)
	}
	return nil
}

// work is stages 2 and 3.
func (pl *pipeline) work(f *frame) {
	if f.batch.Rows() > 0 {
		if f.text, f.err = pl.encoder.AppendRows(f.text, &f.batch); f.err != nil {
			return
		}
	}
	if pl.plan.Compression != None {
		f.data = slices.Grow(f.data, len(f.text)) // not in steps; what is not used is not resident
		f.data = pl.codec.AppendFrame(f.data, f.text)
	}
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
		data := f.data
		if pl.plan.Compression == None {
			data = f.text
		}
		if _, err := pl.dst.Write(data); err != nil {
			return err
		}
		pl.trailer.Add(int64(len(data)), int64(len(f.text)))
		pl.stats.Rows += f.rows
		pl.stats.Text += int64(len(f.text))
		pl.progress.Rows.Add(f.rows)
		pl.progress.Text.Add(int64(len(f.text)))
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
