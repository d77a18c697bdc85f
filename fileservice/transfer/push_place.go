package transfer

import (
	"context"
	"errors"
	"path/filepath"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/fileservice/internal/osfile"
	"culvert/internal/publish"
	"culvert/place"
)

// PushPlace is [Push] to a place, such as a bucket. Each file appears when it is complete. It is read and written from
// its beginning to its end, up to 3 large files at once, and is not resumed: a run after an interruption begins with
// the files that are not complete.
//
// A place sets the times of its files itself. So a file counts as present if the place has one of the same size that is
// not older.
func PushPlace(ctx context.Context, to place.Place, config Config) (Result, error) {
	if err := config.check(); err != nil {
		return Result{}, err
	}
	p := &placePush{push: push{transfer: newTransfer(ctx, config), whole: true}}
	p.place = place.WithContext(p.ctx, to)
	p.connect, p.most = func() {}, func() int { return writesAtOnce }
	p.to, p.small, p.isSame = &placeTree{p.place}, p, isNewer
	p.newMover = func(f *pushFile) mover { return &placeFile{pushFile: f, place: p.place} }
	return p.run(p.walk)
}

// writesAtOnce is the number of large files written at once. A bucket keeps some parts of each in memory.
const writesAtOnce = 3

// isNewer reports whether a file of a place can be a copy. Places have times in seconds.
func isNewer(there *fileservice.Info, version fileservice.Version) bool {
	return there.Mode().IsRegular() && there.Size() == version.Size &&
		there.ModTime().Unix() >= version.ModTime().Unix()
}

// placePush is a PushPlace in progress.
type placePush struct {
	push
	place place.Place
}

// placeFile is a file to push to a place.
type placeFile struct {
	*pushFile
	place   place.Place
	written place.File
}

func (f *placeFile) begin(ctx context.Context) ([]fileservice.BlockRange, error) {
	if err := f.open(); err != nil {
		return nil, err
	}
	if err := f.lookup(f.version); err != nil {
		return nil, err
	}
	written, err := f.create(ctx)
	if err != nil {
		return nil, err
	}
	f.written = written
	return []fileservice.BlockRange{{Count: fileservice.Blocks(f.version.Size)}}, nil
}

func (f *placeFile) create(ctx context.Context) (place.File, error) {
	if f.push.config.Overwrite {
		return f.place.Replace(ctx, f.remote)
	}
	return f.place.Create(ctx, f.remote)
}

func (f *placeFile) move(ctx context.Context, blocks fileservice.BlockRange, moved func(int64)) error {
	return f.push.readBlocks(ctx, f.file, f.local, []fileservice.BlockRange{blocks}, f.version.Size,
		func(_ int64, p []byte) error {
			if _, err := f.written.Write(p); err != nil {
				return err
			}
			moved(int64(len(p)))
			return nil
		})
}

func (f *placeFile) finish(ctx context.Context) (Hash, error) {
	if _, err := f.stat(); err != nil {
		return Hash{}, err
	}
	if err := f.written.Commit(); err != nil {
		return Hash{}, f.unlessPresent(f.version, err)
	}
	hash, err := f.push.hash(ctx, f.file, f.local, f.version.Size)
	if err == nil {
		_, err = f.stat()
	}
	return hash, err
}

func (f *placeFile) end(drop bool) (err error) {
	if f.written != nil {
		err = f.written.Discard()
		f.written = nil
	}
	return errors.Join(err, f.pushFile.end(drop))
}

// moveSmall writes the files one after the other.
func (p *placePush) moveSmall(ctx context.Context, b *parcel) (finish func(closed func())) {
	dir, err := publish.OpenDir(p.config.Root, filepath.Dir(b.items[0].mover.(*placeFile).local))
	if err != nil {
		b.fail(err)
		return nil
	}
	memory := bytebuf.New()
	defer memory.Free()
	buffer := memory.Extend(fileservice.SmallFileSize)
	for i, it := range b.items {
		f := it.mover.(*placeFile)
		if f.there {
			b.errs[i], f.there = errPresent, false
			continue
		}
		version := fileservice.VersionOf(f.found)
		content := buffer[:version.Size]
		b.errs[i] = osfile.ReadSmall(dir, filepath.Base(f.local), version, content)
		if b.errs[i] != nil {
			continue
		}
		p.hashSmall(it, content)
		if b.errs[i] = f.unlessPresent(version, f.write(ctx, content)); b.errs[i] == nil {
			p.arrived(it)
		}
	}
	b.fail(dir.Close())
	return nil
}

// write writes a whole file.
func (f *placeFile) write(ctx context.Context, content []byte) error {
	written, err := f.create(ctx)
	if err != nil {
		return err
	}
	if _, err := written.Write(content); err != nil {
		return errors.Join(err, written.Discard())
	}
	return errors.Join(written.Commit(), written.Discard())
}
