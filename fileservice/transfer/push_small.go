package transfer

import (
	"cmp"
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

// moveSmall sends the files that the other end was not seen to have, or that prove to be other ones.
func (p *push) moveSmall(ctx context.Context, b *batch) (finish func(closed func())) {
	first := b.items[0].mover.(*pushFile)
	dir, err := publish.OpenDir(p.config.Root, filepath.Dir(first.local))
	if err != nil {
		b.fail(reading(err))
		return nil
	}
	readLocal := func(at int, content []byte) error {
		f := b.items[at].mover.(*pushFile)
		return reading(osfile.ReadSmall(dir, filepath.Base(f.local), fileservice.VersionOf(f.found), content))
	}
	remote := path.Dir(first.remote)
	var twins []int // which are present only if they prove to be copies
	for i, it := range b.items {
		switch f := it.mover.(*pushFile); {
		case f.there != nil && p.to.server != nil && !p.config.Overwrite:
			b.errs[i] = errPresent
		case f.there != nil:
			twins = append(twins, i)
		}
	}
	p.findPresent(ctx, b, p.to, remote, twins, readLocal)
	unwritable := p.written.failure(remote)
	for i := range b.errs {
		b.errs[i] = cmp.Or(b.errs[i], unwritable)
	}
	files, which := b.missing()
	read := func(i int, content []byte) error {
		err := readLocal(which[i], content)
		p.hashSmall(b.items[which[i]], content)
		return err
	}
	done := 0
	settle := func(i int, verified bool, err error) {
		done++
		it := b.items[which[i]]
		it.verified, b.errs[which[i]] = verified, it.mover.(*pushFile).unlessSmallPresent(ctx, err)
		if b.errs[which[i]] == nil {
			p.arrived(it)
		}
	}
	err = inDir(remote, p.makeDirs, func() error {
		return p.to.writeSmall(ctx, remote, files, p.config.Overwrite, read, settle)
	})
	for i := done; i < len(which); i++ {
		settle(i, false, receive.ErrorAbout(err, b.items[which[i]].mover.(*pushFile).remote))
	}
	for i, it := range b.items {
		if b.errs[i] == errPresent {
			it.mover.(*pushFile).tidy(errPresent)
		}
	}
	b.fail(reading(dir.Close()))
	return nil
}

func (f *pushFile) small() fileservice.SmallFile {
	return fileservice.SmallFile{
		Name: path.Base(f.remote), Version: fileservice.VersionOf(f.found), Permissions: f.found.Mode().Perm(),
	}
}

// unlessSmallPresent is unlessPresent for a small file.
func (f *pushFile) unlessSmallPresent(ctx context.Context, err error) error {
	err = writing(err)
	if !mayBePresent(err) {
		return err
	}
	if f.open() == nil {
		err = f.unlessPresent(ctx, err)
	}
	return cmp.Or(f.close(), err)
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
		for info, err := range p.to.list(p.ctx, remote) {
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
