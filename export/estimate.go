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

// Estimate is what is known of an export before it is made.
type Estimate struct {
	Columns []source.Column
	Size    source.Size // zero if the source does not say

	// Ranges is the number of pieces in which the rows would be read. Readers is the number of connections that would
	// share them, if the database gives so many. Both are 1 if the rows would not be divided.
	Ranges, Readers int

	// Indivisible is why there would be only one, if there could be more.
	Indivisible *source.IndivisibleError
}

// Estimate says how a table would be exported. It asks the database, and reads none of the rows.
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
	if n := p.maxReaders(); ok && n > 1 && !p.Ordered {
		ranges, err := divider.Ranges(n)
		if e.Indivisible, _ = errors.AsType[*source.IndivisibleError](err); err != nil && e.Indivisible == nil {
			return Estimate{}, err
		}
		e.Ranges = max(1, ranges)
		e.Readers = min(n, e.Ranges)
	}
	return e, nil
}

// sizeOf asks for the size of rows. It is zero if the source does not say.
func sizeOf(rows source.Rows) (source.Size, error) {
	if sized, ok := rows.(source.Sized); ok {
		return sized.Size()
	}
	return source.Size{}, nil
}

// Progress counts what an export has done so far, or several exports one after the other. It may be read at any time.
type Progress struct {
	Rows atomic.Int64 // rows written
	Text atomic.Int64 // bytes of their text
	Out  atomic.Int64 // bytes given to dst

	current atomic.Pointer[current]
}

// current is the table that is exported now.
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
	weight, before, total float64 // shares in the work: of the table, of those before it, of all; 0 if not known
}

// begin notes that a table, of which rows come, is exported from now on. The size of several is known already.
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

// end notes that the current one of several tables is done with. If it has failed, it does not count.
func (p *Progress) end(stats Stats, err error) {
	if err != nil {
		p.Rows.Add(-stats.Rows)
		p.Text.Add(-stats.Text)
		p.Out.Add(-stats.Out)
	}
	if c := p.current.Load(); c != nil {
		ended := *c
		ended.ended = true
		p.current.Store(&ended)
	}
}

// Done is the part of the work that has been done, from 0 to 1, as far as it can be estimated; or -1 if it cannot. Of
// several tables it is that of all, by their sizes.
func (p *Progress) Done() float64 {
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

// done is the part of the current table that has been read, as its meter says, or else by the number of its rows.
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

// TableProgress is how far one of several tables is.
type TableProgress struct {
	Name       string
	Number, Of int // from 1
	Begun      time.Time
	Rows, Text int64   // so far, of this table
	Done       float64 // as Progress.Done, of this table
}

// Table gives the table that is exported now, if it is one of several.
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
