package load

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"culvert/sink"
)

// turns are tables that are to be loaded, by their index.
type turns struct {
	mu    sync.Mutex
	left  []int // the next at the end
	later []int

	several bool           // tables are loaded at the same time
	filled  map[string]int // which table fills which one of the database
}

// claim has a table be the only one that fills its target, which the sink has found.
func (t *turns) claim(i int, j *job) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other, is := t.filled[j.object]; is && other != i {
		return &endingError{fmt.Errorf("load: two tables would become %s", j.table)}
	}
	if t.filled == nil {
		t.filled = map[string]int{}
	}
	t.filled[j.object] = i
	return nil
}

func (t *turns) take() (int, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.left) == 0 {
		return 0, false
	}
	i := t.left[len(t.left)-1]
	t.left = t.left[:len(t.left)-1]
	return i, true
}

// postpone keeps a table for later if it has failed since another one, or its rows, may have been missing. A database
// may wait for the transaction of these rows, until the lock timeout, if it is still open.
func (t *turns) postpone(i int, err error) {
	row, is := errors.AsType[*sink.RowError](err)
	refers := is && row.Dangling
	waits := t.several && errors.Is(err, sink.ErrLocked)
	if !refers && !waits && !errors.Is(err, sink.ErrNeeds) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.later = append(t.later, i)
}

// again has a lane load the tables that were postponed, one after the other, as long as that helps any of them.
func (t *turns) again(lane func() error) error {
	t.several = false
	for before := 0; len(t.later) != before; {
		before = len(t.later)
		t.left, t.later = t.later, nil
		slices.Sort(t.left)
		slices.Reverse(t.left)
		if err := lane(); err != nil {
			return err
		}
	}
	return nil
}
