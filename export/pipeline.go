package export

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"sync"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/format"
	"culvert/internal/canonical"
	"culvert/internal/compress"
	"culvert/internal/ordered"
	"culvert/mask"
	"culvert/source"
)

// pipeline is one export under way. Its stages are
//
//	1 read       sequential   rows of the source into a frame; parallel, if the source can divide them
//	2 format     parallel     values, which are masked first, into text
//	3 compress   parallel     text into a zstd frame or gzip member
//	4 write      sequential   frames in order, to agefile or dst
//	5 encrypt    parallel     inside agefile.Writer, chunks to dst in order
//
// An [ordered.Queue] of frames joins 1 to 4. If the database prints the rows, stage 2 has nothing to do. A batch with a
// large row does not enter the queue: its reader formats it in pieces, each of which becomes a frame.
type pipeline struct {
	plan     *Plan
	readers  []source.Rows
	encoder  format.Encoder
	lines    format.LineEncoder // of the CSV whose lines are summed up
	masker   *mask.Masker       // or nil
	fitter   format.Fitter      // or nil
	types    *canonical.Types
	codec    *compress.Encoder
	trailer  *compress.Trailer
	dst      io.Writer
	file     *counter // what is written of a file that is assembled; nil if text is written as it is
	progress *Progress
	ctx      context.Context
	cancel   context.CancelCauseFunc
	stats    Stats

	part      bool // of a table that several sessions read
	small     bool // other tables are read meanwhile
	frameSize int  // bytes of a full frame
	queue     *ordered.Queue[*frame]
	writing   bool            // stage 4 has begun
	written   chan error      // receives the error of stage 4, if it has begun
	unwritten int             // frames that one reader may still fill before that
	turn      sync.Mutex      // its holder puts frames into the queue, and uses large and whole
	large     canonical.Adder // of a batch that is made in pieces
	whole     source.Batch    // that batch, masked
	fitted    source.Batch    // that batch, with values that fit
	changed   sync.Pool       // of *source.Batch, for what masker and fitter make of a batch
}

// frame is a batch of rows, or a piece of text, in the pipeline.
type frame struct {
	batch source.Batch // stage 1, unless the text is made there
	text  []byte       // stage 1 or 2
	data  []byte       // stage 3; or the text, if it is not compressed
	parts []part       // of data: one, or several if the text is much longer than the values
	rows  int64
	sum   canonical.Adder                   // of the rows
	err   error                             // of stage 2
	cut   func(text []byte) ([]byte, error) // stage 3 for a piece of a long text, of which it returns the memory
}

// part is a frame in the output.
type part struct{ size, textSize int }

const (
	// maxBatch is the size of text above which a batch is large, because of a large row. Such a batch stays with its
	// reader, and so does a later batch in the same memory.
	maxBatch       = source.BatchSize * 5 / 4
	maxBatchMemory = 2 * source.BatchSize

	// maxText is the size at which the text of a batch is compressed before the rest is made.
	maxText = 2 * source.BatchSize

	// maxKept is the size above which a buffer is not reused.
	maxKept = 4 * source.BatchSize
)

// idle has the frames of past exports. For a small export, new ones would take most of the time.
var idle = sync.Pool{New: func() any { return new(frame) }}

func (f *frame) reset(types *canonical.Types) {
	f.text, f.data, f.parts = kept(f.text), kept(f.data), f.parts[:0]
	f.rows, f.err = 0, nil
	f.sum.Reset(types)
}

// isLarge reports whether the batch is larger than a frame in the queue may be.
func (f *frame) isLarge() bool {
	return f.batch.TextSize() > maxBatch || f.batch.Memory() > maxBatchMemory || f.batch.HasLent()
}

// free returns the frame to the pool for later exports.
func (f *frame) free() {
	if f.isLarge() {
		f.batch.Release()
	} else if f.batch.Rows() > 0 || f.batch.Size() > 0 {
		f.batch.Reset(0) // left by an export that failed
	}
	f.reset(nil)
	f.cut = nil
	idle.Put(f)
}

// kept returns the emptied buffer for reuse, or nil if it is too large.
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

