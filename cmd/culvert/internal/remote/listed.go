package remote

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"

	"culvert/cmd/culvert/internal/command"
	"culvert/export"
	"culvert/internal/recent"
	"culvert/manifest"
	"culvert/place"
)

// listedPlace is a place whose files also have the SHA-256 that the manifest of an export beside them lists, if the
// place itself keeps no checksum of them. A manifest is read once. If the files are replaced by another export after
// that, they are not what it lists: that is an error, and the next run reads the new manifest.
type listedPlace struct {
	place.Place
	ctx   context.Context
	lists *lists
}

// lists are the manifests that were read.
type lists struct {
	open func(ctx context.Context, dir fs.FS) (*export.Directory, error)

	mu   sync.Mutex // held while one is read
	read *recent.Map[string, list]
}

// list is what a manifest says, or why it says nothing.
type list struct {
	sums    map[string]place.Sum
	damaged error
}

const keptLists = 64 << 20 // bytes, about

func newListedPlace(p place.Place, open func(context.Context, fs.FS) (*export.Directory, error)) *listedPlace {
	return &listedPlace{
		p, context.Background(), &lists{open: open, read: recent.New[string, list](keptLists)},
	}
}

// WithContext is called by [place.WithContext].
func (p *listedPlace) WithContext(ctx context.Context) place.Place {
	return &listedPlace{place.WithContext(ctx, p.Place), ctx, p.lists}
}

func (p *listedPlace) Stat(name string) (fs.FileInfo, error) { return fs.Stat(p.Place, name) }

func (p *listedPlace) Open(name string) (fs.File, error) {
	f, err := p.Place.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if at, is := f.(io.ReaderAt); is && info.Mode().IsRegular() {
		return &listedFile{f, at, p, name}, nil
	}
	return f, nil
}

type listedFile struct {
	fs.File
	io.ReaderAt
	place *listedPlace
	name  string
}

// Sum is called by [place.SumOf].
func (f *listedFile) Sum() (place.Sum, error) {
	sum, err := place.SumOf(f.File)
	if err != nil || sum.Algorithm != "" {
		return sum, err
	}
	dir, name := path.Split(f.name)
	if name == manifest.EncryptedName || name == manifest.Name {
		return place.Sum{}, nil // it does not list itself
	}
	dir = path.Clean(dir)
	sum, listed, err := f.listedIn(dir, name)
	if listed || err != nil || dir == "." {
		return sum, err
	}
	// It may be a part of a table, whose manifest is in the directory above.
	sum, _, err = f.listedIn(path.Dir(dir), path.Join(path.Base(dir), name))
	return sum, err
}

// listedIn returns the checksum that the manifest of a directory lists under a name.
func (f *listedFile) listedIn(dir, name string) (sum place.Sum, listed bool, err error) {
	list, err := f.place.listOf(dir)
	if err == nil && list.damaged != nil {
		err = &fs.PathError{Op: "read", Path: f.name, Err: list.damaged}
	}
	sum, listed = list.sums[name]
	return sum, listed, err
}

// listOf reads the manifest of a directory. One that is not there, or cannot be read with the identity at hand, lists
// nothing.
func (p *listedPlace) listOf(dir string) (list, error) {
	l := p.lists
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, is := l.read.Get(dir); is {
		return known, nil
	}
	below, err := place.Sub(p.Place, dir)
	if err != nil {
		return list{}, err
	}
	result := list{sums: map[string]place.Sum{}}
	size := int64(len(dir))
	switch found, err := l.open(p.ctx, below); {
	case errors.Is(err, place.ErrUnreachable) || context.Cause(p.ctx) != nil:
		return list{}, err
	case errors.Is(err, export.ErrNoManifest):
	case command.ExitCode(err) == command.ExitIntegrity && !isForeign(below, err):
		result.damaged = damagedManifest(dir, err)
	case err == nil:
		for _, t := range found.Manifest.Tables {
			for _, part := range t.Parts {
				value, err := hex.DecodeString(part.SHA256)
				if err != nil {
					return list{}, err
				}
				result.sums[part.File] = place.Sum{Algorithm: place.SHA256, Value: value}
				size += int64(len(part.File)) + 200
			}
		}
	}
	l.read.Put(dir, result, size)
	return result, nil
}

func damagedManifest(dir string, err error) error {
	name := "the manifest of its directory"
	if at, is := errors.AsType[*fs.PathError](err); is {
		name, err = path.Join(dir, path.Base(at.Path)), at.Err
	}
	return fmt.Errorf("its checksum is in %s, which is damaged: %w", name, err)
}

// isForeign reports whether an error is about a file of another program that has the name of a manifest.
func isForeign(dir fs.FS, err error) bool {
	at, is := errors.AsType[*fs.PathError](err)
	if !is || path.Base(at.Path) != manifest.Name {
		return false
	}
	f, err := dir.Open(manifest.Name)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it was only read
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head) // what there is
	return !bytes.Contains(head[:n], []byte(`"tool": "culvert`))
}
