package read

import (
	"cmp"
	"context"
	"io"
	"math"
	"strconv"
	"sync"

	"culvert/internal/sqlsource"
	"culvert/mysql/internal/catalog"
)

// rangeBytes is the least size of a range: reading it takes much longer than finding its end, and than starting another
// statement. Only tests change it.
var rangeBytes int64 = 2 << 20

// rangesLeft is the number of ranges of the size of the next one that remain for each reader, until ranges have their
// least size. So readers end at about the same time.
const rangesLeft = 8

// ranges divides a table by its primary key among the readers that share it. Each takes another range when it has read
// one. Ranges begin large and get smaller. Neighbouring ranges share the value at their border, the first has no
// beginning, and the last no end: so every row is in one range, whatever the estimates are worth.
type ranges struct {
	table   table
	key     key
	rows    float64 // in the table, as the server estimates
	least   float64 // rows of a range
	readers float64

	mu      sync.Mutex // also while the end of a range is looked for
	next    string     // where the next range begins; "" is the beginning of the table
	ended   bool       // there is none
	taken   float64    // rows in ranges that were taken, about
	open    int        // ranges that were taken and are not read
	read    float64    // rows in ranges that were read, about
	numbers *numbers   // nil unless the key begins with an integer
}

// numbers are the values of an integer with which a key begins.
type numbers struct {
	at, last int64  // where the next range begins, and the largest value
	width    uint64 // of the last range
}

// newRanges returns the ranges of a table.
func (s *session) newRanges(ctx context.Context, t table, k key) (*ranges, error) {
	t.Columns = nil
	rows, bytes, err := s.estimate(ctx, t)
	if err != nil || rows == 0 {
		return nil, s.Explain(ctx, t.String(), err)
	}
	r := &ranges{table: t, key: k, rows: rows, least: max(1, float64(rangeBytes)*rows/bytes), readers: 1}
	if !k[0].isInteger {
		return r, nil
	}
	name := catalog.Quote(k[0].name)
	found, err := s.Query(ctx, 2, "SELECT MIN("+name+"), MAX("+name+") FROM "+t.SQL())
	if err != nil || len(found) != 1 {
		return nil, s.Explain(ctx, t.String(), err)
	}
	first, err := strconv.ParseInt(found[0][0], 10, 64)
	last, lastErr := strconv.ParseInt(found[0][1], 10, 64)
	if err == nil && lastErr == nil { // otherwise it is empty, or an unsigned number is too large
		r.numbers = &numbers{at: first, last: last, width: 1}
	}
	return r, nil
}

// useful returns how many of n readers have something to read.
func (r *ranges) useful(n int) int { return int(min(float64(n), max(1, r.rows/r.least))) }

// wanted returns how many rows the next range should have.
func (r *ranges) wanted(taken float64) float64 {
	return max(r.least, math.Ceil((r.rows-taken)/(rangesLeft*r.readers)))
}

// count returns how many ranges n readers would take.
func (r *ranges) count(n int) (count int) {
	r.readers = float64(r.useful(n))
	for taken := 0.0; taken < r.rows; count++ {
		taken += r.wanted(taken)
	}
	return count
}

// take returns the condition of the next range, and about how many rows it has. It is io.EOF if there is none. The
// session finds out where the range ends.
func (r *ranges) take(ctx context.Context, s *session) (condition string, rows float64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return "", 0, io.EOF
	}
	to, rows, err := r.border(ctx, s, r.wanted(r.taken))
	if err == nil {
		condition, err = r.key.between(r.next, to)
	}
	if err != nil {
		return "", 0, err
	}
	r.next, r.ended = to, to == ""
	r.taken += rows
	r.open++
	return condition, rows, nil
}

// border returns where a range of about the wanted number of rows ends, and about how many it has. It is "" if all that
// are left belong to it. The rows are walked along if the key begins with no integer, or one that has many.
func (r *ranges) border(ctx context.Context, s *session, wanted float64) (to string, rows float64, err error) {
	if r.numbers != nil {
		at := r.numbers.at
		to, rows, err = r.numbers.border(wanted, func(to string) (float64, error) {
			condition, err := r.key.between(r.next, to)
			if err != nil {
				return 0, err
			}
			hint := " FORCE INDEX (PRIMARY)"
			if !s.IsMariaDB {
				hint = " USE INDEX (PRIMARY)" // what is forced is not estimated
			}
			return s.plannedRows(ctx, r.table.SQL()+hint+" WHERE "+cmp.Or(condition, "TRUE"), false)
		})
		if err != nil || len(r.key) == 1 || rows <= tooMany*wanted {
			return to, rows, err
		}
		r.numbers.at = at
	}
	whole := r.table
	whole.Where = ""
	if to, err = s.walk(ctx, whole, r.key, r.next, int64(wanted)); err != nil || to == "" || r.numbers == nil {
		return to, wanted, err
	}
	values, err := sqlsource.ReadTexts(to)
	if err == nil {
		r.numbers.at, err = strconv.ParseInt(values[0], 10, 64)
	}
	return to, wanted, err
}

// finished records that a range has been read.
func (r *ranges) finished(rows float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read += rows
	r.open--
}

// done returns the share of rows that have been read.
func (r *ranges) done() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	const nearly = 0.99
	if r.ended && r.open == 0 {
		return 1
	}
	return min(nearly, r.read/r.rows)
}

// mostSteps bounds how often the server is asked where a range should end.
const mostSteps = 80

// A range may have this much more or less than the wanted number of rows.
const (
	tooMany = 1.5
	tooFew  = 0.5
)

// border returns the place before which there are about the wanted number of rows, from the last border on, and about
// how many there are. It is "" for all rows that are left. The server estimates them with a look at a few pages of the
// index, so neither gaps between the numbers nor their density matter.
func (n *numbers) border(wanted float64, estimate func(to string) (float64, error)) (string, float64, error) {
	left := uint64(n.last) - uint64(n.at) // to the largest value
	var small, large uint64               // widths with too few rows, and with too many
	for step := 0; ; step++ {
		to := ""
		if n.width <= left {
			var err error
			to, err = sqlsource.Texts([]string{strconv.FormatInt(int64(uint64(n.at)+n.width), 10)})
			if err != nil {
				return "", 0, err
			}
		}
		rows, err := estimate(to)
		switch {
		case err != nil:
			return "", 0, err
		case step < mostSteps && rows > tooMany*wanted && n.width > 1:
			large = n.width
		case step < mostSteps && rows < tooFew*wanted && to != "" && (large == 0 || large-n.width > 1):
			small = n.width
		default:
			n.at = int64(uint64(n.at) + n.width)
			return to, rows, nil
		}
		n.guess(small, large, left, wanted/max(1, rows))
	}
}

// guess sets the width that is tried next, after one that had too few or too many rows by a factor.
func (n *numbers) guess(small, large, left uint64, factor float64) {
	switch {
	case small > 0 && large > 0:
		n.width = small + (large-small)/2
	case large > 0:
		n.width = max(1, min(large/2, uint64(float64(large)*factor)))
	default:
		const most = 1024
		if wider := float64(small) * min(most, max(2, factor)); wider > float64(left) {
			n.width = max(left, left+1) // all, unless that overflows
		} else {
			n.width = uint64(wider)
		}
	}
}
