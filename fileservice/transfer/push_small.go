package transfer

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"culvert/fileservice"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/receive"
	"culvert/internal/publish"
	"culvert/place"
)

// moveSmall sends the files that the server was not seen to have, or with Overwrite, is not proved to have.
func (p *serverPush) moveSmall(ctx context.Context, b *parcel) (finish func(closed func())) {
	first := b.items[0].mover.(*serverFile)
	dir, err := publish.OpenDir(p.config.Root, filepath.Dir(first.local))
	if err != nil {
		b.fail(reading(err))
		return nil
	}
	p.findPresent(ctx, b, dir)
	unwritable := p.written.failure(path.Dir(first.remote))
	var files []fileservice.SmallFile
	var which []int // their indices in the parcel
	for i, it := range b.items {
		if b.errs[i] == nil {
			b.errs[i] = unwritable
		}
		if b.errs[i] != nil {
			continue
		}
		f := it.mover.(*serverFile)
		files = append(files, fileservice.SmallFile{
			Name: path.Base(f.remote), Version: fileservice.VersionOf(f.found), Permissions: f.found.Mode().Perm(),
		})
		which = append(which, i)
	}
	read := func(i int, content []byte) error {
		f := b.items[which[i]].mover.(*serverFile)
		err := osfile.ReadSmall(dir, filepath.Base(f.local), files[i].Version, content)
		p.hashSmall(b.items[which[i]], content)
		return reading(err)
	}
	remote := path.Dir(first.remote)
	var errs []error
	err = inDir(remote, p.makeDirs, func() (err error) {
		errs, err = p.client.WriteFiles(ctx, remote, files, p.config.Overwrite, read)
		return err
	})
	for i, at := range which {
		f := b.items[at].mover.(*serverFile)
		b.errs[at] = receive.ErrorAbout(err, f.remote)
		if err == nil {
			b.errs[at] = errs[i]
		}
		b.errs[at] = f.unlessSmallPresent(ctx, b.errs[at])
		if b.errs[at] == nil {
			b.items[at].verified = true
			p.arrived(b.items[at])
		}
	}
	for i, it := range b.items {
		if f := it.mover.(*serverFile); b.errs[i] == errPresent {
			f.tidy(errPresent)
		}
	}
	b.fail(reading(dir.Close()))
	return nil
}

// pushEntry is a directory entry with the server's entry of the same name, or nil.
type pushEntry struct {
	fs.DirEntry
	remote *fileservice.Info
	left   bool // the server has something left of an earlier push of it
}

// listRemote adds the server's entries to regular files, so that present ones need no call of their own. It lists the
// directory once for each part. entries must be sorted.
func (p *push) listRemote(remote string, entries []fs.DirEntry) error {
	regular := func(entry fs.DirEntry) bool { return entry.Type().IsRegular() }
	if !slices.ContainsFunc(entries, regular) {
		return nil
	}
	there, left := make([]*fileservice.Info, len(entries)), make([]bool, len(entries))
	err := p.try(func() error {
		for info, err := range p.to.List(p.ctx, remote) {
			if err != nil {
				return err
			}
			name, isLeft := strings.CutSuffix(info.Name(), fileservice.PartSuffix)
			i, is := slices.BinarySearchFunc(entries, name, func(entry fs.DirEntry, name string) int {
				return compareNames(entry.Name(), name)
			})
			switch {
			case is && isLeft:
				left[i] = true
			case is:
				attributes := info.Attributes()
				attributes.Name = entries[i].Name() // shares its memory
				there[i] = fileservice.NewInfo(attributes)
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, place.ErrUnreachable), errors.Is(err, place.ErrIntegrity):
		return err
	case err != nil && !errors.Is(err, fs.ErrNotExist) && !isUnnamable(err):
		return nil // writing to it will report the reason
	}
	for i, entry := range entries {
		if regular(entry) {
			entries[i] = &pushEntry{entry, there[i], left[i]}
		}
	}
	return nil
}
