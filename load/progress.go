package load

import (
	"sync/atomic"

	"culvert/source"
)

// Progress counts what is being loaded. The fields may be read at any time. What was not committed, since its table has
// failed, is taken back.
type Progress struct {
	Rows   atomic.Int64 // passed to loaders
	Text   atomic.Int64 // bytes of their text
	Tables atomic.Int64 // completed

	expected     atomic.Int64 // bytes of text; 0 if not known
	expectedRows atomic.Int64 // of the tables that are copied, about; 0 if not known
	unexpected   atomic.Bool  // the rows of one of them are not known
}

// Done returns the fraction of the work that has been done, from 0 to 1, or -1 if it is not known.
func (p *Progress) Done() float64 {
	done, expected := p.Text.Load(), p.expected.Load()
	if expected <= 0 && !p.unexpected.Load() {
		done, expected = p.Rows.Load(), p.expectedRows.Load()
	}
	if expected <= 0 {
		return -1
	}
	return max(0, min(1, float64(done)/float64(expected)))
}

// expectRows has the progress expect rows that will be copied, if their number is known.
func (p *Progress) expectRows(size *source.Size) {
	if size == nil {
		p.unexpected.Store(true)
		return
	}
	p.expectedRows.Add(size.Rows)
}

// amount is a number of rows, and the bytes of their text.
type amount struct{ rows, text atomic.Int64 }

func (a *amount) add(rows, text int64) {
	a.rows.Add(rows)
	a.text.Add(text)
}

// count counts what is passed to loaders.
func (t *filling) count(rows, text int64) {
	t.counted.add(rows, text)
	t.progress.Rows.Add(rows)
	t.progress.Text.Add(text)
}

// expect has the progress expect the text of the pieces, and of those that an earlier try has kept.
func (t *filling) expect() {
	text := t.job.kept
	for _, one := range t.pieces {
		if one.want != nil && !t.job.columnar {
			text += one.want.TextBytes
		}
	}
	t.setExpected(text)
}

func (t *filling) setExpected(text int64) {
	t.progress.expected.Add(text - t.job.expected)
	t.job.expected = text
}

// takeBack takes what is not committed out of the progress, and returns what is.
func (t *filling) takeBack() (rows, text int64) {
	rows, text = t.kept.rows.Load(), t.kept.text.Load()
	t.progress.Rows.Add(rows - t.counted.rows.Load())
	t.progress.Text.Add(text - t.counted.text.Load())
	t.job.kept += text
	t.setExpected(t.job.kept)
	return rows, text
}
