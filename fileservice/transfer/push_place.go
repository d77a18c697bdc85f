package transfer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"hash"
	"io"
	"io/fs"
	"path/filepath"
	"time"

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
// A file counts as present if the place has one of the same size, and
//
//   - if the place keeps a checksum of it (see [place.SumOf]), the local file has that checksum, for which it is read,
//   - otherwise, if the place keeps the time of the source (see [place.SetSourceTime]), that is the same,
//   - otherwise, the file of the place is not older.
//
// With Overwrite, only a checksum is proof enough: all other files are sent.
//
// A place keeps files, with their paths, but not the permissions of a file, nor a directory without files: that is
// skipped.
func PushPlace(ctx context.Context, to place.Place, config Config) (Result, error) {
	if err := config.check(); err != nil {
		return Result{}, err
	}
	p := &placePush{push: push{transfer: newTransfer(ctx, config), whole: true, filesOnly: true}}
	p.place = place.WithContext(p.ctx, to)
	writes := min(cmp.Or(config.Parallel, writesAtOnce), mostWritesAtOnce)
	p.connect, p.most = func() {}, func() int { return writes }
	p.to, p.small, p.isSame, p.lookup = &placeTree{place: p.place}, p, hasSize, p.lookUp
	p.newMover = func(f *pushFile) mover { return &placedFile{pushFile: f, place: p.place} }
	return p.run(p.walk)
}

// The number of large files written at once, by default and at most. A bucket keeps a part of each in memory, besides
// those that it sends.
const (
	writesAtOnce     = 3
	mostWritesAtOnce = parcelsAtOnce
)

func hasSize(there fs.FileInfo, version fileservice.Version) bool {
	return there.Mode().IsRegular() && there.Size() == version.Size
}

// lookUp returns errPresent if the place has a file of the same size, as far as it can tell: see PushPlace.
func (p *placePush) lookUp(
	ctx context.Context, f *pushFile, local io.ReaderAt, version fileservice.Version,
) (err error) {
	there, err := p.place.Open(f.remote)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	defer func() {
		if closing := there.Close(); err == nil {
			err = closing
		}
	}()
	info, err := there.Stat()
	if err != nil || !hasSize(info, version) {
		return err
	}
	sum, err := place.SumOf(there)
	if err != nil || version.Size == 0 {
		return cmp.Or(err, errPresent)
	}
	if check := newCheck(sum, version.Size); check != nil {
		err := reading(p.compareFile(ctx, check, local, f.local))
		if errors.Is(err, errOtherSum) {
			return nil
		}
		return cmp.Or(err, errPresent)
	}
	if !p.config.Overwrite && isSameTime(there, info, version.ModTime()) {
		return errPresent
	}
	return nil
}

// isSameTime compares times, where there is no checksum. The place sets those of its files, in seconds, when it has
// them.
func isSameTime(there fs.File, info fs.FileInfo, modified time.Time) bool {
	if noted := place.SourceTimeOf(there); !noted.IsZero() {
		return noted.Equal(modified)
	}
	return info.ModTime().Unix() >= modified.Unix()
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
	if err := f.push.lookup(ctx, f.pushFile, f.file, f.version); err != nil {
		return nil, writing(err)
	}
	written, err := f.create(ctx, f.version)
	if err != nil {
		return nil, writing(err)
	}
	f.written = written
	return []fileservice.BlockRange{{Count: fileservice.Blocks(f.version.Size)}}, nil
}

func (f *placedFile) create(ctx context.Context, version fileservice.Version) (written place.File, err error) {
	if f.push.config.Overwrite {
		written, err = f.place.Replace(ctx, f.remote)
	} else {
		written, err = f.place.Create(ctx, f.remote)
	}
	if err == nil {
		place.SetSourceTime(written, version.ModTime())
	}
	return written, err
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
	buffer := memory.Extend(fileservice.BlockSize)
	err := readRange(ctx, buffer, f.file, f.local, 0, f.version.Size, func(data []byte, _ int64) error {
		if _, err := f.written.Write(data); err != nil {
			return writing(err)
		}
		if hasher != nil {
			_, _ = hasher.Write(data) // never fails
		}
		moved(int64(len(data)))
		return nil
	})
	if err != nil {
		return reading(err)
	}
	if _, err := f.stat(); err != nil {
		return err
	}
	if err := f.written.Commit(); err != nil {
		return f.unlessPresent(ctx, f.file, f.version, err)
	}
	f.outcome = outcome{verified: place.IsVerified(f.written)}
	if hasher != nil {
		hasher.Sum(f.outcome.hash[:0])
	}
	return nil
}

func (f *placedFile) finish(context.Context) (outcome, error) { return f.outcome, nil }

func (f *placedFile) end(cause error) (err error) {
	if f.written != nil {
		err = writing(f.written.Discard())
		f.written = nil
	}
	return errors.Join(err, f.pushFile.end(cause))
}

// moveSmall writes the files one after the other.
func (p *placePush) moveSmall(ctx context.Context, b *parcel) (finish func(closed func())) {
	dir, err := publish.OpenDir(p.config.Root, filepath.Dir(b.items[0].mover.(*placedFile).local))
	if err != nil {
		b.fail(reading(err))
		return nil
	}
	memory := bytebuf.New()
	defer memory.Free()
	buffer := memory.Extend(fileservice.SmallFileSize)
	for i, it := range b.items {
		f := it.mover.(*placedFile)
		version := fileservice.VersionOf(f.found)
		content := buffer[:version.Size]
		b.errs[i] = reading(osfile.ReadSmall(dir, filepath.Base(f.local), version, content))
		if b.errs[i] != nil {
			continue
		}
		p.hashSmall(it, content)
		it.verified, b.errs[i] = f.moveContent(ctx, version, content)
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
	b.fail(reading(dir.Close()))
	return nil
}

// moveContent writes a whole file, unless it is present.
func (f *placedFile) moveContent(
	ctx context.Context, version fileservice.Version, content []byte,
) (verified bool, err error) {
	local := bytes.NewReader(content)
	if f.there {
		if err := f.push.lookup(ctx, f.pushFile, local, version); err != nil {
			return false, writing(err)
		}
		f.there = false
	}
	verified, err = f.write(ctx, version, content)
	return verified, f.unlessPresent(ctx, local, version, err)
}

func (f *placedFile) write(
	ctx context.Context, version fileservice.Version, content []byte,
) (verified bool, err error) {
	written, err := f.create(ctx, version)
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
