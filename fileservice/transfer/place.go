package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"iter"
	"path"
	"time"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/place"
)

// PullPlace is [Pull] from a place, such as a bucket. Remote is a name in the place. It reads [Config.Parallel] ranges
// of large files at once. A range has 8 MiB; if there are more than 10, 4, 2 or 1, so that all take at most 80 MiB of
// memory. What else is read at the same time takes 5 MiB.
//
// If the place has versions, a file that changes is transferred afresh, as by Pull. Otherwise files of the same size
// and time count as equal.
//
// A file of which the place keeps a checksum (see [place.SumOf]) is compared with it before it gets its name, all of
// it, also if it was resumed. If it differs, it is removed, and the error wraps [place.ErrIntegrity]; other files are
// still transferred. The checksum is computed while the file arrives. Only if it was resumed, blocks that were there
// are read again, or all if the checksum is neither a CRC nor one of parts.
func PullPlace(ctx context.Context, from place.Place, config Config) (Result, error) {
	return run(ctx, config, func(t *transfer) source {
		tree := newPlaceTree(place.WithContext(t.ctx, from), config.Parallel)
		t.connect, t.most = func() {}, func() int { return cap(tree.buffers) }
		return tree
	})
}

const (
	rangesAtOnce = 4        // by default
	rangeBlocks  = 8        // of one read from a place, which begins at a multiple of them: see place/bucket
	rangeMemory  = 80 << 20 // bytes, for all ranges
)

// placeTree gives a place the form of a server.
type placeTree struct {
	place       place.Place
	rangeBlocks int64
	buffers     chan []byte // one for each range that is read at once; nil before its first use
}

func newPlaceTree(p place.Place, parallel int) *placeTree {
	parallel = min(cmp.Or(parallel, rangesAtOnce), rangeMemory/fileservice.BlockSize)
	s := &placeTree{place: p, rangeBlocks: rangeBlocks, buffers: make(chan []byte, parallel)}
	for int64(parallel)*s.rangeBlocks*fileservice.BlockSize > rangeMemory {
		s.rangeBlocks /= 2
	}
	for range parallel {
		s.buffers <- nil
	}
	return s
}

func (s *placeTree) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(s.place, name)
	if err != nil {
		return nil, err // not a nil pointer in an interface
	}
	return infoOf(info), nil
}

// infoOf returns a description in the form of a server's.
func infoOf(info fs.FileInfo) *fileservice.Info {
	version := fileservice.Version{}
	if !info.ModTime().IsZero() { // as for directories of a bucket
		version.ModifiedUnixNano = fileservice.UnixNano(info.ModTime())
	}
	if info.Mode().IsRegular() {
		version.Size = info.Size()
	}
	if v, is := info.Sys().(place.Version); is && v != "" {
		hash := fnv.New64a()
		_, _ = io.WriteString(hash, string(v)) // returns no error
		version.Tag = hash.Sum64()
	}
	return fileservice.NewInfo(fileservice.Attributes{
		Name: info.Name(), Mode: info.Mode() & (fs.ModeType | fs.ModePerm), Version: version,
	})
}

// MkdirIfMissing does nothing: a place makes the directories of a file with the file.
func (s *placeTree) MkdirIfMissing(string, fs.FileMode) error { return nil }

// Chtimes does nothing: the time of a file in a place is when it was written.
func (s *placeTree) Chtimes(string, time.Time, time.Time) error { return nil }

// listPage is how many entries of a directory are read at once.
const listPage = 1000

func (s *placeTree) List(_ context.Context, name string) iter.Seq2[*fileservice.Info, error] {
	return func(yield func(*fileservice.Info, error) bool) {
		dir, err := s.place.Open(name)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = dir.Close() }() // it was only read
		reading, is := dir.(fs.ReadDirFile)
		if !is {
			yield(nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")})
			return
		}
		for {
			entries, err := reading.ReadDir(listPage)
			for _, entry := range entries {
				info, err := entry.Info()
				if errors.Is(err, fs.ErrNotExist) {
					continue // removed since
				}
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(infoOf(info), nil) {
					return
				}
			}
			switch {
			case err == io.EOF:
				return
			case err != nil:
				yield(nil, err)
				return
			}
		}
	}
}

// placeFile is a version of a file that is open.
type placeFile struct {
	fs.File
	tree    *placeTree
	at      io.ReaderAt
	name    string
	version fileservice.Version
	sum     place.Sum
	check   *check // nil if there is no sum
}

func (s *placeTree) open(name string, version fileservice.Version) (sourceFile, error) {
	f, err := s.openFile(name, version)
	if err != nil {
		return nil, err // not a nil pointer in an interface
	}
	f.check = newCheck(f.sum, version.Size)
	return f, nil
}

