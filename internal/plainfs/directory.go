package plainfs

import (
	"errors"
	"io"
	"io/fs"
	"sync"
)

// page is how many entries are looked into before the first of them is given out.
const page = 64

// directory is a directory that is open.
type directory struct {
	fs.ReadDirFile
	fs   *FS
	name string
}

// wrapDirectory makes a directory of the file system one of the view. Other files stay as they are.
func (f *FS) wrapDirectory(name string, opened fs.File) (fs.File, error) {
	dir, is := opened.(fs.ReadDirFile)
	if !is {
		return opened, nil
	}
	info, err := opened.Stat() // a file of package os has the methods of both
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	if !info.IsDir() {
		return opened, nil
	}
	return &directory{ReadDirFile: dir, fs: f, name: name}, nil
}

// ReadDir gives the next entries, in the order of the file system, and never more than 64 at once if n is more than 0.
// Encrypted files are looked into, several at a time, since that says what their names are.
func (d *directory) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 {
		entries, err := d.ReadDirFile.ReadDir(min(n, page))
		d.show(entries)
		return entries, err
	}
	var all []fs.DirEntry
	for {
		entries, err := d.ReadDirFile.ReadDir(page)
		d.show(entries)
		all = append(all, entries...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// show makes entries of the file system those of the view.
func (d *directory) show(entries []fs.DirEntry) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, probes)
	beside := sync.OnceValue(func() *tables {
		found, err := d.fs.inParts(d.name)
		if err != nil {
			return nil // whoever asks for the table by its name is told
		}
		return found
	})
	for i, entry := range entries {
		if entry.IsDir() {
			entries[i] = d.fs.shownAsTable(d.name, entry, beside())
			continue
		}
		if !entry.Type().IsRegular() || !mayBeSealed(entry.Name()) {
			continue
		}
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			entries[i] = d.fs.shownAs(d.name, entry)
		})
	}
	wait.Wait()
}
