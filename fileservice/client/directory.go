package client

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"time"

	"culvert/fileservice"
)

// listingPause is how long an idle listing stays open. It is shorter than the server's StallTimeout, after which the
// server would close the connection.
const listingPause = 5 * time.Second

// directory is an open directory. One call lists it while it is read. After a pause, another call starts over and skips
// the names already returned, so an entry that stays is returned once, whatever is created or removed meanwhile.
type directory struct {
	client *Client
	name   string
	info   *fileservice.Info

	mu     sync.Mutex
	next   func() (*fileservice.Info, error, bool) // nil if no listing is open
	stop   func()
	pause  *time.Timer // ends an idle listing
	seed   maphash.Seed
	given  []uint64 // hashes of the names already returned
	before []uint64 // the given ones of earlier listings, sorted
	ended  bool
	closed bool
}

var _ fs.ReadDirFile = (*directory)(nil)

func newDirectory(client *Client, name string, info *fileservice.Info) *directory {
	return &directory{client: client, name: name, info: info, seed: maphash.MakeSeed()}
}

func (d *directory) Stat() (fs.FileInfo, error) { return d.info, nil }

func (d *directory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.name, Err: fmt.Errorf("%w: is a directory", fs.ErrInvalid)}
}

// ReadDir returns the next entries, in the order of the server's file system.
func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, &fs.PathError{Op: "readdir", Path: d.name, Err: fs.ErrClosed}
	}
	entries, err := d.read(n)
	if errors.Is(err, fileservice.ErrUnreachable) && len(d.given) > 0 {
		// The connection may have broken while the listing was idle.
		var more []fs.DirEntry
		more, err = d.read(n - len(entries))
		entries = append(entries, more...)
	}
	if d.next != nil {
		d.pause.Reset(listingPause)
	}
	if err == nil && n > 0 && len(entries) == 0 {
		err = io.EOF
	}
	return entries, err
}

func (d *directory) read(n int) ([]fs.DirEntry, error) {
	var entries []fs.DirEntry
	for !d.ended && (n <= 0 || len(entries) < n) {
		if d.next == nil {
			d.begin()
		}
		info, err, more := d.next()
		switch {
		case !more:
			d.ended = true
			d.end()
		case err != nil:
			d.ended = !errors.Is(err, fileservice.ErrUnreachable)
			d.end()
			return entries, err
		default:
			hash := maphash.String(d.seed, info.Name())
			if _, was := slices.BinarySearch(d.before, hash); was {
				continue
			}
			d.given = append(d.given, hash)
			entries = append(entries, info)
		}
	}
	return entries, nil
}

// begin opens a listing.
func (d *directory) begin() {
	d.before = slices.Clone(d.given)
	slices.Sort(d.before)
	d.next, d.stop = iter.Pull2(d.client.List(d.client.ctx, d.name))
	if d.pause == nil {
		d.pause = time.AfterFunc(listingPause, d.rest)
		return
	}
	d.pause.Reset(listingPause)
}

// rest ends an idle listing.
func (d *directory) rest() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
}

// end closes the listing, if one is open.
func (d *directory) end() {
	if d.next == nil {
		return
	}
	d.pause.Stop()
	d.stop()
	d.next, d.stop, d.before = nil, nil, nil
}

func (d *directory) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return &fs.PathError{Op: "close", Path: d.name, Err: fs.ErrClosed}
	}
	d.closed = true
	d.end()
	return nil
}
