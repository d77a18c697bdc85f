package fileservice

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"

	"culvert/internal/publish"
)

// moveSmall asks for the files that are not there.
func (p *pull) moveSmall(ctx context.Context, b *parcel) (finish func(closed func())) {
	first := b.items[0].mover.(*pullFile)
	receiver, err := p.receiveSmall(filepath.Dir(first.local))
	if err != nil {
		b.fail(err)
		return nil
	}
	var wanted []SmallFile
	var which []int // of the parcel
	for i, it := range b.items {
		f := it.mover.(*pullFile)
		if b.errs[i] = f.beginSmall(receiver); b.errs[i] == nil {
			wanted = append(wanted, SmallFile{
				Name: path.Base(f.remote), Version: f.info.Version(), Permissions: f.info.Mode().Perm(),
			})
			which = append(which, i)
		}
	}
	added := p.readSmall(ctx, path.Dir(first.remote), wanted, b, which, receiver)
	return func(closed func()) {
		for i, err := range receiver.publish(closed) {
			b.errs[added[i]] = err
		}
		b.fail(receiver.Close())
	}
}

// readSmall hands the files to the receiver, and says which of the parcel those are.
func (p *pull) readSmall(
	ctx context.Context, remote string, wanted []SmallFile, b *parcel, which []int, receiver *smallReceiver,
) (added []int) {
	if len(wanted) == 0 {
		return nil
	}
	came := 0
	err := p.client.ReadFiles(ctx, remote, wanted, func(i int, content []byte, sum Sum, err error) error {
		came++
		at := which[i]
		if err != nil {
			b.errs[at] = err
			return nil
		}
		file := wanted[i]
		file.Name = filepath.Base(b.items[at].mover.(*pullFile).local)
		receiver.add(&file, content, sum)
		b.sums[at] = sum
		added = append(added, at)
		p.arrived(b.items[at])
		return nil
	})
	for _, at := range which[came:] {
		b.errs[at] = aboutFile(err, b.items[at].mover.(*pullFile).remote)
	}
	return added
}

// receiveSmall opens the directory that small files go into.
func (p *pull) receiveSmall(local string) (*smallReceiver, error) {
	root := p.config.Root
	dir, err := publish.OpenDir(root, local)
	if errors.Is(err, fs.ErrNotExist) {
		if err := p.makeDirs(local); err != nil {
			return nil, err
		}
		dir, err = publish.OpenDir(root, local)
	}
	if err != nil {
		return nil, err
	}
	receive := func(local string, version Version) (*receiver, error) {
		return openReceiver(root, p.publisher, local, version, p.config.Overwrite)
	}
	return newSmallReceiver(dir, local, p.publisher, receive), nil
}

// beginSmall finds out whether the file is there, or cannot be.
func (f *pullFile) beginSmall(s *smallReceiver) error {
	if f.twin {
		if err := f.collides(); err != nil {
			return err
		}
	}
	if s.empty {
		return nil
	}
	info, err := s.dir.Lstat(filepath.Base(f.local))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case isSame(info, f.info.Version()) && s.isUnbegun(filepath.Base(f.local)):
		return errPresent
	case isSame(info, f.info.Version()):
		return f.present()
	}
	return checkReplaced(info, f.local, f.pull.config.Overwrite)
}
