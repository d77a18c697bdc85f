package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/osfile"
	"culvert/place"
)

// Push copies a file of this machine, or a directory with everything in it, to a writable server. It is the reverse of
// [Pull]: the server keeps the unfinished file and its journal. Push does not send blocks again that the server has
// from an earlier transfer, but reads them for the sum of the whole file.
//
// A file that others make at the server during the push, with the same size and time, is compared by its sum also
// without Overwrite: two clients that push different files to one name do not both succeed.
func Push(ctx context.Context, client *client.Client, config Config) (Result, error) {
	if err := config.check(); err != nil {
		return Result{}, err
	}
	p := &serverPush{push: push{transfer: newTransfer(ctx, config)}}
	p.client = p.use(client)
	p.written = newFileSystems(p.client.Stat, config.Remote)
	p.to, p.small, p.isSame, p.lookup = p.client, p, fileservice.IsSame, p.lookUp
	p.newMover = func(f *pushFile) mover { return &serverFile{pushFile: f, client: p.client} }
	return p.run(p.walk)
}

// push is a Push or a PushPlace in progress.
type push struct {
	*transfer
	to       destination
	newMover func(*pushFile) mover
	whole    bool // each file is moved by one worker

	// filesOnly means that directories exist at the other end only as parts of the names of files.
	filesOnly bool

	copyDir copyDir

	// isSame reports whether a file at the other end, as it is listed, may be a copy. lookup asks the other end, and
	// returns errPresent if it has the file, whose content is local; see Config.Overwrite.
	isSame func(there fs.FileInfo, version fileservice.Version) bool
	lookup func(ctx context.Context, f *pushFile, local io.ReaderAt, version fileservice.Version) error
}

// destination is where a push looks and makes directories: a client, or a place.
type destination interface {
	Stat(name string) (fs.FileInfo, error) // an *fileservice.Info
	List(ctx context.Context, name string) iter.Seq2[*fileservice.Info, error]
	MkdirIfMissing(name string, permissions fs.FileMode) error
	Chtimes(name string, accessed, modified time.Time) error
}

// serverPush is a Push.
type serverPush struct {
	push
	client *client.Client
}

// walk finds the files to push.
func (p *push) walk() error {
	local, err := fileservice.CheckPath(p.config.Local)
	if err != nil {
		return err
	}
	info, err := p.config.Root.Lstat(local)
	switch {
	case err != nil:
		return reading(err)
	case info.IsDir():
		return p.walkTree(p, info.ModTime())
	case !info.Mode().IsRegular():
		return &fs.PathError{Op: "read", Path: local, Err: fileservice.NotRegular(info.Mode())}
	}
	var there *fileservice.Info
	err = p.try(func() error {
		info, err := p.to.Stat(p.config.Remote)
		if err == nil {
			there = info.(*fileservice.Info)
		}
		return err
	})
	if errors.Is(err, place.ErrUnreachable) || errors.Is(err, place.ErrIntegrity) {
		return writing(err)
	}
	if it := p.offer(path.Base(p.config.Local), local, p.config.Remote, info, there, false, there != nil); it != nil {
		p.add(it)
	}
	return nil
}

var errNoFiles = errors.New("it is an empty directory, and only files are kept there")

// pageLength is the number of directory entries read at a time.
const pageLength = 256

func (p *push) list(name string, part *dirPart) error {
	local, err := fileservice.CheckPath(path.Join(p.config.Local, name))
	if err != nil {
		return err
	}
	dir, err := p.config.Root.Open(local)
	if err != nil {
		return reading(err)
	}
	part.weight = 2 // for the server's entries
	for err == nil {
		var entries []fs.DirEntry
		entries, err = dir.ReadDir(pageLength)
		for _, entry := range entries {
			part.add(entry)
		}
	}
	if err == io.EOF {
		err = nil
	}
	if err := errors.Join(err, dir.Close()); err != nil {
		return reading(err)
	}
	part.sort()
	if p.filesOnly && len(part.entries) == 0 && part.after == "" && len(p.config.Include) == 0 {
		p.skip(name, errNoFiles)
	}
	remote := path.Join(p.config.Remote, name)
	if len(p.config.Include) == 0 && !p.config.DryRun {
		if err := p.try(func() error { return p.makeDirs(remote) }); err != nil {
			return writing(err)
		}
	}
	return writing(p.listRemote(remote, part.entries))
}

