// Package pace limits how fast rows move, so that others who use a database or a network keep their share.
//
// A [Limit] is a number of bytes or of rows a second. A [Load] asks whether the database is busy. Callers that move
// rows call [Pace.Wait] before each batch, with its size:
//
//	limit, err := pace.Parse("50MB/s") // or 10000rows/s
//	…
//	err = pace.Pace{Limit: limit}.Wait(ctx, rows, bytes)
//
// Under a limit, the first batch moves at once. Each of the others waits until the batches before it have taken the
// time that the limit allows for their size: a token bucket that holds one batch. Time in which nothing moved is not
// saved up. So the mean is the limit or less, over any time that is long compared with that of a batch, which has about
// 1 MiB of text.
package pace

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"culvert/internal/grace"
)

// Pace is what batches wait for. The zero value makes them wait for nothing. It is safe for concurrent use.
type Pace struct {
	Limit *Limit
	Load  *Load
}

// Wait waits until a batch may move that has the given numbers of rows and of bytes of text. The error is the cause of
// the end of the context, or that of [Load.Wait].
func (p Pace) Wait(ctx context.Context, rows, bytes int64) error {
	if err := p.Limit.Wait(ctx, rows, bytes); err != nil {
		return err
	}
	return p.Load.Wait(ctx)
}

// State says in some words what limits batches now, for progress, or "".
func (p Pace) State() string {
	switch {
	case p.Load.IsWaiting():
		return "waiting while the database is busy"
	case p.Limit != nil:
		return "at most " + p.Limit.String()
	}
	return ""
}

// Limit is the most that moves in a second, together, for all that share it. A nil Limit does not limit. It is safe for
// concurrent use.
type Limit struct {
	text   string
	rows   bool
	second float64 // rows or bytes

	mu   sync.Mutex
	next time.Time // when the next batch may move
}

// units are those of bytes, and of rows.
var units = []struct {
	name string
	size float64
}{
	{"rows", 0},
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"kB", 1e3},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"B", 1},
}

// least is the fewest bytes or rows a second: with fewer, a batch would wait for hours, and connections would end.
const least = 1000

// longest is the most seconds that a batch takes, so that the sum stays a time.
const longest = 1e9

// Parse reads a limit, such as 50MB/s, 512KiB/s or 10000rows/s.
func Parse(text string) (*Limit, error) {
	wrong := fmt.Errorf("pace: %q is no rate such as 50MB/s or 10000rows/s", text)
	rest, found := strings.CutSuffix(text, "/s")
	if !found {
		return nil, wrong
	}
	for _, unit := range units {
		number, found := strings.CutSuffix(rest, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, wrong
		}
		l := &Limit{text: text, rows: unit.size == 0, second: n}
		if !l.rows {
			l.second *= unit.size
		}
		if l.second < least {
			return nil, fmt.Errorf("pace: the rate %q is less than %d a second", text, least)
		}
		return l, nil
	}
	return nil, wrong
}

// String returns the text of the limit, or "".
func (l *Limit) String() string {
	if l == nil {
		return ""
	}
	return l.text
}

// Wait waits until a batch may move that has the given numbers of rows and of bytes of text. The error is the cause of
// the end of the context.
func (l *Limit) Wait(ctx context.Context, rows, bytes int64) error {
	if l == nil {
		return nil
	}
	size := bytes
	if l.rows {
		size = rows
	}
	l.mu.Lock()
	now := time.Now()
	begin := l.next
	if begin.Before(now) {
		begin = now
	}
	l.next = begin.Add(time.Duration(min(float64(size)/l.second, longest) * float64(time.Second)))
	l.mu.Unlock()
	if begin.Equal(now) {
		return nil
	}
	return grace.Wait(ctx, begin.Sub(now))
}
