package export

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"culvert/source"
)

// Estimate describes an export that has not been made.
type Estimate struct {
	Columns []source.Column
	Size    source.Size // zero if the source does not report it

	// Ranges is the number of pieces in which the rows would be read. Readers is the number of connections that would
	// share them, if the database accepts that many. Both are 1 if the rows would not be divided.
	Ranges, Readers int

	// Indivisible is the reason why one connection would read alone, if more would be useful.
	Indivisible *source.IndivisibleError
}

// Estimate describes how a table would be exported. It queries the database but reads no rows.
func (p *Plan) Estimate(ctx context.Context, src source.Source, name string) (e Estimate, err error) {
	rows, err := p.table(src, name)(ctx)
	if err != nil {
		return Estimate{}, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	e = Estimate{Columns: slices.Clone(rows.Columns()), Ranges: 1, Readers: 1}
	if e.Size, err = sizeOf(rows); err != nil {
		return Estimate{}, err
	}
	divider, ok := rows.(source.Divider)
	if n := p.MaxReaders(); ok && n > 1 && !p.Ordered {
		ranges, err := divider.Ranges(n)
		if e.Indivisible, _ = errors.AsType[*source.IndivisibleError](err); err != nil && e.Indivisible == nil {
			return Estimate{}, err
		}
		e.Ranges = max(1, ranges)
		e.Readers = min(n, e.Ranges)
	}
	return e, nil
}

// sizeOf returns the size of rows, or zero if the source does not report it.
func sizeOf(rows source.Rows) (source.Size, error) {
	if sized, ok := rows.(source.Sized); ok {
		return sized.Size()
	}
	return source.Size{}, nil
}

// Progress counts the work that an export, or several exports one after the other, have done so far. It may be read at
// any time.
type Progress struct {
	Rows atomic.Int64 // rows written
	Text atomic.Int64 // bytes of their text
	Out  atomic.Int64 // bytes written to dst

	current atomic.Pointer[current]

	partsTotal, partsDone atomic.Int64 // weights of the parts of an export in parts
}

// current is the table being exported.
type current struct {
	share
	begun      time.Time
	rows, text int64 // of the tables before
	meter      source.Meter
	ended      bool
}

// share is the part of a table in the work of several. The zero value is for one table alone.
type share struct {
	name                  string
	number, of            int // from 1
	size                  source.Size
	weight, before, total float64 // shares in the work: of the table, of earlier tables, of all; 0 if unknown
}

// begin records that the export of a table begins. If it is one of several tables, part has its size already.
func (p *Progress) begin(part share, rows source.Rows) (err error) {
	if part.of == 0 {
		if part.size, err = sizeOf(rows); err != nil {
			return err
		}
	}
	meter, _ := rows.(source.Meter)
	p.current.Store(&current{
		share: part, begun: time.Now(), rows: p.Rows.Load(), text: p.Text.Load(), meter: meter,
	})
	return nil
}

// end records that the export of one of several tables has ended. A failed table is not counted.
func (p *Progress) end(stats Stats, err error) {
	if err != nil {
		p.forget(stats)
	}
	if c := p.current.Load(); c != nil {
		ended := *c
		ended.ended = true
		p.current.Store(&ended)
	}
}

// forget takes back the figures of what has failed. A nil Progress counts nothing.
func (p *Progress) forget(stats Stats) {
	if p != nil {
		p.Rows.Add(-stats.Rows)
		p.Text.Add(-stats.Text)
		p.Out.Add(-stats.Out)
	}
}

// expect records what an export in parts will write.
func (p *Progress) expect(tasks []partTask) {
	if p == nil {
		return
	}
	p.partsDone.Store(0)
	p.partsTotal.Store(0)
	for _, task := range tasks {
		p.partsTotal.Add(task.weight)
	}
}

// ended records that a part was written, or has failed.
func (p *Progress) ended(task partTask) {
	if p != nil {
		p.partsDone.Add(task.weight)
	}
}

// Done returns the estimated fraction of the work that has been done, from 0 to 1, or -1 if it is unknown. For an
// export of several tables it is the fraction of all tables, weighted by their sizes.
func (p *Progress) Done() float64 {
	if total := p.partsTotal.Load(); total > 0 {
		return float64(p.partsDone.Load()) / float64(total)
	}
	c := p.current.Load()
	switch {
	case c == nil:
		return -1
	case c.of == 0:
		return c.done(p)
	case c.total <= 0:
		return -1
	}
	return min(1, (c.before+c.weight*max(0, c.done(p)))/c.total)
}

// done returns the part of the current table that has been read, by its meter or else by the number of its rows.
func (c *current) done(p *Progress) float64 {
	if c.ended {
		return 1
	}
	done := -1.0
	if c.meter != nil {
		done = c.meter.Done()
	}
	if (done < 0 || math.IsNaN(done)) && c.size.Rows > 0 {
		done = float64(p.Rows.Load()-c.rows) / float64(c.size.Rows)
	}
	if done < 0 || math.IsNaN(done) {
		return -1
	}
	return min(1, done)
}

// TableProgress is the progress of one of several tables.
type TableProgress struct {
	Name       string
	Number, Of int // from 1
	Begun      time.Time
	Rows, Text int64   // so far, of this table
	Done       float64 // like Progress.Done, for this table
}

// Table returns the progress of the current table, if it is one of several.
func (p *Progress) Table() (t TableProgress, ok bool) {
	c := p.current.Load()
	if c == nil || c.of == 0 {
		return TableProgress{}, false
	}
	return TableProgress{
		Name: c.name, Number: c.number, Of: c.of, Begun: c.begun,
		Rows: p.Rows.Load() - c.rows, Text: p.Text.Load() - c.text, Done: c.done(p),
	}, true
}
