package export

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"culvert/source"
)

// Progress counts the work that an export, or several exports one after the other, have done so far. It may be read at
// any time.
type Progress struct {
	Rows atomic.Int64 // rows written
	Text atomic.Int64 // bytes of their text
	Out  atomic.Int64 // bytes written to dst

	current atomic.Pointer[current] // nil if several sessions write parts

	total, done atomic.Int64 // weights of the files of several tables: of all, and of those that have ended
}

// current is the table being exported.
type current struct {
	share
	begun      time.Time
	done       int64 // weight of the files before
	rows, text int64 // of the tables before
	meter      source.Meter
	ended      bool
}

// share is the part of a table in the work of several. The zero value is for one table alone.
type share struct {
	name       string
	number, of int // from 1
	size       source.Size
	weight     int64 // of the table in the work; 0 if unknown
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
		share: part, begun: time.Now(), done: p.done.Load(), rows: p.Rows.Load(), text: p.Text.Load(), meter: meter,
	})
	return nil
}

// forget takes back the figures of what has failed. A nil Progress counts nothing.
func (p *Progress) forget(stats Stats) {
	if p != nil {
		p.Rows.Add(-stats.Rows)
		p.Text.Add(-stats.Text)
		p.Out.Add(-stats.Out)
	}
}

// expect records what an export of several tables will write. A nil Progress counts nothing.
func (p *Progress) expect(tasks []task) {
	if p == nil {
		return
	}
	p.current.Store(nil)
	p.done.Store(0)
	p.total.Store(0)
	for _, task := range tasks {
		p.total.Add(task.weight)
	}
}

// ended records that a file of several tables was written, or has failed.
func (p *Progress) ended(task task) {
	if p == nil {
		return
	}
	p.done.Add(task.weight)
	if c := p.current.Load(); c != nil {
		ended := *c
		ended.ended = true
		p.current.Store(&ended)
	}
}

// Done returns the estimated fraction of the work that has been done, from 0 to 1, or -1 if it is unknown. For an
// export of several tables it is the fraction of all tables, weighted by their sizes.
func (p *Progress) Done() float64 {
	c, done, total := p.current.Load(), float64(p.done.Load()), float64(p.total.Load())
	switch {
	case c != nil && c.of == 0:
		return c.read(p)
	case total == 0, c == nil && done == 0:
		return -1
	case c != nil:
		done = float64(c.done) + float64(c.weight)*max(0, c.read(p))
	}
	return min(1, done/total)
}

// read returns the part of the current table that has been read, by its meter or else by the number of its rows.
func (c *current) read(p *Progress) float64 {
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
		Rows: p.Rows.Load() - c.rows, Text: p.Text.Load() - c.text, Done: c.read(p),
	}, true
}

// The fixed cost of a table, some milliseconds, as bytes or rows.
const (
	bytesOfTable = 512 << 10
	rowsOfTable  = 8 << 10
)

// weigh returns the share of each table in the work. Sizes must be comparable, so it uses bytes if they are known for
// all tables with rows, and otherwise rows. If nothing is known, the shares are zero.
func weigh(names []string, sizes []source.Size) []share {
	inBytes := !slices.ContainsFunc(sizes, func(s source.Size) bool { return s.Bytes == 0 && s.Rows > 0 })
	known := slices.ContainsFunc(sizes, func(s source.Size) bool { return s != source.Size{} })
	shares := make([]share, len(names))
	for i, size := range sizes {
		shares[i] = share{name: names[i], number: i + 1, of: len(names), size: size}
		switch {
		case known && inBytes:
			shares[i].weight = size.Bytes + bytesOfTable
		case known:
			shares[i].weight = size.Rows + rowsOfTable
		}
	}
	return shares
}
