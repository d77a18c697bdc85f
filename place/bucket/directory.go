package bucket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"gocloud.dev/blob"

	"culvert/place"
)

// pageSize is how many names are requested at a time.
const pageSize = 1000

const (
	// maxEntries bounds what one call of ReadDir may hold in memory, as clients of other servers do.
	maxEntries = 1 << 20

	// maxAnswers is how many answers may make a page. S3 and Azure send some with fewer names, or none.
	maxAnswers = 2 * pageSize
)

// isPrefix reports whether there is an object below a directory.
func (b *bucket) isPrefix(ctx context.Context, name string) (exists bool, err error) {
	err = b.retry(ctx, func(ctx context.Context) (err error) {
		defer incomplete(&err)
		options := &blob.ListOptions{Prefix: b.directoryPrefix(name), BeforeList: b.bounded()}
		page, _, err := b.blobs.ListPage(ctx, blob.FirstPageToken, 1, options)
		exists = len(page) > 0
		return err
	})
	return exists, err
}

// bounded returns what gocloud calls before each of the requests for one page. It asks for as many as there are tokens.
func (b *bucket) bounded() func(func(any) bool) error {
	requests := 0
	return func(func(any) bool) error {
		if requests++; requests > b.maxAnswers {
			return errEndless
		}
		return nil
	}
}

func (b *bucket) directoryPrefix(name string) string {
	if name == "." {
		return b.prefix
	}
	return b.prefix + name + "/"
}

// directory is an open directory. It must not be read concurrently.
type directory struct {
	bucket *bucket
	name   string
	info   *objectInfo
	closed bool

	token   []byte // nil before the first page, empty after the last
	entries []fs.DirEntry

	// above are the objects of the listing so far whose names are beginnings of the last name, each of the next: a
	// directory of the same name comes after an object, and between them only names that begin so, such as "a-".
	above []string

	unnamable *place.UnnamableError // the objects that no name leads to, or nil
}

func (d *directory) Stat() (fs.FileInfo, error) { return d.info, nil }

func (d *directory) Read([]byte) (int, error) {
	return 0, named("read", d.name, errors.New("it is a directory"))
}

func (d *directory) Close() error {
	if d.closed {
		return named("close", d.name, fs.ErrClosed)
	}
	d.closed = true
	return nil
}

// ReadDir implements [fs.ReadDirFile]. If there are objects that no name leads to, a [*place.UnnamableError] follows
// the last entries.
func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	if d.closed {
		return nil, named("readdir", d.name, fs.ErrClosed)
	}
	var err error
	for (n <= 0 || len(d.entries) < n) && err == nil {
		err = d.nextPage()
	}
	if err == io.EOF && d.unnamable != nil && (n <= 0 || len(d.entries) == 0) {
		err, d.unnamable = d.unnamable, nil // once
	}
	if err != nil && err != io.EOF {
		if n > 0 {
			return nil, named("readdir", d.name, err)
		}
		entries := d.entries
		d.entries = nil
		return entries, named("readdir", d.name, err)
	}
	count := len(d.entries)
	if n > 0 {
		count = min(count, n)
	}
	entries := d.entries[:count:count]
	d.entries = d.entries[count:]
	if n > 0 && count == 0 {
		return nil, io.EOF
	}
	return entries, nil
}

// nextPage appends entries. After the last page it returns io.EOF.
func (d *directory) nextPage() error {
	if d.token == nil {
		d.token = blob.FirstPageToken
	}
	if len(d.token) == 0 {
		return io.EOF
	}
	prefix := d.bucket.directoryPrefix(d.name)
	var page []*blob.ListObject
	var next []byte
	err := d.bucket.retry(d.bucket.ctx, func(ctx context.Context) (err error) {
		defer incomplete(&err)
		options := &blob.ListOptions{Prefix: prefix, Delimiter: "/", BeforeList: d.bucket.bounded()}
		page, next, err = d.bucket.blobs.ListPage(ctx, d.token, pageSize, options)
		return err
	})
	if err != nil {
		return err
	}
	if len(next) > 0 && bytes.Equal(next, d.token) || len(d.entries) > d.bucket.maxEntries {
		return errEndless
	}
	d.token = next
	if d.token == nil {
		d.token = []byte{}
	}
	for _, object := range page {
		listed := strings.TrimPrefix(object.Key, prefix)
		if listed == "" && object.Size == 0 {
			continue // it stands for the directory in some tools
		}
		name := strings.TrimSuffix(listed, "/")
		if !fs.ValidPath(name) || name == "." || strings.Contains(name, "/") {
			d.omit(object.Key)
			continue
		}
		for len(d.above) > 0 && !strings.HasPrefix(name, d.above[len(d.above)-1]) {
			d.above = d.above[:len(d.above)-1]
		}
		switch {
		case !object.IsDir:
			d.above = append(d.above, name)
			d.entries = append(d.entries, infoOf(name, object.Size, object.ModTime, d.bucket.store.listed(object)))
		case len(d.above) == 0 || d.above[len(d.above)-1] != name:
			d.entries = append(d.entries, &objectInfo{name: name, mode: fs.ModeDir | 0o755})
		default:
			d.omit(object.Key)
		}
	}
	return nil
}

// omit notes an object, or all objects below a key, that no name leads to.
func (d *directory) omit(key string) {
	if d.unnamable == nil {
		d.unnamable = &place.UnnamableError{}
	}
	d.unnamable.Count++
	if len(d.unnamable.Names) < place.NamedUnnamables {
		d.unnamable.Names = append(d.unnamable.Names, strings.TrimPrefix(key, d.bucket.prefix))
	}
}
