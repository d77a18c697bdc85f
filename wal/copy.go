package wal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"culvert/internal/disk"
)

// Copied says what [Log.Copy] or [Reader.Copy] has copied.
type Copied struct {
	First, Last LSN // of the entries in the new log; Last is First-1 if there are none
}

// Copy copies the log up to [Log.Durable] into a new one, while others append: to copy the files of a log that is open
// may miss records before others that it has, which is damage. The directory of the new log must be empty or not exist;
// its parent must. The entries keep their LSNs, their groups and their key. When Copy returns, the new log is durable
// and closed; with an error, it is not complete, and to be removed. That is [ErrTruncated] if entries are cut off
// meanwhile that were not copied yet.
func (l *Log) Copy(ctx context.Context, target string) (c Copied, err error) {
	v, err := l.beginRead(func() LSN { return l.durable })
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, l.endRead()) }()
	return copyView(ctx, v, disk.OS{}, target, l.options.Key)
}

// Copy is [Log.Copy] for what was there when the reader was opened, or refreshed: all that was durable then, and
// perhaps some entries more that the writer had not acknowledged yet.
func (r *Reader) Copy(ctx context.Context, target string) (c Copied, err error) {
	v := r.view
	if v.dir, err = openFolder(r.fs, r.path); err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, v.dir.Close()) }()
	return copyView(ctx, v, disk.OS{}, target, r.key)
}

func copyView(ctx context.Context, v view, to disk.FS, target string, key []byte) (Copied, error) {
	c, damage, err := v.copyTo(ctx, to, target, key, v.first)
	return c, errors.Join(err, damage)
}

// copyTo makes a log of the groups from first on, up to the first damage, which it gives.
func (v view) copyTo(ctx context.Context, fsys disk.FS, target string, key []byte, first LSN) (
	copied Copied, damage, err error,
) {
	options := Options{Sync: None, Key: key, fs: fsys}
	if err := options.complete(); err != nil {
		return copied, nil, err
	}
	for _, s := range v.chain {
		options.SegmentSize = max(options.SegmentSize, s.size)
	}
	target = filepath.Clean(target)
	if err := checkEmpty(fsys, target); err != nil {
		return copied, nil, err
	}
	to, _, err := open(target, options, first)
	if err != nil {
		return copied, nil, err
	}
	damage, err = to.copyGroups(ctx, v, first)
	if err == nil && to.Last() < first && first > 1 {
		err = to.keepFirst(first)
	}
	copied = Copied{to.First(), to.Last()}
	return copied, damage, errors.Join(err, to.Close())
}

// checkEmpty sees that a directory has nothing in it, or does not exist.
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

// keepFirst notes the LSN of the entry to come, of a log that has none.
func (l *Log) keepFirst(first LSN) error {
	l.io.Lock()
	defer l.release()
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
		if _, err := l.append(context.Background(), g.kind, g.payloads()); err != nil {
			return nil, err
		}
		g.reset()
	}
	return nil, nil
}

// copiedGroup gathers the records of a group, in memory that is used again.
type copiedGroup struct {
	kind  byte // all of a group are of one kind
	bytes []byte
	ends  []int
	list  [][]byte
}

func (g *copiedGroup) reset() { g.bytes, g.ends, g.list = g.bytes[:0], g.ends[:0], g.list[:0] }

func (g *copiedGroup) add(r Record) {
	g.kind = kindBytes
	if r.entry {
		g.kind = kindEntry
	}
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
