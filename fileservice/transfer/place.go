package transfer

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"iter"
	"path"
	"sync"
	"time"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/place"
)

// PullPlace is [Pull] from a place, such as a bucket. Remote is a name in the place. It reads large files in ranges of
// up to 4 MiB, up to 4 of them at once.
//
// If the place has versions, a file that changes is transferred afresh, as by Pull. Otherwise files of the same size
// and time count as equal. Nothing but the place itself protects the data on its way: encrypted files are verified when
// they are decrypted.
func PullPlace(ctx context.Context, from place.Place, config Config) (Result, error) {
	return run(ctx, config, func(t *transfer) source {
		t.connect, t.most = func() {}, func() int { return rangesAtOnce }
		return &placeTree{place.WithContext(t.ctx, from)}
	})
}

const (
	rangesAtOnce = 4
	rangeBlocks  = 4 // of one read from a place
)

// placeTree gives a place the form of a server.
type placeTree struct{ place place.Place }

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

// open opens a version of a file.
func (s *placeTree) open(name string, version fileservice.Version) (io.ReaderAt, func() error, error) {
	file, err := s.place.Open(name)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && infoOf(info).Version() != version {
		err = &fs.PathError{Op: "read", Path: name, Err: fileservice.ErrChanged}
	}
	at, is := file.(io.ReaderAt)
	if err == nil && !is {
		err = &fs.PathError{Op: "read", Path: name, Err: fileservice.NotRegular(info.Mode())}
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return at, file.Close, nil
}

func (s *placeTree) ReadBlocks(
	ctx context.Context, name string, version fileservice.Version, first, count int64,
	yield func(block int64, data []byte, sum fileservice.Sum) error,
) (err error) {
	if err := version.CheckBlocks(first, count); err != nil {
		return err
	}
	file, closeFile, err := s.open(name, version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeFile()) }()
	buffer := rangeBuffers.Get().(*[]byte)
	defer rangeBuffers.Put(buffer)
	for end := first + count; first < end; {
		blocks := min(end-first, rangeBlocks)
		offset := first * fileservice.BlockSize
		data := (*buffer)[:min(blocks*fileservice.BlockSize, version.Size-offset)]
		if err := readFull(ctx, file, name, data, offset); err != nil {
			return err
		}
		for ; len(data) > 0; first++ {
			block := data[:min(len(data), fileservice.BlockSize)]
			if err := yield(first, block, fileservice.SumBlock(block, first)); err != nil {
				return err
			}
			data = data[len(block):]
		}
	}
	return nil
}

// rangeBuffers are for ReadBlocks: more bytes than package bytebuf has in a piece.
var rangeBuffers = sync.Pool{New: func() any {
	buffer := make([]byte, rangeBlocks*fileservice.BlockSize)
	return &buffer
}}

// readFull fills p. A place whose files are shorter than it said is not sound.
func readFull(ctx context.Context, file io.ReaderAt, name string, p []byte, offset int64) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	n, err := file.ReadAt(p, offset)
	switch {
	case n == len(p):
		return nil
	case err == io.EOF:
		err = fmt.Errorf("%w: %d bytes of %d", fileservice.ErrIntegrity, n, len(p))
		return &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return err
}

func (s *placeTree) ReadFiles(
	ctx context.Context, dir string, files []fileservice.SmallFile,
	yield func(i int, content []byte, sum fileservice.Sum, err error) error,
) error {
	memory := bytebuf.New()
	defer memory.Free()
	buffer := memory.Extend(fileservice.SmallFileSize)
	for i := range files {
		content := buffer[:files[i].Version.Size]
		err := s.readFile(ctx, path.Join(dir, files[i].Name), files[i].Version, content)
		if errors.Is(err, place.ErrUnreachable) || ctx.Err() != nil {
			return err
		}
		if err := yield(i, content, fileservice.SumFile(content), err); err != nil {
			return err
		}
	}
	return nil
}

func (s *placeTree) readFile(
	ctx context.Context, name string, version fileservice.Version, content []byte,
) (err error) {
	file, closeFile, err := s.open(name, version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeFile()) }()
	return readFull(ctx, file, name, content, 0)
}
