package transfer

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"

	"culvert/fileservice"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/receive"
	"culvert/internal/publish"
)

// moveSmall requests the files that are missing.
func (p *pull) moveSmall(ctx context.Context, b *batch) (finish func(closed func())) {
	first := b.items[0].mover.(*pullFile)
	receiver, err := p.receiveSmall(filepath.Dir(first.local))
	if err != nil {
		b.fail(writing(err))
		return nil
	}
	var twins []int // which are present only if they prove to be copies
	for i, it := range b.items {
		f := it.mover.(*pullFile)
		b.errs[i] = writing(f.beginSmall(receiver))
		if b.errs[i] == errPresent && p.config.Overwrite {
			b.errs[i] = nil
			twins = append(twins, i)
		}
	}
	p.findPresent(ctx, b, p.from, path.Dir(first.remote), twins, func(at int, content []byte) error {
		name := filepath.Base(b.items[at].mover.(*pullFile).local)
		info, err := receiver.Dir.Lstat(name)
		if err != nil {
			return err
		}
		return osfile.ReadSmall(receiver.Dir, name, fileservice.VersionOf(info), content)
	})
	added := p.readSmall(ctx, path.Dir(first.remote), b, receiver)
	return func(closed func()) {
		files := receiver.Files
		for i, err := range receiver.Publish(closed) {
			f := b.items[added[i]].mover.(*pullFile)
			if errors.Is(err, fs.ErrExist) && f.collides() == nil && receiver.IsThere(files[i], f.seen()) {
				err = f.present() // another transfer was faster
			}
			b.errs[added[i]] = writing(err)
		}
		b.fail(writing(receiver.Close()))
	}
}

// readSmall hands the files to the receiver, and returns their indices in the batch.
func (p *pull) readSmall(
	ctx context.Context, remote string, b *batch, receiver *receive.Small,
) (added []int) {
	wanted, which := b.missing()
	if len(wanted) == 0 {
		return nil
	}
	came := 0
	err := p.from.readSmall(ctx, remote, wanted, func(
		i int, content []byte, sum fileservice.Sum, verified bool, err error,
	) error {
		came++
		at := which[i]
		if err != nil {
			b.errs[at] = reading(err)
			return nil
		}
		file := wanted[i]
		file.Name = filepath.Base(b.items[at].mover.(*pullFile).local)
		receiver.Add(&file, content, sum)
		p.hashSmall(b.items[at], content)
		b.items[at].verified = verified
		added = append(added, at)
		p.arrived(b.items[at])
		return nil
	})
	for _, at := range which[came:] {
		b.errs[at] = reading(receive.ErrorAbout(err, b.items[at].mover.(*pullFile).remote))
	}
	return added
}

// receiveSmall opens the directory for small files.
func (p *pull) receiveSmall(local string) (*receive.Small, error) {
	if err := p.written.failure(filepath.ToSlash(local)); err != nil {
		return nil, err
	}
	root := p.config.Root
	var dir *publish.Dir
	err := inDir(local, p.makeDirs, func() (err error) {
		dir, err = publish.OpenDir(root, local)
		return err
	})
	if err != nil {
		return nil, err
	}
	open := func(local string, version fileservice.Version) (*receive.File, error) {
		return receive.Open(root, p.publisher, local, version, p.config.Overwrite)
	}
	return receive.NewSmall(dir, local, p.publisher, open), nil
}

func (f *pullFile) small() fileservice.SmallFile {
	return fileservice.SmallFile{
		Name: path.Base(f.remote), Version: fileservice.VersionOf(f.info), Permissions: f.info.Mode().Perm(),
	}
}

func (f *pullFile) seen() fileservice.Version { return fileservice.VersionOf(f.info) }

// beginSmall returns errPresent if the file exists, or the reason why it cannot be written.
func (f *pullFile) beginSmall(s *receive.Small) error {
	if err := f.collides(); err != nil || s.Empty {
		return err
	}
	info, err := s.Dir.Lstat(filepath.Base(f.local))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !fileservice.IsSame(info, fileservice.VersionOf(f.info)):
		return receive.CheckReplaced(info, f.local, f.pull.config.Overwrite)
	case s.IsUnbegun(filepath.Base(f.local)):
		return errPresent
	}
	return f.present()
}
