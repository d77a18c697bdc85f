package transfer

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"iter"
	"path"
	"sync"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/place"
)

// otherEnd is the end of a transfer that is not on this machine.
type otherEnd struct {
	place.Place
	server Server            // nil if the place is none
	blame  func(error) error // reading or writing
	ranges ranges            // of a pull from a place that is no server
}

// use makes a place the other end. Unless it is a server, so many workers move blocks.
func (t *transfer) use(p place.Place, blame func(error) error, workers int) *otherEnd {
	o := &otherEnd{Place: place.WithContext(t.ctx, p), blame: blame}
	server, is := o.Place.(Server)
	if !is {
		t.connect, t.most = func() {}, func() int { return workers }
		return o
	}
	o.server, t.most = server, server.MostLarge
	t.connect = sync.OnceFunc(func() {
		server.Connect()
		t.check.Go(func() { t.checkServer(server) })
	})
	return o
}

func (o *otherEnd) stat(name string) (*fileservice.Info, error) {
	info, err := fs.Stat(o.Place, name)
	if err != nil {
		return nil, err
	}
	return infoOf(info), nil
}

// infoOf returns a description in the form of a server's.
func infoOf(info fs.FileInfo) *fileservice.Info {
	if there, is := info.(*fileservice.Info); is {
		return there
	}
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

// listPage is how many entries of a directory are read at once.
const listPage = 1000

// list returns the entries of a directory in any order. After an error it ends.
func (o *otherEnd) list(ctx context.Context, name string) iter.Seq2[*fileservice.Info, error] {
	if o.server != nil {
		return o.server.List(ctx, name)
	}
	return func(yield func(*fileservice.Info, error) bool) {
		dir, err := o.Open(name)
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
				switch {
				case errors.Is(err, fs.ErrNotExist): // removed since
				case err != nil:
					yield(nil, err)
					return
				case !yield(infoOf(info), nil):
					return
				}
			}
			if err != nil {
				if err != io.EOF {
					yield(nil, err)
				}
				return
			}
		}
	}
}

// readSmall is ReadFiles of a server. It says of each file whether it was compared with a checksum.
func (o *otherEnd) readSmall(
	ctx context.Context, dir string, files []fileservice.SmallFile,
	yield func(i int, content []byte, sum fileservice.Sum, verified bool, err error) error,
) error {
	if o.server != nil {
		return o.server.ReadFiles(ctx, dir, files, func(i int, content []byte, sum fileservice.Sum, err error) error {
			return yield(i, content, sum, true, err)
		})
	}
	memory := bytebuf.New()
	defer memory.Free()
	buffer := memory.Extend(fileservice.SmallFileSize)
	for i := range files {
		content := buffer[:files[i].Version.Size]
		verified, err := o.readFile(ctx, path.Join(dir, files[i].Name), files[i].Version, content)
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

func (o *otherEnd) readFile(
	ctx context.Context, name string, version fileservice.Version, content []byte,
) (verified bool, err error) {
	file, err := o.openFile(name, version)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.readFull(ctx, content, 0); err != nil {
		return false, err
	}
	return compareContent(file.kept.sum, content, name)
}

// writeSmall is WriteFiles of a server. It calls done for each file in order, and says whether the file was compared
// with a checksum.
func (o *otherEnd) writeSmall(
	ctx context.Context, dir string, files []fileservice.SmallFile, overwrite bool,
	read func(i int, content []byte) error, done func(i int, verified bool, err error),
) error {
	if o.server != nil {
		errs, err := o.server.WriteFiles(ctx, dir, files, overwrite, read)
		for i, err := range errs {
			done(i, true, err)
		}
		return err
	}
	memory := bytebuf.New()
	defer memory.Free()
	buffer := memory.Extend(fileservice.SmallFileSize)
	for i := range files {
		content := buffer[:files[i].Version.Size]
		verified, err := false, read(i, content)
		if err == nil {
			verified, err = o.writeFile(ctx, path.Join(dir, files[i].Name), files[i].Version, content, overwrite)
		}
		if errors.Is(err, place.ErrUnreachable) {
			return err // each of the others would wait as long
		}
		done(i, verified, err)
	}
	return nil
}

func (o *otherEnd) writeFile(
	ctx context.Context, name string, version fileservice.Version, content []byte, overwrite bool,
) (verified bool, err error) {
	written, err := o.create(ctx, name, version, overwrite)
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

// create begins a file of a place that is no server.
func (o *otherEnd) create(
	ctx context.Context, name string, version fileservice.Version, overwrite bool,
) (written place.File, err error) {
	create := o.Create
	if overwrite {
		create = o.Replace
	}
	if written, err = create(ctx, name); err == nil {
		place.SetSourceTime(written, version.ModTime())
	}
	return written, err
}