func (p *push) find(name string, entry fs.DirEntry, _ bool) *item {
	local, err := fileservice.CheckPath(path.Join(p.config.Local, name))
	if err != nil {
		p.failPath(name, err)
		return nil
	}
	info, err := entry.Info()
	if err != nil {
		p.fail(name, reading(err))
		return nil
	}
	if p.config.Withhold != nil {
		if err := p.config.Withhold(info); err != nil {
			p.skip(name, err)
			return nil
		}
	}
	both, known := entry.(*pushEntry)
	if !known {
		both = &pushEntry{}
	}
	return p.offer(name, local, path.Join(p.config.Remote, name), info, both.remote, known, both.left)
}

func (p *push) dirTime(name string, _ fs.DirEntry) time.Time {
	info, err := p.config.Root.Lstat(path.Join(p.config.Local, name))
	if err != nil {
		return time.Time{} // listing it will report the error
	}
	return info.ModTime()
}

func (p *push) setDirTime(name string, modified time.Time) error {
	remote := path.Join(p.config.Remote, name)
	if remote == "." {
		return nil
	}
	return writing(p.to.Chtimes(remote, time.Time{}, modified))
}

// offer returns an item, or nil if there is nothing to transfer. there is the server's entry of that name, or nil. If
// known is false, nil may also mean that the server was not asked. left says that the server may have something left of
// an earlier push of the file.
func (p *push) offer(
	name, local, remote string, info fs.FileInfo, there *fileservice.Info, known, left bool,
) *item {
	if _, err := fileservice.CheckPath(remote); err != nil {
		p.failPath(name, err)
		return nil
	}
	file := &pushFile{push: p, local: local, remote: remote, found: info, left: left}
	if file.there = there != nil && p.isSame(there, fileservice.VersionOf(info)); file.there {
		file.seen = there.Version()
	}
	it := &item{mover: p.newMover(file), name: name, size: info.Size(), whole: p.whole}
	switch {
	case !p.config.DryRun:
		return it
	case known && !file.there:
		p.plan(it, false)
		return nil
	}
	err := p.try(func() (err error) {
		if err = file.open(); err == nil {
			err = writing(p.lookup(p.ctx, file, file.file, file.version))
		}
		return cmp.Or(err, file.end(nil))
	})
	if err != nil && err != errPresent {
		p.fail(name, err)
		return nil
	}
	p.plan(it, err == errPresent)
	return nil
}

// pushFile is a file to push.
type pushFile struct {
	push          *push
	local, remote string
	found         fs.FileInfo // as found by the walk, or by refresh
	there         bool        // the server was seen to have the file, in the version seen
	seen          fileservice.Version
	left          bool // the server may have something left of an earlier push of it
	file          *os.File
	version       fileservice.Version
}

// open opens the file that the walk found. Anything else that has taken its place, such as a link to another file, is
// an error.
func (f *pushFile) open() error { return reading(f.openFound()) }

func (f *pushFile) openFound() error {
	file, err := f.push.config.Root.OpenFile(f.local, os.O_RDONLY|osfile.NoWait, 0)
	if err != nil {
		return err
	}
	f.file = file
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "read", Path: f.local, Err: fileservice.NotRegular(info.Mode())}
	}
	if info.Size() != f.found.Size() || !os.SameFile(info, f.found) {
		return &fs.PathError{Op: "read", Path: f.local, Err: fileservice.ErrChanged}
	}
	f.version = fileservice.VersionOf(info)
	return nil
}

// unlessPresent returns errPresent instead of err if the server has the file after all: another client was faster, or
// an answer was lost.
func (f *pushFile) unlessPresent(
	ctx context.Context, local io.ReaderAt, version fileservice.Version, err error,
) error {
	err = writing(err)
	if mayBePresent(err) {
		return cmp.Or(writing(f.push.lookup(ctx, f, local, version)), err)
	}
	return err
}

func mayBePresent(err error) bool {
	return errors.Is(err, fs.ErrExist) || errors.Is(err, fileservice.ErrRefused) && !isFatal(err)
}

// stat returns the attributes of the open file, or ErrChanged.
func (f *pushFile) stat() (fs.FileInfo, error) {
	info, err := f.file.Stat()
	if err == nil && fileservice.VersionOf(info) != f.version {
		err = &fs.PathError{Op: "read", Path: f.local, Err: fileservice.ErrChanged}
	}
	return info, reading(err)
}

func (f *pushFile) end(error) error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return reading(err)
}

func (f *pushFile) refresh(context.Context) (int64, error) {
	info, err := f.push.config.Root.Lstat(f.local)
	if err != nil {
		return 0, reading(err)
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s: %w", f.local, fileservice.NotRegular(info.Mode()))
	}
	f.found, f.there = info, false
	return info.Size(), nil
}
