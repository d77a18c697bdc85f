package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"culvert/place"
	"culvert/place/dir"
)

const (
	minPartSize     = 5 << 20 // of S3
	defaultPartSize = 8 << 20
	maxPartSize     = 4000 << 20 // of Azure; S3 allows 5 GiB
	partUnit        = 256 << 10  // of Google
)

// Config configures a place. The zero value is ready to use.
type Config struct {
	// Timeout is how long a request may fail, or stay without an answer, before it fails with place.ErrUnreachable.
	// Default: a minute.
	Timeout time.Duration

	// PartSize is the size of the first parts of large files in bytes, at least 5 MiB. It is rounded up to a multiple
	// of 256 KiB. Default: 8 MiB.
	PartSize int64

	// Parallel is how many parts are sent at once by all files of the place, and how many ranges each file reads ahead.
	// A file of more than 1 MiB that is sent with one request counts as a part. Default: 3.
	Parallel int

	// Abandoned is how long ago an unfinished upload of a key must have received its last part to be removed when that
	// key is written again. Default: an hour.
	Abandoned time.Duration
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Timeout < 0, c.Parallel < 0, c.Abandoned < 0:
		return c, errors.New("bucket: a negative value in Config")
	case c.PartSize != 0 && (c.PartSize < minPartSize || c.PartSize > maxPartSize):
		return c, errors.New("bucket: PartSize is less than 5 MiB or more than 4000 MiB")
	}
	c.Timeout = cmp.Or(c.Timeout, time.Minute)
	c.PartSize = (cmp.Or(c.PartSize, defaultPartSize) + partUnit - 1) / partUnit * partUnit
	c.Parallel = cmp.Or(c.Parallel, 3)
	c.Abandoned = cmp.Or(c.Abandoned, time.Hour)
	return c, nil
}

// Place is an open place. A file that Open opens implements io.ReaderAt and io.WriterTo, besides fs.File.
type Place interface {
	place.Place
	fs.StatFS

	// Close closes all connections. Files must have been closed, committed or discarded.
	io.Closer
}

// Open returns the place of a URL. It sends no request, so that a bucket that does not exist, or that refuses the
// credentials, is noticed by the first call to the place. The context is only for Open itself: see
// [place.WithContext].
func Open(ctx context.Context, url string, config Config) (Place, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	address, err := parse(url)
	if err != nil {
		return nil, err
	}
	if address.scheme == "file" {
		return dir.Open(filepath.FromSlash(address.bucket))
	}
	return openBucket(ctx, address, config)
}

func openBucket(ctx context.Context, address *address, config Config) (*bucket, error) {
	// Half of the time, so that a request on a dead connection can be repeated on another.
	connections := newConnections(config.Timeout / 2)
	var store store
	var err error
	switch address.scheme {
	case "s3":
		store, err = openS3(ctx, address, config, connections)
	case "gs":
		store, err = openGCS(ctx, address, config, connections)
	case "azblob":
		store, err = openAzure(ctx, address, config, connections)
	}
	if err != nil {
		connections.close()
		return nil, err
	}
	return &bucket{
		Config: config, ctx: context.Background(), store: store, prefix: address.prefix,
		connections: connections,
		sending:     make(chan struct{}, config.Parallel), free: make(chan []byte, config.Parallel+1),
		clock: systemClock{}, maxEntries: maxEntries, maxAnswers: maxAnswers,
	}, nil
}

// store is what differs between the stores. Each method but the last sends one request, except that some stores need a
// look before they remove.
type store interface {
	// describe returns what a store tells of an object. With a key of KMS, the answer with the checksum needs the
	// permission to decrypt.
	describe(ctx context.Context, key string, withSum bool) (description, error)

	// list returns a page of the objects whose keys begin with a prefix, and of what they have in common up to the
	// delimiter behind it, if there is one.
	list(ctx context.Context, request listRequest) (listPage, error)

	// read requests n bytes of a version of an object, which are at least one. The caller closes the body.
	read(ctx context.Context, key, version string, off, n int64) (rangeAnswer, error)

	// remove removes an object, unless the store sees that it no longer has the version. Any has the version "".
	remove(ctx context.Context, key, version string) error

	// upload begins to write an object with this metadata. It sends nothing.
	upload(key string, create bool, metadata map[string]string) upload
}

