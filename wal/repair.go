package wal

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"culvert/internal/disk"
)

// Repaired says what [Repair] has made of a damaged log.
type Repaired struct {
	First, Last LSN   // of the entries in the new log; Last is First-1 if there are none
	Damage      error // the first damage, behind which everything is left out; nil if there was none
}

// Repair copies the entries of a log up to the first damage into a new log, in a directory that must be empty or not
// exist. They keep their LSNs, and their key. The damaged log is not changed. When Repair returns, the new one is
// durable; with an error, it is not complete, and to be removed.
func Repair(ctx context.Context, dir, target string, key []byte) (Repaired, error) {
	return repair(ctx, disk.OS{}, filepath.Clean(dir), filepath.Clean(target), key)
}

func repair(ctx context.Context, fsys disk.FS, dir, target string, key []byte) (r Repaired, err error) {
	if err := checkKey(key); err != nil {
		return r, err
	}
	names, err := fsys.List(dir)
	if err != nil {
		return r, fmt.Errorf("wal: %w", err)
	}
	if slices.Contains(names, lockName) { // nothing is made in a directory that is not to be changed
		lock, failure := fsys.Lock(filepath.Join(dir, lockName))
		if errors.Is(failure, disk.ErrLocked) {
			return r, lockError(failure, dir)
		}
		if failure == nil { // it may lie where nothing can be written
			defer func() { err = errors.Join(err, lock.Close()) }()
		}
	}
	inv, err := load(fsys, dir, key, true)
	if err != nil {
		return r, err
	}
	if len(inv.chain) == 0 && inv.damage == nil && inv.foreign != "" {
		return r, errNoLog(inv.foreign)
	}
	if len(inv.chain) == 0 {
		return r, errors.Join(fmt.Errorf("wal: nothing to repair in %s", dir), inv.damage)
	}
	options := Options{Sync: None, Key: key, fs: fsys}
	if err := options.complete(); err != nil {
		return r, err
	}
	for _, s := range inv.chain {
		options.SegmentSize = max(options.SegmentSize, s.size)
	}
	first := max(inv.first, inv.chain[0].base)
	to, found, err := open(target, options, first)
	if err != nil {
		return r, err
	}
	if found.First != first || found.Last >= found.First {
		return r, errors.Join(fmt.Errorf("wal: %s has a log already", target), to.Close())
	}
	r.Damage = inv.damage
	failure := to.copyGroups(ctx, inv.view(fsys), first, &r)
	r.First, r.Last = to.First(), to.Last()
	return r, errors.Join(failure, to.Close())
}

// copyGroups appends the groups of another log, up to the first damage.
func (l *Log) copyGroups(ctx context.Context, v view, first LSN, r *Repaired) (err error) {
	c := newCursor(first, v)
	defer func() { err = errors.Join(err, c.leave()) }()
	var group []Record
	for c.next <= v.last {
		if err := ctx.Err(); err != nil {
			return err
		}
		record, err := c.read(v)
		if errors.Is(err, ErrCorrupt) {
			r.Damage = errors.Join(r.Damage, err)
			return nil
		}
		if err != nil {
			return err
		}
		record.Data = append([]byte(nil), record.Data...)
		group = append(group, record)
		if !record.Last {
			continue
		}
		if err := l.appendGroup(ctx, group); err != nil {
			return err
		}
		group = group[:0]
	}
	return nil
}

// appendGroup appends records of another log. All of a group are of one kind.
func (l *Log) appendGroup(ctx context.Context, group []Record) error {
	payloads := make([][]byte, len(group))
	for i, record := range group {
		payloads[i] = record.Data
	}
	kind := byte(kindBytes)
	if group[0].entry {
		kind = kindEntry
	}
	_, err := l.append(ctx, kind, payloads)
	return err
}
