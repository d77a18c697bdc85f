package load

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"runtime/debug"
	"sync"
	"time"

	"culvert/internal/grace"
	"culvert/internal/ordered"
	"culvert/pace"
	"culvert/sink"
	"culvert/source"
)

// patience is how long a read may still wait for its source after the pipeline has failed. Only tests change it.
var patience = 5 * time.Second

// errStopped ends stages of a pipeline that has failed for another reason.
var errStopped = errors.New("load: stopped")

// figures are those of rows that were passed to loaders.
type figures struct {
	rows, text int64
	sum        Sum
	loaded     Sum // of what was loaded of the text: without other columns, and as the table writes it
	values     Sum // of the values, if the table is of another system
	summed     bool
}

func (f *figures) add(other figures) {
	f.rows += other.rows
	f.text += other.text
	f.sum.Add(other.sum)
	f.loaded.Add(other.loaded)
	f.values.Add(other.values)
	f.summed = f.summed || other.summed
}

// pipeline takes rows from readers to loaders.
type pipeline struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	name    string // of what is read, for errors
	prepare *preparer
	workers []*worker
	jobs    int                    // blocks that are prepared at the same time
	beside  int                    // pipelines that run at the same time, or 0
	count   func(rows, text int64) // of what is passed to loaders
	pace    pace.Pace
	stop    func() // ends a read that waits

	rejected *rejected // takes rows that are refused, or nil
	dangling bool      // also those that refer to rows which are not there

	queue *ordered.Queue[*block]
	deal  chan *ordered.Item[*block]
	large chan struct{} // has a place for the block with a large row

	garbage int64 // of rows since the last collection

	mu      sync.Mutex
	failure error
}

// fill puts blocks into the queue of the pipeline, which takes them with get and put.
type fill func(pl *pipeline) error

// run reads with all readers at the same time. When it returns nil, loaders have taken all rows.
func (pl *pipeline) run(ctx context.Context, readers []fill) (figures, error) {
	pl.ctx, pl.cancel = context.WithCancelCause(ctx)
	defer pl.cancel(nil)
	// Pipelines of several tables share the blocks that their jobs need, so that their memory does not multiply.
	shared := max(1, pl.jobs/max(1, pl.beside))
	blocks := make([]*block, len(pl.workers)+len(readers)+shared)
	for i := range blocks {
		blocks[i] = idle.Get().(*block)
	}
	defer func() {
		for _, b := range blocks {
			b.free()
		}
	}()
	pl.queue = ordered.New(blocks, pl.jobs, pl.prepare.prepare)
	pl.deal = make(chan *ordered.Item[*block])
	pl.large = make(chan struct{}, 1)

	stop := context.AfterFunc(pl.ctx, pl.queue.Stop)
	defer stop()
	// Most reads end soon by themselves, and then the other tables can be read over the same connection. The driver of
	// MySQL closes the connection of a read that is ended.
	late, cancel := grace.Context(pl.ctx, patience)
	defer cancel()
	defer context.AfterFunc(late, pl.stop)()
	var reading, loading sync.WaitGroup
	for _, read := range readers {
		reading.Go(func() { pl.fail(read(pl)) })
	}
	for _, w := range pl.workers {
		loading.Go(func() { pl.fail(w.load(pl)) })
	}
	go func() {
		reading.Wait()
		if pl.failed() == nil {
			pl.queue.Finish()
		}
	}()
	total, err := pl.dealAll()
	pl.fail(err)
	reading.Wait()
	// Loaders see the end of the rows only after all readers have come to theirs without an error. Whether a file is
	// the one that the manifest lists is known after that, and before the commit.
	if pl.failed() == nil {
		close(pl.deal)
	}
	loading.Wait()
	pl.queue.Stop()
	pl.queue.Wait()
	return total, pl.failed()
}

// fail ends the pipeline. The first error is its result.
func (pl *pipeline) fail(err error) {
	if err == nil {
		return
	}
	pl.mu.Lock()
	if pl.failure == nil {
		if pl.failure = context.Cause(pl.ctx); pl.failure == nil {
			pl.failure = err
		}
	}
	pl.mu.Unlock()
	pl.cancel(err)
	pl.queue.Stop()
}

func (pl *pipeline) failed() error {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if pl.failure == nil && pl.ctx.Err() != nil {
		return context.Cause(pl.ctx)
	}
	return pl.failure
}

// dealAll deals blocks to loaders as they ask for them, and counts.
func (pl *pipeline) dealAll() (total figures, err error) {
	line, moved := int64(0), false
	for item := pl.queue.Next(); item != nil; item = pl.queue.Next() {
		b := item.Value
		if !b.placed {
			b.row = total.rows
		}
		if b.err != nil && (pl.rejected == nil || !isRejectable(b.err, true)) {
			return total, pl.about(b.err, b.row)
		}
		b.line = line
		line += b.lines
		moved = moved || b.moved
		b.moved = moved
		of := pl.figuresOf(b)
		if b.err != nil { // its rows are summed up when they are loaded
			of = figures{rows: b.rows, text: b.size()}
		}
		total.add(of)
		if err := pl.pace.Wait(pl.ctx, of.rows, of.text); err != nil {
			return total, err
		}
		pl.count(of.rows, of.text)
		select {
		case pl.deal <- item:
		case <-pl.ctx.Done():
			return total, context.Cause(pl.ctx)
		}
	}
	return total, nil
}

func (pl *pipeline) figuresOf(b *block) figures {
	return figures{b.rows, b.size(), b.sum.Text, b.loaded.Text, pl.prepare.valuesOf(b), b.summed}
}

