package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"culvert/format"
	"culvert/sink"
)

// ErrColumnar is wrapped by the error of FormatOf for files of columns, which [Plan.File] loads.
var ErrColumnar = errors.New("load: a file of columns is no text")

// FormatOf returns the format of a file by the extension of its name, such as orders.csv.zst.age.
func FormatOf(name string) (format.Readable, error) {
	base := path.Base(name)
	for _, packed := range []string{".age", ".asc", ".gz", ".zst"} {
		base = strings.TrimSuffix(base, packed)
	}
	switch strings.ToLower(path.Ext(base)) {
	case ".csv":
		return format.CSV{}, nil
	case ".tsv":
		return format.TSV, nil
	case ".jsonl", ".ndjson":
		return format.JSONL{}, nil
	case ".parquet", ".arrow", ".arrows", ".feather":
		return nil, &fs.PathError{Op: "load", Path: name, Err: ErrColumnar}
	}
	return nil, &fs.PathError{Op: "load", Path: name, Err: errors.New("its name does not say what it is: csv or jsonl")}
}

// stoppable is a reader that returns errStopped after stop. It cannot end a Read that waits.
type stoppable struct {
	r       io.Reader
	stopped atomic.Bool
}

func (s *stoppable) stop() { s.stopped.Store(true) }

func (s *stoppable) Read(p []byte) (int, error) {
	if s.stopped.Load() {
		return 0, errStopped
	}
	return s.r.Read(p)
}

// Text loads the text of a file, which r returns decrypted and decompressed, into a table. [FormatOf] returns the
// format of files with usual names. The rows are committed when r has returned [io.EOF]; any other error of r discards
// them. The name is for errors. If the database fails, Text returns after the Read that is under way.
//
// A text in a [format.Dialect] is loaded as the CSV that it becomes. Without a header and names, it has the columns of
// the table that take values, in order.
func (p *Plan) Text(
	ctx context.Context, dst sink.Sink, r io.Reader, name string, f format.Readable, table string,
) (Stats, error) {
	j, err := p.jobOfText(ctx, dst, r, name, f, table)
	if err != nil {
		return Stats{}, err
	}
	p = p.single()
	if _, err := p.look(ctx, dst, j); err != nil {
		return Stats{}, err
	}
	stats, err := p.fill(ctx, dst.Table, j)
	if err == nil {
		err = p.analyze(ctx, dst, j.table)
	}
	return stats, err
}

// PreviewText returns what Text would do, and changes nothing. It reads the beginning of the text.
func (p *Plan) PreviewText(
	ctx context.Context, dst sink.Sink, r io.Reader, name string, f format.Readable, table string,
) (sink.Plan, error) {
	j, err := p.jobOfText(ctx, dst, r, name, f, table)
	if err != nil {
		return sink.Plan{}, err
	}
	return p.planned(ctx, dst, table, j)
}

// jobOfText reads the header of a text.
func (p *Plan) jobOfText(
	ctx context.Context, dst sink.Sink, r io.Reader, name string, f format.Readable, table string,
) (*job, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	stopping := &stoppable{r: r}
	rows, read, err := p.converted(ctx, dst, stopping, name, f, table)
	if err != nil {
		return nil, err
	}
	moved := read != f
	f = read
	t, err := openText(rows, name, f)
	if err != nil {
		return nil, err
	}
	t.moved = moved
	columns, err := p.match(columnsOf(t.columns))
	if err != nil {
		return nil, err
	}
	if err := p.checkConvert(columns.names); err != nil {
		return nil, err
	}
	_, csv := f.(format.CSV)
	j := &job{
		name: name, to: table, from: f, text: true, csv: csv, columns: columns,
		pieces: []piece{{name: name, read: func(ctx context.Context, use useRows) error {
			defer context.AfterFunc(ctx, stopping.stop)()
			return use([]fill{t.fill}, t.header)
		}}},
	}
	j.setConverter(p, nameOf(table))
	return j, p.checkConversions(j)
}

// text is the text of a file, after its header.
type text struct {
	name     string
	splitter *format.Splitter
	columns  []string // of the header
	header   []byte
	moved    bool   // its lines are not those of the file
	first    *block // has the rows after the header; nil once they are in the queue
}

// openText reads the header of a text.
func openText(r io.Reader, name string, f format.Readable) (*text, error) {
	t := &text{name: name, splitter: format.NewSplitter(r, f, 0), first: idle.Get().(*block)}
	t.first.reset()
	first, _, err := t.splitter.Next(t.first.memory)
	if err == io.EOF {
		if f == (format.JSONL{}) {
			return t, nil
		}
		return nil, &fs.PathError{Op: "load", Path: name, Err: errors.New("it is empty, without a header")}
	}
	if err != nil {
		if f != (format.JSONL{}) {
			withoutHeader(err)
		}
		return nil, &fs.PathError{Op: "load", Path: name, Err: err}
	}
	columns, n, err := f.Header(first)
	if err != nil {
		return nil, &fs.PathError{Op: "load", Path: name, Err: err}
	}
	t.columns, t.header = columns, bytes.Clone(first[:n])
	t.first.memory, t.first.text = first, first[n:]
	return t, nil
}

// mustHave checks the header of a file of an export.
func (t *text) mustHave(names []string) error {
	if t.columns == nil || slices.Equal(t.columns, names) {
		return nil
	}
	return &fs.PathError{
		Op: "load", Path: t.name,
		Err: fmt.Errorf("its columns are %s instead of %s", strings.Join(t.columns, ", "), strings.Join(names, ", ")),
	}
}

// fill puts the rows into the queue.
func (t *text) fill(pl *pipeline) error {
	for {
		item := pl.get()
		if item == nil {
			return errStopped
		}
		b := item.Value
		b.moved = t.moved
		if t.first != nil {
			first := t.first.text
			b.text = append(b.text, first...)
			b.memory = b.text
			t.first.free()
			t.first = nil
			if len(b.text) > 0 {
				if err := pl.put(item); err != nil {
					return err
				}
				continue
			}
		}
		block, _, err := t.splitter.Next(b.memory)
		if err != nil {
			pl.queue.Free(item)
			if err == io.EOF {
				return nil
			}
			if len(t.header) > 0 {
				withoutHeader(err)
			}
			return &fs.PathError{Op: "load", Path: t.name, Err: err}
		}
		b.text, b.memory = block, block
		if err := pl.put(item); err != nil {
			return err
		}
	}
}
