package plainfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"sync"

	"filippo.io/age"

	"culvert/export"
	"culvert/internal/recent"
)

// The limits of a view, beside Config.Memory.
const (
	maxShapes = 16 << 10 // files of which it is kept what they are
	probes    = 16       // files that are looked into at the same time for a listing
)

// Config says what is shown.
type Config struct {
	// FS has the files. It is required. Its regular files must be io.ReaderAt; those that are not are shown as they
	// are.
	FS fs.FS

	// Identities decrypt. At least one is required. They are asked for each encrypted file that is looked at, by
	// several goroutines at once, so that one that asks somebody back is of little use.
	Identities []age.Identity

	// Unopened hears of an encrypted file that none of the identities opens, when it is looked into, and may be nil. It
	// is called by several goroutines at once, and more than once for a file.
	Unopened func(name string)

	// Armored hears, as Unopened does, of an encrypted file that is armored (PEM). It is shown as it is.
	Armored func(name string)

	// Damaged hears, as Unopened does, of an encrypted file that is cut or has bytes too many. It is shown as it is.
	Damaged func(name string)

	// Memory bounds the frames that are decoded or kept, in bytes; 0 is 32 MiB. A single frame may take half of it.
	Memory int64
}

// FS is the view. It implements fs.StatFS and fs.ReadLinkFS, and its regular files are io.ReaderAt and io.Seeker. All
// methods, of files too, may be called at once.
type FS struct {
	source     fs.FS
	identities []age.Identity
	unopened   func(name string)
	armored    func(name string)
	damaged    func(name string)

	cache  *export.Cache
	shapes *recent.Map[fileVersion, shape]

	manifests *recent.Map[fileVersion, *tables]
	reading   sync.Mutex // held while a large manifest is read
}

var (
	_ fs.StatFS     = (*FS)(nil)
	_ fs.ReadLinkFS = (*FS)(nil)
)

// Moved returns what the source says of the bytes that have moved, or 0 if it says nothing.
func (f *FS) Moved() int64 {
	if source, is := f.source.(interface{ Moved() int64 }); is {
		return source.Moved()
	}
	return 0
}

// New gives a view. It holds nothing that would have to be closed.
func New(config Config) (*FS, error) {
	switch {
	case config.FS == nil:
		return nil, errors.New("plainfs: a view needs a file system")
	case len(config.Identities) == 0:
		return nil, errors.New("plainfs: a view needs identities")
	case config.Memory < 0:
		return nil, fmt.Errorf("plainfs: a memory of %d bytes is out of range", config.Memory)
	}
	return &FS{
		source:     config.FS,
		identities: config.Identities,
		unopened:   config.Unopened,
		armored:    config.Armored,
		damaged:    config.Damaged,
		cache:      export.NewCache(config.Memory),
		shapes:     recent.New[fileVersion, shape](maxShapes),
		manifests:  recent.New[fileVersion, *tables](maxManifests),
	}, nil
}

// Open opens a file or a directory.
func (f *FS) Open(name string) (fs.File, error) {
	opened, err := f.source.Open(name)
	if err == nil {
		return f.wrapDirectory(name, opened)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	sealed, ok, hidden := f.find(name)
	if hidden != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: hidden}
	}
	if !ok {
		return f.openAsTable(name, err)
	}
	content, err := f.open(sealed.name)
	switch {
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: name, Err: withoutPath(err)}
	case content.form != sealed.form:
		// It was replaced since, by something that is not shown under this name.
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}, content.source.Close())
	}
	return &file{content: content, name: name}, nil
}

// openAsTable opens a table in parts, if it is shown under the name. Otherwise the error is missing.
func (f *FS) openAsTable(name string, missing error) (fs.File, error) {
	t, ok, err := f.findTable(name)
	if err == nil && !ok {
		return nil, missing
	}
	var opened fs.File
	if err == nil {
		opened, err = f.openTable(name, t)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return opened, nil
}

// Lstat describes a file, and not what a symbolic link leads to.
func (f *FS) Lstat(name string) (fs.FileInfo, error) { return f.stat("lstat", name, fs.Lstat) }

// Stat describes a file. A symbolic link is followed if the file system does.
func (f *FS) Stat(name string) (fs.FileInfo, error) { return f.stat("stat", name, fs.Stat) }

func (f *FS) stat(op, name string, stat func(fs.FS, string) (fs.FileInfo, error)) (fs.FileInfo, error) {
	info, err := stat(f.source, name)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return info, err
	}
	sealed, ok, hidden := f.find(name)
	if hidden != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: hidden}
	}
	if ok {
		return plainInfo(name, sealed.info, sealed.size), nil
	}
	t, ok, hidden := f.findTable(name)
	if hidden != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: hidden}
	}
	if !ok {
		return nil, err
	}
	return t.describe(name), nil
}

// ReadLink gives where a symbolic link leads, as the file system does.
func (f *FS) ReadLink(name string) (string, error) { return fs.ReadLink(f.source, name) }

// Space tells how many bytes the file system has in all, unused, and of those for everybody, if it has this method.
func (f *FS) Space(name string) (total, free, available uint64, err error) {
	source, is := f.source.(interface {
		Space(name string) (total, free, available uint64, err error)
	})
	if !is {
		return 0, 0, 0, &fs.PathError{Op: "statfs", Path: name, Err: errors.ErrUnsupported}
	}
	if !fs.ValidPath(name) {
		return 0, 0, 0, &fs.PathError{Op: "statfs", Path: name, Err: fs.ErrInvalid}
	}
	return source.Space(path.Dir(name)) // the name itself may be one of the view only
}

// withoutPath takes the name of the encrypted file out of an error, for that of the view.
func withoutPath(err error) error {
	if known, is := errors.AsType[*fs.PathError](err); is {
		return known.Err
	}
	return err
}

// fileVersion names a file of the file system and its version.
type fileVersion struct {
	name    string
	version any
}

// versionOf gives the version of a file, or nil if info does not name one.
func versionOf(info fs.FileInfo) any {
	sys := info.Sys()
	if sys == nil || reflect.TypeOf(sys).Kind() == reflect.Pointer || !reflect.ValueOf(sys).Comparable() {
		return nil
	}
	return sys
}