// description is what a store tells of an object.
type description struct {
	size     int64
	modified time.Time
	version  string            // which another content never has
	metadata map[string]string // keys in lower case

	// sum returns the checksum that the store keeps, or none. It sends requests through try, perhaps several at the
	// same time. It is nil if the store keeps none.
	sum func(try func(func(context.Context) error) error) (place.Sum, error)
}

type listRequest struct {
	prefix, delimiter string
	token             string // of the page, "" for the first
	most              int    // of its entries
}

type listPage struct {
	entries []listEntry // in the order of their keys
	next    string      // the token of the next page, "" for none
}

// listEntry is an object, or a prefix that ends with the delimiter.
type listEntry struct {
	key      string
	isPrefix bool
	size     int64
	modified time.Time
	version  string

	// foreign reports that the store has the entry under a name that it does not have for any key. Then key is that
	// name.
	foreign bool
}

// inOrder sorts what stores tell in two lists.
func inOrder(entries []listEntry) []listEntry {
	slices.SortFunc(entries, func(a, b listEntry) int { return cmp.Compare(a.key, b.key) })
	return entries
}

// rangeAnswer is an answer to a request for a range.
type rangeAnswer struct {
	body         io.ReadCloser
	version      string
	contentRange string // the header
}

// upload writes one object. Its methods are called by one goroutine, except part.
type upload interface {
	// put writes a whole object with one request.
	put(ctx context.Context, data []byte) error

	// begin begins an upload of several parts.
	begin(ctx context.Context) error

	// part sends a part, whose number counts from 1, while other goroutines send others.
	part(ctx context.Context, number int, data []byte) error

	// inOrder reports whether parts must be sent one after the other.
	inOrder() bool

	// complete makes an object of the first parts.
	complete(ctx context.Context, parts int) error

	// abort removes the parts. The object is not there after it, unless complete has succeeded.
	abort(ctx context.Context) error
}

// bucket is a bucket of a store, or a prefix in it.
type bucket struct {
	Config
	ctx         context.Context // of Open, Stat and open files
	store       store
	prefix      string // "" or ends with a slash
	connections *connections

	sending chan struct{} // holds an item for each part that is being sent
	free    chan []byte   // memory of parts

	clock                  clock
	maxEntries, maxAnswers int // the constants of these names, except in tests
}

var (
	_ Place        = (*bucket)(nil)
	_ fs.ReadDirFS = (*bucket)(nil)
)

func (b *bucket) Close() error {
	b.connections.close()
	return nil
}

// key returns the key of a name.
func (b *bucket) key(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if strings.ContainsFunc(name, isAmbiguous) || strings.Contains(name, "../") || strings.Contains(name, "__0x") {
		return "", &fs.PathError{Op: op, Path: name, Err: errAmbiguous}
	}
	return b.prefix + name, nil
}

// isAmbiguous reports whether a character is a control character or has no place in XML, in which stores list names.
func isAmbiguous(c rune) bool { return c < ' ' || c == '\\' || c == '\uFFFE' || c == '\uFFFF' }

// errAmbiguous: some store, or its library, reads or writes another key than that of the name.
var errAmbiguous = fmt.Errorf("%w: stores differ in what they make of such a name", fs.ErrInvalid)

// fileKey is key for names that cannot be those of the directory itself.
func (b *bucket) fileKey(op, name string) (string, error) {
	if name == "." {
		name = "" // no valid name
	}
	return b.key(op, name)
}