// about says where in the file a row is that cannot be read, after the given number of rows.
func (pl *pipeline) about(err error, rows int64) error {
	return &fs.PathError{Op: "load", Path: pl.name, Err: shifted(err, rows)}
}

// get takes an empty block, or nil if the pipeline has been stopped.
func (pl *pipeline) get() *ordered.Item[*block] {
	item := pl.queue.Get()
	if item != nil {
		item.Value.reset()
		pl.prepare.values.begin(item.Value)
	}
	return item
}

// put queues a block. If it has a large row, put waits until the loaders have taken the one before, so that
// their number does not multiply the memory.
func (pl *pipeline) put(item *ordered.Item[*block]) error {
	if b := item.Value; b.size() > keptSize {
		select {
		case pl.large <- struct{}{}:
			b.large = true
			if b.size() > hugeSize {
				pl.collect(b.size())
			}
		case <-pl.ctx.Done():
			pl.queue.Free(item)
			return errStopped
		}
	}
	pl.queue.Put(item)
	return nil
}

// collect frees what rows have left, if they were large enough. It is called with the place in large.
func (pl *pipeline) collect(size int64) {
	if pl.garbage += size; pl.garbage > garbageSize {
		debug.FreeOSMemory()
		pl.garbage = 0
	}
}

// worker is a loader of the table at work. The workers of a plan are others: they fill tables.
type worker struct {
	loader sink.Loader
	rows   int64 // since the last part ended
	marks  []mark

	sifted sifted // in the last load

	taken struct{ rows, lines int64 } // since the last Flush, or of the text that a loader reads
	item  *ordered.Item[*block]
	next  int    // the stretch of item that follows
	text  []byte // of the stretch before it, not yet read
	file  string
	csv   bool // the text has the lines of the file, unless they have moved
	pl    *pipeline

	binary bool // the form of the rows that the loader reads
}

// load passes blocks to the loader until there are no more, and waits until the database has taken them.
func (w *worker) load(pl *pipeline) (err error) {
	w.pl, w.marks, w.taken, w.file, w.csv = pl, w.marks[:0], struct{ rows, lines int64 }{}, pl.name, pl.prepare.csv
	if w.sifted = (sifted{}); pl.rejected != nil {
		defer w.free()
		return w.sift()
	}
	defer func() {
		w.free()
		err = w.locate(err)
	}()
	before := w.rows
	text, isText := w.loader.(sink.TextLoader)
	switch {
	case isText && (pl.prepare.sent || pl.prepare.asIs || pl.prepare.encoder != nil):
		err = w.loadStretches(text)
	default:
		for err = w.take(); err == nil; err = w.take() {
			b := w.item.Value
			w.mark(b, stretch{}, stretch{rows: b.rows, lines: b.lines})
			if err = b.loadInto(w.loader); err != nil {
				return err
			}
		}
	}
	if err != nil && err != io.EOF {
		return err
	}
	confirmed, err := w.loader.Flush()
	if err == nil && confirmed != w.rows {
		err = &source.CountError{Received: w.rows - before, Confirmed: confirmed - before}
	}
	return err
}

// loadStretches passes text to the loader, which takes the rows of one form after the other.
func (w *worker) loadStretches(to sink.TextLoader) error {
	err := w.advance()
	for err == nil {
		w.binary = w.stretch().binary
		w.marks, w.taken = w.marks[:0], struct{ rows, lines int64 }{}
		w.markStretch()
		if binary, is := to.(sink.BinaryLoader); is && w.binary {
			err = binary.LoadBinary(w)
		} else {
			err = to.LoadText(w)
		}
		if err == nil && w.item == nil {
			return io.EOF
		}
	}
	return err
}

// stretch is the one whose text is read.
func (w *worker) stretch() stretch { return w.item.Value.stretches[w.next-1] }

// advance goes on to the next rows, of the same block or of another one. The error is io.EOF after the last ones.
func (w *worker) advance() error {
	for w.item == nil || w.next == len(w.item.Value.stretches) {
		if err := w.take(); err != nil {
			return err
		}
	}
	b, start := w.item.Value, 0
	if w.next > 0 {
		start = b.stretches[w.next-1].end
	}
	w.text = b.out[start:b.stretches[w.next].end]
	w.next++
	return nil
}

// markStretch remembers where the rows are whose text is read.
func (w *worker) markStretch() {
	b, before := w.item.Value, stretch{}
	for _, one := range b.stretches[:w.next-1] {
		before.rows += one.rows
		before.lines += one.lines
	}
	w.mark(b, before, w.stretch())
}

// take takes the next block, and frees the one before. The error is io.EOF after the last one.
func (w *worker) take() error {
	w.free()
	select {
	case <-w.pl.ctx.Done():
		return errStopped
	case item, more := <-w.pl.deal:
		if !more {
			return io.EOF
		}
		w.item, w.next = item, 0
		if w.pl.rejected == nil {
			w.rows += item.Value.rows
		}
		return nil
	}
}

func (w *worker) free() {
	if w.item != nil {
		if b := w.item.Value; b.large {
			b.reset()
			<-w.pl.large
		}
		w.pl.queue.Free(w.item)
		w.item, w.text = nil, nil
	}
}

// Read is the text of rows in one form, for a TextLoader.
func (w *worker) Read(p []byte) (int, error) {
	for len(w.text) == 0 {
		if err := w.advance(); err != nil {
			return 0, err
		}
		if w.stretch().binary == w.binary {
			w.markStretch()
		}
	}
	if w.stretch().binary != w.binary {
		return 0, io.EOF
	}
	n := copy(p, w.text)
	w.text = w.text[n:]
	return n, nil
}
