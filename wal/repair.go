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
	Damage      error // what is missing or changed at the ends of these entries; nil if there was no damage
}

// Repair copies entries of a damaged log into a new one, in a directory that must be empty or not exist: from the first
// entry that is left up to the first damage after it. So it leaves out entries after damage, except if the beginning of
// the log is missing: then it copies the entries after that. Entries keep their LSNs and their key. The damaged log is
// not changed. When Repair returns nil, the new log is durable. After an error its directory is empty, as after one of
// [Log.Copy].
func Repair(ctx context.Context, dir, target string, key []byte) (Repaired, error) {
	return repair(ctx, disk.OS{}, filepath.Clean(dir), target, key)
}

func repair(ctx context.Context, fsys disk.FS, path, target string, key []byte) (r Repaired, err error) {
	if err := checkKey(key); err != nil {
		return r, err
	}
	dir, err := openFolder(fsys, path)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	names, err := dir.List()
	if err != nil {
		return r, fmt.Errorf("wal: %w", err)
	}
	if slices.Contains(names, lockName) { // otherwise, locking would create it
		lock, failure := dir.Lock(lockName)
		if errors.Is(failure, disk.ErrLocked) {
			return r, lockError(failure, path)
		}
		if failure == nil { // the directory may be read-only
			defer func() { err = errors.Join(err, lock.Close()) }()
		}
	}
	inv, err := load(dir, key, nil, true)
	if err != nil {
		return r, err
	}
	if len(inv.chain) == 0 && inv.damage == nil && inv.foreign != "" {
		return r, errNoLog(inv.foreign)
	}
	if len(inv.chain) == 0 {
		return r, errors.Join(fmt.Errorf("wal: nothing to repair in %s", path), inv.damage)
	}
	v := inv.view()
	v.dir = dir
	copied, damage, err := v.copyTo(ctx, fsys, target, key, max(inv.first, inv.chain[0].base), nil)
	r = Repaired{First: copied.First, Last: copied.Last, Damage: errors.Join(inv.damage, damage)}
	return r, err
}