// Open opens an object, or else the directory of that name.
func (b *bucket) Open(name string) (fs.File, error) {
	d := &directory{bucket: b, name: name}
	info, err := b.stat("open", name, d.exists)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		d.info = info
		return d, nil
	}
	return newObject(b, name, info), nil
}

// WithContext is called by [place.WithContext].
func (b *bucket) WithContext(ctx context.Context) place.Place {
	with := *b
	with.ctx = ctx
	return &with
}

// Stat describes an object, or else the directory of that name.
func (b *bucket) Stat(name string) (fs.FileInfo, error) {
	info, err := b.stat("stat", name, func() (bool, error) { return b.isPrefix(name) })
	if err != nil {
		return nil, err
	}
	return info, nil
}

func (b *bucket) stat(op, name string, isDirectory func() (bool, error)) (*objectInfo, error) {
	key, err := b.key(op, name)
	if err != nil {
		return nil, err
	}
	if name != "." {
		about, err := b.describe(b.ctx, key, op == "open")
		if err == nil {
			info := infoOf(name, about.size, about.modified, about.version)
			if info.version == "" { // its ranges could be of different versions
				err = fmt.Errorf("%w: the store tells no version of the object", place.ErrIntegrity)
				return nil, named(op, name, err)
			}
			info.about = about
			return info, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, named(op, name, err)
		}
	}
	// The place itself is a directory even if nothing is in it.
	switch exists, err := isDirectory(); {
	case err != nil:
		return nil, named(op, name, err)
	case !exists && name != ".":
		return nil, named(op, name, fs.ErrNotExist)
	}
	return &objectInfo{name: path.Base(name), mode: fs.ModeDir | 0o755}, nil
}

func (b *bucket) describe(ctx context.Context, key string, withSum bool) (about description, err error) {
	err = b.retry(ctx, func(ctx context.Context) (err error) {
		about, err = b.store.describe(ctx, key, withSum)
		return err
	})
	return about, err
}

// Create implements [place.Place].
func (b *bucket) Create(ctx context.Context, name string) (place.File, error) {
	return b.create(ctx, name, true)
}

// Replace implements [place.Place].
func (b *bucket) Replace(ctx context.Context, name string) (place.File, error) {
	return b.create(ctx, name, false)
}

// Remove implements [place.Place].
func (b *bucket) Remove(ctx context.Context, name string) error {
	key, err := b.fileKey("remove", name)
	if err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	tries := 0
	err = b.retry(ctx, func(ctx context.Context) error {
		tries++
		err := b.store.remove(ctx, key, "")
		if tries > 1 && isNotFound(err) {
			return nil // an earlier try has removed it, and its answer was lost
		}
		return err
	})
	return named("remove", name, err)
}

type objectInfo struct {
	name     string
	size     int64
	mode     fs.FileMode
	modified time.Time
	version  string // "" for a directory

	about description // of an object that was opened
}

// infoOf describes an object. Its time is in seconds, since stores tell more only in listings.
func infoOf(name string, size int64, modified time.Time, version string) *objectInfo {
	modified = modified.UTC().Truncate(time.Second)
	return &objectInfo{name: path.Base(name), size: size, mode: 0o644, modified: modified, version: version}
}

func (i *objectInfo) Name() string               { return i.name }
func (i *objectInfo) Size() int64                { return i.size }
func (i *objectInfo) Mode() fs.FileMode          { return i.mode }
func (i *objectInfo) Type() fs.FileMode          { return i.mode.Type() }
func (i *objectInfo) ModTime() time.Time         { return i.modified }
func (i *objectInfo) IsDir() bool                { return i.mode.IsDir() }
func (i *objectInfo) Sys() any                   { return place.Version(i.version) }
func (i *objectInfo) Info() (fs.FileInfo, error) { return i, nil }
func (i *objectInfo) String() string             { return fs.FormatFileInfo(i) }
