package wal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"culvert/internal/disk"
)

// Copied describes a copy made by [Log.Copy] or [Reader.Copy].
type Copied struct {
	First, Last LSN // of the entries in the new log; Last is First-1 if there are none
}

// Copy copies the log up to [Log.Durable] into a new one. Others may append meanwhile. The directory of the new log
// must be empty or not exist; its parent must exist. Entries keep their LSNs, their groups and their key. If entries
// are cut off before they are copied, Copy begins again with the entries that are left. When Copy returns, the new log
// is durable and closed. After an error, the directory is empty. Only a kill, or a disk that fails, leaves an
// incomplete copy there, which was not closed.
func (l *Log) Copy(ctx context.Context, target string) (c Copied, err error) {
	v, err := l.beginRead(func() LSN { return l.durable })
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, l.endRead()) }()
	again := func() (view, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.view(l.durable), nil
	}
	return copyView(ctx, v, again, target, l.options.Key)
}

// Copy is like [Log.Copy] for the log as it was when the reader was opened or refreshed. The copy has all entries that
// were durable then, and possibly some that the writer had not acknowledged yet. If another log has taken the place of
// this one, Copy returns [ErrForeign].
func (r *Reader) Copy(ctx context.Context, target string) (c Copied, err error) {
	v := r.view
	if v.dir, err = openFolder(r.fs, r.path); err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, v.dir.Close()) }()
	again := func() (view, error) {
		inv, err := loadBesideWriter(v.dir, r.key)
		if err != nil {
			return view{}, err
		}
		now := inv.view()
		now.dir, now.origin = v.dir, r
		return now, sameChain(v.chain, now.chain)
	}
	return copyView(ctx, v, again, target, r.key)
}

// copyView copies a view. Whenever entries of it have been cut off, it begins again with a new view.
func copyView(ctx context.Context, v view, again func() (view, error), target string, key []byte) (Copied, error) {
	c, damage, err := v.copyTo(ctx, disk.OS{}, target, key, v.first, again)
	return c, errors.Join(err, damage)
}

// copyTo copies the groups from first on into a new log, up to the first damage, which it returns.
func (v view) copyTo(
	ctx context.Context, fsys disk.FS, target string, key []byte, first LSN, again func() (view, error),
) (copied Copied, damage, err error) {
	options := Options{Sync: None, Key: key, First: first, fs: fsys, copy: true}
	for _, s := range v.chain { // room for every group, but no more than the log has itself
		options.SegmentSize = max(options.SegmentSize, s.size, minSegmentSize)
	}
	if err := options.complete(); err != nil {
		return copied, nil, err
	}
	to, _, err := open(filepath.Clean(target), options)
	if err != nil {
		return copied, nil, err
	}
	to.incomplete = true
	damage, err = to.copyGroups(ctx, v, first)
	for again != nil && errors.Is(err, ErrTruncated) {
		if v, err = again(); err == nil {
			err = to.restart(v.first)
		}
		if err == nil {
			damage, err = to.copyGroups(ctx, v, v.first)
		}
	}
	copied = Copied{to.First(), to.Last()}
	to.incomplete = err != nil || damage != nil && again != nil // a repair ends at the damage
	return copied, damage, errors.Join(err, to.Close())
}

// removeCopy removes the files of a copy that is not complete, which would be taken for a log. The lock is held.
func (l *Log) removeCopy() error {
	names, err := l.dir.List()
	for _, name := range names {
		err = errors.Join(err, l.dir.Remove(name))
	}
	return errors.Join(err, l.dir.Sync())
}

// beginAt makes a log without entries begin at an LSN.
func (l *Log) beginAt(first LSN) error {
	if l.first < l.next || first < l.first {
		return fmt.Errorf("wal: %s has had entries up to LSN %d, and cannot begin at %d: %w",
			l.dir.path, l.next-1, first, fs.ErrExist)
	}
	if first == l.first {
		return nil
	}
	return l.restart(first)
}

// restart removes all entries and sets the LSN of the next one.
func (l *Log) restart(first LSN) error {
	l.io.Lock()
	defer l.release()
	l.halt()
	l.mu.Lock()
	l.first = first
	for _, s := range l.chain {
		l.dropped = append(l.dropped, s.name())
	}
	l.chain = nil
	l.mu.Unlock()
	room, err := l.advance(first, headerSize)
	return cmp.Or(err, room)
}

// copyGroups appends the groups of another log, up to the first damage, which it returns.
func (l *Log) copyGroups(ctx context.Context, v view, first LSN) (damage, err error) {
	c := newCursor(first, v)
	defer func() { err = errors.Join(err, c.leave()) }()
	var g copiedGroup
	for c.next <= v.last {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		record, err := c.read(v)
		if err != nil {
			err = v.explain(err, c.next)
		}
		if errors.Is(err, ErrCorrupt) {
			return err, nil
		}
		if err != nil {
			return nil, err
		}
		g.bytes = append(g.bytes, record.Data...)
		g.ends = append(g.ends, len(g.bytes))
		if !record.Last {
			continue
		}
		if _, err := l.Append(context.Background(), g.payloads()...); err != nil {
			return nil, err
		}
		g.bytes, g.ends = g.bytes[:0], g.ends[:0]
	}
	return nil, nil
}

// copiedGroup collects the records of a group in memory that is used again.
type copiedGroup struct {
	bytes []byte
	ends  []int
	list  [][]byte
}

func (g *copiedGroup) payloads() [][]byte {
	g.list = g.list[:0]
	begin := 0
	for _, end := range g.ends {
		g.list = append(g.list, g.bytes[begin:end])
		begin = end
	}
	return g.list
}
