package transfer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"time"

	"culvert/fileservice"
	"culvert/place"
)

// Push copies a file of this machine, or a directory with everything in it, to a place. It is the reverse of [Pull].
//
// A [Server] keeps an unfinished file and its journal. Push does not send blocks again that the server has from an
// earlier transfer, but reads them for the sum of the whole file. A file that others make at the server during the
// push, with the same size and time, is compared by its sum also without Overwrite: two clients that push different
// files to one name do not both succeed.
//
// In any other place, each file appears when it is complete. It counts as verified if the place says so; see
// [place.IsVerified]. It is read and written from its beginning to its end, [Config.Parallel] large files at once, and
// is not resumed: a run after an interruption begins with the files that are not complete. A file counts as present if
// the place has one of the same size, and
//
//   - if the place keeps a checksum of it (see [place.SumOf]), the local file has that checksum, for which it is read,
//   - otherwise, if the place keeps the time of the source (see [place.SetSourceTime]), that is the same,
//   - otherwise, the file of the place is not older.
//
// With Overwrite, only a checksum is proof enough: all other files are sent. The place keeps files, with their paths,
// but not the permissions of a file, nor a directory without files: that is skipped.
func Push(ctx context.Context, to place.Place, config Config) (Result, error) {
	if err := config.check(); err != nil {
		return Result{}, err
	}
	p := &push{transfer: newTransfer(ctx, config)}
	p.to, p.small = p.use(to, writing, min(cmp.Or(config.Parallel, writesAtOnce), mostWritesAtOnce)), p
	if p.to.server != nil {
		p.written = newFileSystems(p.to.server.Stat, config.Remote)
	}
	return p.run(p.walk)
}

// The number of large files written at once to a place that is no server, by default and at most. A bucket keeps a part
// of each in memory, besides those that it sends.
const (
	writesAtOnce     = 3
	mostWritesAtOnce = batchesAtOnce
)

// push is a Push in progress.
type push struct {
	*transfer
	to      *otherEnd
	copyDir copyDir
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
	err = p.try(func() (err error) {
		there, err = p.to.stat(p.config.Remote)
		return err
	})
	if errors.Is(err, place.ErrUnreachable) || errors.Is(err, place.ErrIntegrity) {
		return writing(err)
	}
	seen := there != nil
	if it := p.offer(path.Base(p.config.Local), local, p.config.Remote, info, there, seen, seen); it != nil {
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
	if p.to.server == nil && len(part.entries) == 0 && part.after == "" && len(p.config.Include) == 0 {
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
	if remote == "." || p.to.server == nil { // the time of a directory of a place is none of its source
		return nil
	}
	return writing(p.dirTimeSet(modified, p.to.server.Chtimes(remote, time.Time{}, modified)))
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
	if there != nil && p.to.mayBeCopy(there, fileservice.VersionOf(info)) {
		file.there = there
	}
	file.unsure = file.there != nil || !known
	return p.plan(&item{mover: file, name: name, size: info.Size(), whole: p.to.server == nil})
}
