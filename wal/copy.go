package wal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"culvert/internal/disk"
)

// Copied describes a copy that [Log.Copy] or [Reader.Copy] has made.
type Copied struct {
	First, Last LSN // of the entries in the new log; Last is First-1 if there are none
}

// Copy copies the log up to [Log.Durable] into a new one, while others append: to copy the files of a log that is open
// may miss records before others that it has, which is damage. The directory of the new log must be empty or not exist;
// its parent must. The entries keep their LSNs, their groups and their key. If entries are cut off that were still to
// be copied, Copy begins again, with what there is then. When it returns, the new log is durable and closed; with an
// error, it is not complete, and to be removed.
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

// Copy is [Log.Copy] for what was there when the reader was opened, or refreshed: all that was durable then, and
// perhaps some entries more that the writer had not acknowledged yet. If another log has taken the place of this one,
// it returns [ErrForeign].
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

// copyView copies a view, or another one, as it is then, each time that entries of the former were cut off.
func copyView(ctx context.Context, v view, again func() (view, error), target string, key []byte) (Copied, error) {
	c, damage, err := v.copyTo(ctx, disk.OS{}, target, key, v.first, again)
	return c, errors.Join(err, damage)
}

// copyTo makes a log of the groups from first on, up to the first damage, which it gives.
func (v view) copyTo(
	ctx context.Context, fsys disk.FS, target string, key []byte, first LSN, again func() (view, error),
) (copied Copied, damage, err error) {
	options := Options{Sync: None, Key: key, fs: fsys, disposable: true}
	for _, s := range v.chain { // to have room for every group, and need no more than the log itself
		options.SegmentSize = max(options.SegmentSize, s.size, minSegmentSize)
	}
	if err := options.complete(); err != nil {
		return copied, nil, err
	}
	target = filepath.Clean(target)
	if err := checkEmpty(fsys, target); err != nil {
		return copied, nil, err
	}
	options.First = first
	to, _, err := open(target, options)
	if err != nil {
		return copied, nil, err
	}
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
	return copied, damage, errors.Join(err, to.Close())
}

// checkEmpty returns an error unless a directory is empty or does not exist.
func checkEmpty(fsys disk.FS, path string) (err error) {
	dir, err := openFolder(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	names, err := dir.List()
	if err == nil && len(names) > 0 {
		return fmt.Errorf("wal: %s is not empty: %w", path, fs.ErrExist)
	}
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}

// beginAt has a log without entries begin at an LSN.
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

// restart removes all entries, and notes the LSN of the one to come.
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
	return firstError(err, room)
}

// copyGroups appends the groups of another log, up to the first damage.
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
		g.add(record)
		if !record.Last {
			continue
		}
		if _, err := l.Append(context.Background(), g.payloads()...); err != nil {
			return nil, err
		}
		g.reset()
	}
	return nil, nil
}

// copiedGroup gathers the records of a group, in memory that is used again.
type copiedGroup struct {
	bytes []byte
	ends  []int
	list  [][]byte
}

func (g *copiedGroup) reset() { g.bytes, g.ends, g.list = g.bytes[:0], g.ends[:0], g.list[:0] }

func (g *copiedGroup) add(r Record) {
	g.bytes = append(g.bytes, r.Data...)
	g.ends = append(g.ends, len(g.bytes))
}

func (g *copiedGroup) payloads() [][]byte {
	begin := 0
	for _, end := range g.ends {
		g.list = append(g.list, g.bytes[begin:end])
		begin = end
	}
	return g.list
}
