package bucket

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"culvert/place"
)

// pageSize is how many names are requested at a time.
const pageSize = 1000

const (
	// maxEntries bounds what one call of ReadDir may hold in memory, as clients of other servers do.
	maxEntries = 1 << 20

	// maxAnswers is how many answers in a row may have no name. S3 and Azure send some.
	maxAnswers = 2 * pageSize
)

// isPrefix reports whether there is an object below a directory.
func (b *bucket) isPrefix(name string) (bool, error) {
	request := listRequest{prefix: b.directoryPrefix(name), most: 1}
	for range b.maxAnswers {
		page, err := b.list(request)
		if err != nil || len(page.entries) > 0 || page.next == "" {
			return len(page.entries) > 0, err
		}
		request.token = page.next
	}
	return false, errEndless
}

func (b *bucket) list(request listRequest) (page listPage, err error) {
	err = b.retry(b.ctx, func(ctx context.Context) (err error) {
		page, err = b.store.list(ctx, request)
		return err
	})
	if err == nil && page.next != "" && page.next == request.token {
		err = errEndless
	}
	return page, err
}

func (b *bucket) directoryPrefix(name string) string {
	if name == "." {
		return b.prefix
	}
	return b.prefix + name + "/"
}

// ReadDir implements [fs.ReadDirFS]. It requests nothing but the names, as long as there are some.
func (b *bucket) ReadDir(name string) ([]fs.DirEntry, error) {
	if _, err := b.key("readdir", name); err != nil {
		return nil, err
	}
	d := &directory{bucket: b, name: name}
	exists, err := d.exists()
	if err == nil && !exists && name != "." {
		if _, err = b.describe(b.ctx, b.prefix+name, false); err == nil {
			err = errNoDirectory
		}
	}
	if err != nil {
		return nil, named("readdir", name, err)
	}
	entries, err := d.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

var errNoDirectory = errors.New("it is not a directory")

// directory is an open directory. It must not be read concurrently.
type directory struct {
	bucket *bucket
	name   string
	info   *objectInfo
	closed bool

	first   *listPage // was requested to see that the directory exists; nil once its entries are taken
	token   string    // of the next page, "" for the first
	ended   bool      // there is no next page
	answers int       // without an entry, since the last that had some
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
	if d.ended {
		return io.EOF
	}
	prefix := d.bucket.directoryPrefix(d.name)
	page, err := d.request()
	if err != nil {
		return err
	}
	d.answers++
	if len(page.entries) > 0 {
		d.answers = 0
	}
	if d.answers > d.bucket.maxAnswers || len(d.entries) > d.bucket.maxEntries {
		return errEndless
	}
	d.token, d.ended = page.next, page.next == ""
	for _, object := range page.entries {
		listed := strings.TrimPrefix(object.key, prefix)
		if listed == "" && object.size == 0 {
			continue // it stands for the directory in some tools
		}
		name := strings.TrimSuffix(listed, "/")
		if object.foreign || strings.Contains(name, "/") || !d.isNamable(name, object.isPrefix) {
			d.omit(object.key)
			continue
		}
		for len(d.above) > 0 && !strings.HasPrefix(name, d.above[len(d.above)-1]) {
			d.above = d.above[:len(d.above)-1]
		}
		switch {
		case !object.isPrefix:
			d.above = append(d.above, name)
			d.entries = append(d.entries, infoOf(name, object.size, object.modified, object.version))
		case len(d.above) == 0 || d.above[len(d.above)-1] != name:
			d.entries = append(d.entries, &objectInfo{name: name, mode: fs.ModeDir | 0o755})
		default:
			d.omit(object.key)
		}
	}
	return nil
}

// request requests the next page, unless it is there.
func (d *directory) request() (page listPage, err error) {
	if d.first != nil {
		page, d.first = *d.first, nil
		return page, nil
	}
	prefix := d.bucket.directoryPrefix(d.name)
	return d.bucket.list(listRequest{prefix: prefix, delimiter: "/", token: d.token, most: pageSize})
}

// exists reports whether there is an object below the directory. Its page is kept for ReadDir.
func (d *directory) exists() (bool, error) {
	for range d.bucket.maxAnswers {
		page, err := d.request()
		if err != nil {
			return false, err
		}
		if len(page.entries) > 0 || page.next == "" {
			d.first = &page
			return len(page.entries) > 0, nil
		}
		d.token = page.next
	}
	return false, errEndless
}

// isNamable reports whether a name leads to an object of the directory, or to those below a directory in it.
func (d *directory) isNamable(name string, isDirectory bool) bool {
	if !fs.ValidPath(name) || name == "." {
		return false
	}
	within := strings.TrimPrefix(d.name+"/"+name, "./")
	if isDirectory {
		within += "/file"
	}
	_, err := d.bucket.fileKey("readdir", within)
	return err == nil
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
