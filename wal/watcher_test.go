package wal

import (
	"context"
	"errors"
	"fmt"
)

// watcher is a reader beside the log of a simulation, with the entries that it has read. It survives kills of the
// process that has the log open.
type watcher struct {
	reader         *Reader
	first          LSN
	entries        []string
	possible, sure cuts // since it has read
}

// cuts are those of a time.
type cuts struct {
	any   bool
	known bool // of something that the watcher has read
}

// cutBegins notes a cut that is about to begin, and returns it. The cut may fail.
func (w *watcher) cutBegins(l *Log, lsn LSN) (cut cuts) {
	if w.reader == nil || lsn >= l.Last() || lsn+1 < l.First() {
		return cut
	}
	cut = cuts{any: true, known: lsn < w.first-1+LSN(len(w.entries)) && len(w.entries) > 0}
	w.possible.add(cut)
	return cut
}

func (c *cuts) add(other cuts) { *c = cuts{c.any || other.any, c.known || other.known} }

// watch refreshes the watcher. It must notice every cut of entries that it has read, and otherwise find the same
// entries.
func (s *simulation) watch() (err error) {
	w := &s.watcher
	if w.reader == nil {
		w.reader, _, err = openReader(s.options.fs, s.path(), s.options.Key)
	} else {
		w.reader.fs, w.reader.path = s.options.fs, s.path()
		err = w.reader.Refresh()
	}
	switch {
	case errors.Is(err, ErrTruncated) && !w.possible.any:
		return fmt.Errorf("nothing was cut off: %w", err)
	case errors.Is(err, ErrTruncated):
		w.entries = nil
	case err != nil:
		return err
	case w.sure.known:
		return fmt.Errorf("entries %d to %d were cut off in part", w.first, w.first-1+LSN(len(w.entries)))
	}
	entries, err := contents(w.reader.Records(context.Background(), 0))
	if err != nil {
		return err
	}
	first := w.reader.view.first
	for i, entry := range w.entries {
		lsn := w.first + LSN(i)
		switch at := int(lsn) - int(first); {
		case at < 0:
		case at >= len(entries):
			return fmt.Errorf("entry %d is gone", lsn)
		case entries[at] != entry:
			return fmt.Errorf("entry %d was %.40q and is %.40q", lsn, entry, entries[at])
		}
	}
	*w = watcher{reader: w.reader, first: first, entries: entries}
	return nil
}