// frameSize returns the number of bytes of a full frame. Without compression, large frames gain nothing, and small ones
// are written while the database produces more. The frames of a format that is assembled are compressed inside.
func (p *Plan) frameSize(encoder format.Encoder) int {
	if _, assembled := encoder.(format.Assembled); p.Compression == None && !assembled {
		return source.BatchSize / 16
	}
	return source.BatchSize
}

// errStopped is what stage 1 returns when stage 4 has failed, which has the better error.
var errStopped = errors.New("export: stopped")

func (pl *pipeline) run() error {
	jobs := pl.plan.jobs()
	count := jobs + 2
	if readers := len(pl.readers); readers > 1 {
		count += readers // each holds one most of the time
	}
	frames := make([]*frame, count)
	for i := range frames {
		frames[i] = idle.Get().(*frame)
		frames[i].batch.SetRowSize(pl.encoder.RowSize())
		frames[i].batch.SetLimit(pl.frameSize)
		frames[i].batch.SetLending(true)
		frames[i].cut = func(text []byte) ([]byte, error) {
			pl.compress(frames[i], text)
			return text[:0], nil
		}
	}
	assembler := pl.assemble()
	defer func() {
		if assembler != nil {
			pl.stats.Text = pl.file.n
		}
	}()
	workers := jobs
	if pl.part {
		// With one, the reader itself would format and compress. Its server would wait meanwhile, and lose its core.
		workers = max(workers, 2)
	}
	pl.queue = ordered.New(frames, workers, pl.work)
	pl.written = make(chan error, 1)
	if pl.small && jobs == 1 && len(pl.readers) == 1 {
		pl.unwritten = len(frames)
	} else {
		pl.beginWriting()
	}
	readErr, writeErr := pl.readAll()
	for _, f := range frames {
		f.free()
	}
	switch {
	case writeErr != nil:
		return writeErr
	case readErr != nil:
		return readErr
	}
	if err := pl.masker.Finish(); err != nil {
		return err
	}
	if assembler != nil {
		return assembler.Close()
	}
	_, err := pl.trailer.WriteTo(pl.dst)
	return err
}

// assemble puts what makes a file of the text before the writer, or returns nil if the text is the file. Then the size
// of the text is that of the file.
func (pl *pipeline) assemble() io.Closer {
	assembled, is := pl.encoder.(format.Assembled)
	if !is {
		return nil
	}
	pl.file = &counter{dst: pl.dst, total: &pl.progress.Text}
	assembler := assembled.Assemble(pl.file)
	pl.dst = assembler
	return assembler
}

// beginWriting begins stage 4.
func (pl *pipeline) beginWriting() {
	pl.writing = true
	go func() {
		err := pl.write()
		if err != nil {
			pl.queue.Stop()
			pl.cancel(err)
		}
		pl.written <- err
	}()
}

// readAll runs stage 1 and waits for the others, even if the source panics, since a caller may recover. A small table
// is written here, when all its rows are read: to hand it to another goroutine takes longer.
func (pl *pipeline) readAll() (readErr, writeErr error) {
	readErr = errStopped
	defer func() {
		if readErr != nil {
			pl.queue.Stop()
		} else {
			pl.queue.Finish()
		}
		if pl.writing {
			writeErr = <-pl.written
		} else {
			writeErr = pl.write() // nothing, once the queue is stopped
		}
		pl.queue.Wait()
	}()
	readErr = pl.read()
	return readErr, nil
}

// work is stages 2 and 3.
func (pl *pipeline) work(f *frame) {
	if f.batch.Rows() > 0 {
		size := maxText
		if pl.plan.Compression == None {
			size = math.MaxInt // the text is written as it is
		}
		if f.err = pl.appendMasked(f, size); f.err != nil {
			return
		}
		f.batch.Reset(0)
	}
	if pl.plan.Compression == None {
		f.data, f.text = f.text, f.data
		f.parts = append(f.parts, part{len(f.data), len(f.data)})
		return
	}
	pl.compress(f, f.text)
	f.text = kept(f.text)
}

