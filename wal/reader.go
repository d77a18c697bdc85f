package wal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"

	"culvert/internal/disk"
)

// Reader reads a log without opening it for appending, beside the process that has it open or without one. It changes
// nothing and takes no lock. Its methods may be called by several goroutines at once, but for Refresh.
type Reader struct {
	fs       disk.FS
	path     string
	key      []byte
	view     view
	segments []SegmentInfo
	end      int64 // of the last group in the newest segment
}

// SegmentInfo tells of one segment of a log.
type SegmentInfo struct {
	Path        string
	First, Last LSN   // of the entries that it has in the log
	Bytes       int64 // of the file, without space that is reserved for entries to come
	Sealed      bool  // it says itself where it ends
}

// OpenReader reads the state of a log. Of a log that is open elsewhere, or was not closed, that is all that is whole at
// the end; it need not be durable. The errors are those of [Open], but for [ErrLocked].
func OpenReader(dir string, key []byte) (*Reader, Recovery, error) {
	return openReader(disk.OS{}, filepath.Clean(dir), key)
}

func openReader(fsys disk.FS, path string, key []byte) (_ *Reader, _ Recovery, err error) {
	if err := checkKey(key); err != nil {
		return nil, Recovery{}, err
	}
	dir, err := openFolder(fsys, path)
	if err != nil {
		return nil, Recovery{}, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	inv, err := loadBesideWriter(dir, key)
	if err != nil {
		return nil, Recovery{}, err
	}
	if len(inv.chain) == 0 && inv.foreign != "" {
		return nil, Recovery{}, errNoLog(inv.foreign)
	}
	r := &Reader{fs: fsys, path: path, key: bytes.Clone(key), view: inv.view(), end: inv.tail.end}
	r.view.origin, r.segments = r, r.view.segments()
	return r, inv.recovery(), nil
}

// view gives all of the log that there is, without its directory.
func (inv *inventory) view() view {
	return view{
		chain: inv.chain, first: inv.first, last: max(inv.tail.last, inv.first-1), cuts: cutsOf(inv.chain),
	}
}

// cutsOf returns how often the end of a log was cut off.
func cutsOf(chain []*segment) uint64 {
	if len(chain) == 0 {
		return 0
	}
	return chain[len(chain)-1].cuts
}

// segments describes the segments of the view.
func (v *view) segments() []SegmentInfo {
	var list []SegmentInfo
	for _, s := range v.chain {
		list = append(list, SegmentInfo{
			Path: s.path, First: max(s.base, v.first), Last: v.limitOf(s), Bytes: s.length, Sealed: s.sealed,
		})
	}
	return list
}

// hasCut reports whether the log has an entry no more, or has it in another segment than it had.
func (r *Reader) hasCut(v *view, lsn LSN) (bool, error) {
	inv, err := loadBesideWriter(v.dir, r.key)
	if err != nil || len(inv.chain) == 0 {
		return false, err
	}
	now := inv.view()
	return lsn < now.first || now.segmentOf(lsn).salt != v.segmentOf(lsn).salt, nil
}

// Segments lists the segments of the log, oldest first.
func (r *Reader) Segments() []SegmentInfo { return r.segments }

// Records is [Log.Records] for what was there when the reader was opened, or refreshed. It ends with [ErrTruncated] if
// the writer has removed since what it needs; what it has put in the place of that, as it does when it recovers, is
// there after [Reader.Refresh].
func (r *Reader) Records(ctx context.Context, from LSN) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		v := r.view
		var err error
		if v.dir, err = openFolder(r.fs, r.path); err != nil {
			yield(Record{}, err)
			return
		}
		c := newCursor(from, v)
		_ = c.run(ctx, v, yield)
		c.close(yield, v.dir.Close)
	}
}

// Refresh looks at the log again, for entries that have come since. It reads those only, unless there are new segments
// or the front was cut off.
//
// If the writer has cut off the end that the reader knew, it gives [ErrTruncated], once. It cannot tell if as many
// entries have come meanwhile. If another log has taken the place of this one, it gives [ErrForeign].
func (r *Reader) Refresh() error {
	if same, err := r.sameSegments(); err != nil || same {
		return err
	}
	fresh, _, err := openReader(r.fs, r.path, r.key)
	if err != nil {
		return err
	}
	if err := sameChain(r.view.chain, fresh.view.chain); err != nil {
		return err
	}
	former := r.view
	for i, s := range former.chain {
		if j := slices.IndexFunc(fresh.view.chain, func(t *segment) bool { return t.salt == s.salt }); j >= 0 {
			fresh.view.chain[j].index = former.chain[i].index
		}
	}
	*r = *fresh
	r.view.origin = r
	if cut := r.view.cutSince(former); cut <= former.last && former.first <= former.last {
		return truncated(max(cut, former.first))
	}
	return nil
}

// cutSince returns the first LSN that a former view may have for another entry, or that the log has no more.
func (v *view) cutSince(former view) LSN {
	for i, s := range v.chain {
		switch {
		case s.cuts <= former.cuts:
		case i == 0: // the segment in which the cut was may be gone
			return 0
		default:
			return s.base
		}
	}
	return v.last + 1
}

// sameChain sees that segments that were read later are of the same log.
func sameChain(former, now []*segment) error {
	if len(former) > 0 && len(now) > 0 && now[0].log != former[0].log {
		return &SegmentError{Segment: now[0].path, Reason: "another log has taken its place", Err: ErrForeign}
	}
	return nil
}

// sameSegments reads on in the newest segment, and reports whether it is still that, with the same header.
func (r *Reader) sameSegments() (same bool, err error) {
	if len(r.view.chain) == 0 {
		return false, nil
	}
	newest := r.view.chain[len(r.view.chain)-1]
	dir, err := openFolder(r.fs, r.path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	names, err := dir.List()
	if err != nil {
		return false, fmt.Errorf("wal: %w", err)
	}
	for _, name := range names {
		if number, ok := segmentNumber(name); ok && number > newest.number {
			return false, nil
		}
	}
	now, err := readHeader(dir, newest.number, r.key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if now.generation != newest.generation || now.salt != newest.salt {
		return false, nil
	}
	file, err := dir.Open(newest.name(), false)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("wal: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	scan := newScanner(newest, file, make([]byte, readSize))
	scan.next, scan.offset = r.view.last+1, r.end
	t := tail{last: r.view.last, end: r.end}
	if err := t.follow(scan); err != nil { // what is not whole yet will be; or else, whoever opens the log finds out
		return false, err
	}
	r.view.last, r.end = t.last, t.end
	newest.length = r.end
	r.segments = r.view.segments()
	return true, nil
}
