package wal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"

	"culvert/internal/disk"
)

// Reader reads a log without opening it for appending, even while another process appends to it. It changes nothing and
// takes no lock. Its methods except Refresh may be called concurrently.
type Reader struct {
	fs   disk.FS
	path string
	key  []byte
	view view
}

// SegmentInfo describes a segment of a log.
type SegmentInfo struct {
	Path        string
	First, Last LSN   // of its entries in the log
	Bytes       int64 // size of the file, without space that is reserved for later entries
	Sealed      bool  // its header says where it ends
}

// OpenReader opens a log for reading. If the log is open elsewhere or was not closed, the reader has all complete
// groups, even if they are not durable yet. The errors are those of [Open], except [ErrLocked].
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
	r := &Reader{fs: fsys, path: path, key: bytes.Clone(key), view: inv.view()}
	r.view.origin = r
	return r, inv.recovery(), nil
}

// view returns the whole log, without its directory.
func (inv *inventory) view() view {
	v := view{chain: inv.chain, first: inv.first, last: max(inv.tail.last, inv.first-1)}
	for _, s := range v.chain {
		v.cuts = s.cuts
	}
	return v
}

// segments describes the segments of the view.
func (v view) segments() (list []SegmentInfo) {
	for _, s := range v.chain {
		list = append(list, SegmentInfo{
			Path: s.path, First: max(s.base, v.first), Last: v.limitOf(s), Bytes: s.length, Sealed: s.sealed,
		})
	}
	return list
}

// hasCut implements origin. It also reports an entry that is now in another segment.
func (r *Reader) hasCut(v *view, lsn LSN) (bool, error) {
	inv, err := loadBesideWriter(v.dir, r.key)
	if err != nil || len(inv.chain) == 0 {
		return false, err
	}
	now := inv.view()
	return lsn < now.first || now.segmentOf(lsn).salt != v.segmentOf(lsn).salt, nil
}

// Segments returns the segments of the log, oldest first.
func (r *Reader) Segments() []SegmentInfo { return r.view.segments() }

// Records is like [Log.Records] for the log as it was when the reader was opened or refreshed. It ends with
// [ErrTruncated] if the writer has removed entries since, or has moved them to another segment, as Open does after a
// crash and with short segments: then they are there again after [Reader.Refresh].
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

// Refresh finds entries that were appended since. It reads only those, unless there are new segments or the front was
// cut off.
//
// If the writer has cut off entries that the reader knew, Refresh returns [ErrTruncated] once, with the first LSN that
// was cut off, even if other entries have these LSNs now. If another log has taken the place of this one, it returns
// [ErrForeign].
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
	indexes := map[[32]byte]*index{}
	for _, s := range former.chain {
		indexes[s.salt] = s.index
	}
	for _, s := range fresh.view.chain {
		s.index = cmp.Or(indexes[s.salt], s.index)
	}
	*r = *fresh
	r.view.origin = r
	if cut := r.view.cutSince(former); cut <= former.last && former.first <= former.last {
		return truncated(max(cut, former.first))
	}
	return nil
}

// cutSince returns the first LSN that may stand for another entry than in a former view, or for none.
func (v *view) cutSince(former view) LSN {
	i := slices.IndexFunc(v.chain, func(s *segment) bool { return s.cuts > former.cuts })
	switch {
	case i < 0:
		return v.last + 1
	case i == 0: // segments with an earlier cut may be gone
		return 0
	}
	return v.chain[i].base
}

// sameChain checks that segments are of the same log as former ones.
func sameChain(former, now []*segment) error {
	if len(former) > 0 && len(now) > 0 && now[0].log != former[0].log {
		return &SegmentError{Segment: now[0].path, Reason: "another log has taken its place", Err: ErrForeign}
	}
	return nil
}

// sameSegments reads on in the newest segment, and reports whether it is still the newest, with the same header.
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
	if slices.ContainsFunc(names, func(name string) bool {
		number, ok := segmentNumber(name)
		return ok && number > newest.number
	}) {
		return false, nil
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
	scan.next, scan.offset = r.view.last+1, newest.length
	t := tail{last: r.view.last, end: newest.length}
	if err := t.follow(scan); err != nil { // an incomplete group may be complete next time
		return false, err
	}
	r.view.last, newest.length = t.last, t.end
	return true, nil
}