// appendMasked appends the rows of a frame to its text, as they may leave.
func (pl *pipeline) appendMasked(f *frame, size int) (err error) {
	batch := &f.batch
	if pl.masker != nil {
		masked := pl.takeBatch()
		defer pl.giveBatch(masked)
		if err := pl.masker.Mask(masked, batch); err != nil {
			return err
		}
		batch = masked
	}
	if pl.fitter != nil {
		fitted := pl.takeBatch()
		defer pl.giveBatch(fitted)
		batch = pl.fitter.Fit(fitted, batch)
	}
	f.text = slices.Grow(f.text, batch.TextSize())
	f.text, err = pl.appendRows(f, batch, &f.sum, size, f.cut)
	return err
}

func (pl *pipeline) takeBatch() *source.Batch {
	b, _ := pl.changed.Get().(*source.Batch)
	if b == nil {
		b = new(source.Batch)
	}
	b.SetRowSize(pl.encoder.RowSize())
	return b
}

func (pl *pipeline) giveBatch(b *source.Batch) {
	if b.Memory() > maxBatchMemory {
		b.Release() // values may become longer
	}
	pl.changed.Put(b)
}

// appendRows appends the rows of a batch to the text of a frame, in pieces, and adds them to sum.
func (pl *pipeline) appendRows(
	f *frame, b *source.Batch, sum *canonical.Adder, size int, next func([]byte) ([]byte, error),
) ([]byte, error) {
	if pl.lines == pl.encoder {
		return pl.lines.AppendLines(f.text, b, size, sum, next)
	}
	// The lines of CSV are made only for their sum, in memory that stage 3 needs later, and in pieces that stay in the
	// cache.
	const line = 16 << 10
	lines, err := pl.lines.AppendLines(f.data[:0], b, line, sum, dropText)
	if f.data = lines[:0]; err != nil {
		return f.text, err
	}
	return pl.encoder.AppendPieces(f.text, b, size, next)
}

func dropText(text []byte) ([]byte, error) { return text[:0], nil }

// compress is stage 3.
func (pl *pipeline) compress(f *frame, text []byte) {
	if len(text) == 0 && len(f.parts) > 0 {
		return
	}
	begin := len(f.data)
	if begin == 0 && cap(f.data) < len(text) {
		// Growing in steps would leave garbage, and unused memory is not resident. Incompressible text grows slightly.
		f.data = make([]byte, 0, len(text)+len(text)/256+64)
	}
	f.data = pl.codec.AppendFrame(f.data, text)
	f.parts = append(f.parts, part{len(f.data) - begin, len(text)})
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
		if err := pl.plan.Pace.Wait(pl.ctx, f.rows, textOf(f.parts)); err != nil {
			return err
		}
		if _, err := pl.dst.Write(f.data); err != nil {
			return err
		}
		pl.stats.Rows += f.rows
		pl.stats.Sum.Add(f.sum.Text)
		pl.stats.Canonical.Add(f.sum.Canonical)
		pl.progress.Rows.Add(f.rows)
		if pl.file == nil {
			pl.count(f.parts)
		}
		f.data = kept(f.data)
		pl.queue.Free(item)
	}
}

// textOf returns the size of the text of parts.
func textOf(parts []part) (size int64) {
	for _, part := range parts {
		size += int64(part.textSize)
	}
	return size
}

// count adds parts of the output to the figures.
func (pl *pipeline) count(parts []part) {
	for _, part := range parts {
		pl.trailer.Add(int64(part.size), int64(part.textSize))
		pl.stats.Text += int64(part.textSize)
		pl.progress.Text.Add(int64(part.textSize))
	}
}

// locate makes the row number of an error count from the first row instead of the first row of the batch. If rows come
// in no order, the number would be meaningless and is 0.
func (pl *pipeline) locate(err error) error {
	var row *int64
	if invalid, is := errors.AsType[*format.InvalidUTF8Error](err); is {
		row = &invalid.Row
	} else if unfit, is := errors.AsType[*format.ValueError](err); is {
		row = &unfit.Row
	} else if unmasked, is := errors.AsType[*mask.ValueError](err); is {
		row = &unmasked.Row
	} else {
		return err
	}
	if *row += pl.stats.Rows; len(pl.readers) > 1 {
		*row = 0
	}
	return err
}
