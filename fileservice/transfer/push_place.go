package transfer

import (
	"cmp"
	"context"
	"errors"
	"hash"
	"path/filepath"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/fileservice/internal/osfile"
	"culvert/internal/publish"
	"culvert/place"
)

// PushPlace is [Push] to a place, such as a bucket. Each file appears when it is complete. It counts as verified if the
// place says so; see [place.IsVerified]. It is read and written from its beginning to its end, [Config.Parallel] large
// files at once, and is not resumed: a run after an interruption begins with the files that are not complete.
//
// A place sets the times of its files itself. So a file counts as present if the place has one of the same size that is
// not older.
func PushPlace(ctx context.Context, to place.Place, config Config) (Result, error) {
	if err := config.check(); err != nil {
		return Result{}, err
	}
	p := &placePush{push: push{transfer: newTransfer(ctx, config), whole: true}}
	p.place = place.WithContext(p.ctx, to)
	writes := min(cmp.Or(config.Parallel, writesAtOnce), mostWritesAtOnce)
	p.connect, p.most = func() {}, func() int { return writes }
	p.to, p.small, p.isSame = &placeTree{place: p.place}, p, isNewer
	p.newMover = func(f *pushFile) mover { return &placedFile{pushFile: f, place: p.place} }
	return p.run(p.walk)
}

// The number of large files written at once, by default and at most. A bucket keeps a part of each in memory, besides
// those that it sends.
const (
	writesAtOnce     = 3
	mostWritesAtOnce = parcelsAtOnce
)

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

// placedFile is a file to push to a place.
type placedFile struct {
	*pushFile
	place   place.Place
	written place.File
	outcome outcome
}

func (f *placedFile) begin(ctx context.Context) ([]fileservice.BlockRange, error) {
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

func (f *placedFile) create(ctx context.Context) (place.File, error) {
	if f.push.config.Overwrite {
		return f.place.Replace(ctx, f.remote)
	}
	return f.place.Create(ctx, f.remote)
}

// move writes the whole file, and commits it: a bucket gets a file of one part only then. The hash is that of what was
// written, whatever becomes of the local file.
func (f *placedFile) move(ctx context.Context, _ fileservice.BlockRange, moved func(int64)) error {
	var hasher hash.Hash
	if f.push.config.Hash {
		hasher = newHash()
	}
	memory := bytebuf.New()
	defer memory.Free()
	err := readRange(ctx, memory.Extend(fileservice.BlockSize), f.file, f.local, 0, f.version.Size, func(data []byte, _ int64) error {
		if _, err := f.written.Write(data); err != nil {
			return err
		}
		if hasher != nil {
			_, _ = hasher.Write(data) // never fails
		}
		moved(int64(len(data)))
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := f.stat(); err != nil {
		return err
	}
	if err := f.written.Commit(); err != nil {
		return f.unlessPresent(f.version, err)
	}
	f.outcome = outcome{verified: place.IsVerified(f.written)}
	if hasher != nil {
		hasher.Sum(f.outcome.hash[:0])
	}
	return nil
}

func (f *placedFile) finish(context.Context) (outcome, error) { return f.outcome, nil }

func (f *placedFile) end(drop bool) (err error) {
	if f.written != nil {
		err = f.written.Discard()
		f.written = nil
	}
	return errors.Join(err, f.pushFile.end(drop))
}

// moveSmall writes the files one after the other.
func (p *placePush) moveSmall(ctx context.Context, b *parcel) (finish func(closed func())) {
	dir, err := publish.OpenDir(p.config.Root, filepath.Dir(b.items[0].mover.(*placedFile).local))
	if err != nil {
		b.fail(err)
		return nil
	}
	memory := bytebuf.New()
	defer memory.Free()
	buffer := memory.Extend(fileservice.SmallFileSize)
	for i, it := range b.items {
		f := it.mover.(*placedFile)
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
		var err error
		it.verified, err = f.write(ctx, content)
		b.errs[i] = f.unlessPresent(version, err)
		if errors.Is(b.errs[i], place.ErrUnreachable) {
			for rest := i + 1; rest < len(b.errs); rest++ {
				b.errs[rest] = b.errs[i] // each would wait as long
			}
			break
		}
		if b.errs[i] == nil {
			p.arrived(it)
		}
	}
	b.fail(dir.Close())
	return nil
}

// write writes a whole file.
func (f *placedFile) write(ctx context.Context, content []byte) (verified bool, err error) {
	written, err := f.create(ctx)
	if err != nil {
		return false, err
	}
	if _, err := written.Write(content); err != nil {
		_ = written.Discard() // the earlier error is reported
		return false, err
	}
	err = written.Commit()
	return place.IsVerified(written), err
}