func (s *placeTree) openFile(name string, version fileservice.Version) (*placeFile, error) {
	file, err := s.place.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && infoOf(info).Version() != version {
		err = &fs.PathError{Op: "read", Path: name, Err: fileservice.ErrChanged}
	}
	at, is := file.(io.ReaderAt)
	if err == nil && !is {
		err = &fs.PathError{Op: "read", Path: name, Err: fileservice.NotRegular(info.Mode())}
	}
	var sum place.Sum
	if err == nil {
		sum, err = place.SumOf(file)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &placeFile{File: file, tree: s, at: at, name: name, version: version, sum: sum}, nil
}

// align gives each worker one range of a file that is hashed as a whole, so that its turn comes soon.
func (f *placeFile) align(begin, end, most int64) int64 {
	if !f.check.isWhole() {
		return f.check.align(end)
	}
	end = min(begin-begin%f.tree.rangeBlocks+f.tree.rangeBlocks, most)
	f.check.announce(begin*fileservice.BlockSize, min(end*fileservice.BlockSize, f.version.Size))
	return end
}

// compare compares the local copy with the checksum, if there is one.
func (f *placeFile) compare(ctx context.Context, t *transfer, local io.ReaderAt) (verified bool, err error) {
	if f.check == nil {
		return false, nil
	}
	return true, t.compareFile(ctx, f.check, local, f.name)
}

func (f *placeFile) isCopy(ctx context.Context, t *transfer, local io.ReaderAt) (bool, error) {
	check := newCheck(f.sum, f.version.Size)
	if check == nil {
		return f.version.Size == 0, nil
	}
	err := t.compareFile(ctx, check, local, f.name)
	return err == nil, context.Cause(ctx)
}

func (s *placeTree) areCopies(
	ctx context.Context, dir string, files []fileservice.SmallFile, read func(i int, content []byte) error,
) ([]bool, error) {
	is := make([]bool, len(files))
	memory := bytebuf.New()
	defer memory.Free()
	buffer := memory.Extend(fileservice.SmallFileSize)
	for i := range files {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		content := buffer[:files[i].Version.Size]
		if read(i, content) != nil {
			continue // it is replaced
		}
		file, err := s.openFile(path.Join(dir, files[i].Name), files[i].Version)
		switch {
		case errors.Is(err, place.ErrUnreachable):
			return nil, err
		case err != nil:
			continue // as reading it will report
		}
		verified, err := compareContent(file.sum, content, files[i].Name)
		is[i] = (verified || len(content) == 0) && err == nil
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
	return is, nil
}

func (f *placeFile) ReadBlocks(
	ctx context.Context, first, count int64, yield func(block int64, data []byte, sum fileservice.Sum) error,
) (err error) {
	defer func() {
		if err != nil && f.check.isWhole() {
			f.check.giveUp()
		}
	}()
	if err := f.version.CheckBlocks(first, count); err != nil {
		return err
	}
	buffer := <-f.tree.buffers
	defer func() { f.tree.buffers <- buffer }()
	if buffer == nil {
		buffer = make([]byte, f.tree.rangeBlocks*fileservice.BlockSize)
	}
	for end := first + count; first < end; {
		blocks := min(end-first, f.tree.rangeBlocks-first%f.tree.rangeBlocks)
		offset := first * fileservice.BlockSize
		data := buffer[:min(blocks*fileservice.BlockSize, f.version.Size-offset)]
		if err := f.readFull(ctx, data, offset); err != nil {
			return err
		}
		if err := f.deliver(first, data, yield); err != nil {
			return err
		}
		first += blocks
	}
	return nil
}

// deliver passes the blocks of a range on, and hashes them.
func (f *placeFile) deliver(
	first int64, data []byte, yield func(block int64, data []byte, sum fileservice.Sum) error,
) error {
	offset := first * fileservice.BlockSize
	for rest := data; len(rest) > 0; first++ {
		block := rest[:min(len(rest), fileservice.BlockSize)]
		if err := yield(first, block, fileservice.SumBlock(block, first)); err != nil {
			return err
		}
		if !f.check.isWhole() {
			f.check.add(block, first*fileservice.BlockSize)
		}
		rest = rest[len(block):]
	}
	if f.check.isWhole() {
		f.check.addInTurn(data, offset)
	}
	return nil
}

// short returns the error of a read of n bytes of so many. A place whose files are shorter than it said is not sound.
func (f *placeFile) short(n, wanted int, err error) error {
	if err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	err = fmt.Errorf("%w: %d bytes of %d", fileservice.ErrIntegrity, n, wanted)
	return &fs.PathError{Op: "read", Path: f.name, Err: err}
}

// readFull fills p.
func (f *placeFile) readFull(ctx context.Context, p []byte, offset int64) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	n, err := f.at.ReadAt(p, offset)
	if n == len(p) {
		return nil
	}
	return f.short(n, len(p), err)
}

func (s *placeTree) readSmall(
	ctx context.Context, dir string, files []fileservice.SmallFile,
	yield func(i int, content []byte, sum fileservice.Sum, verified bool, err error) error,
) error {
	memory := bytebuf.New()
	defer memory.Free()
	buffer := memory.Extend(fileservice.SmallFileSize)
	for i := range files {
		content := buffer[:files[i].Version.Size]
		verified, err := s.readFile(ctx, path.Join(dir, files[i].Name), files[i].Version, content)
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if errors.Is(err, place.ErrUnreachable) {
			return err
		}
		if err := yield(i, content, fileservice.SumFile(content), verified, err); err != nil {
			return err
		}
	}
	return nil
}

func (s *placeTree) readFile(
	ctx context.Context, name string, version fileservice.Version, content []byte,
) (verified bool, err error) {
	file, err := s.openFile(name, version)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.readFull(ctx, content, 0); err != nil {
		return false, err
	}
	return compareContent(file.sum, content, name)
}
