package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/receive"
	"culvert/internal/publish"
	"culvert/place"
)

// Pull copies a file of a place, or a directory with everything in it, into a tree of this machine. It reads ranges of
// blocks in parallel: from a [Server] over its connections, as it reads small files, and from any other place
// [Config.Parallel] at once. Such a range has 8 MiB; if there are more than 10, 4, 2 or 1, so that all take at most 80
// MiB of memory. What else is read at the same time takes 5 MiB.
//
// Pull writes a file as NAME.culvert.part. When it is complete, verified and synced, it gets its name and the
// modification time of the source. The journal NAME.culvert.journal lists the blocks on the disk. An interrupted
// transfer leaves both, and the next one continues from there, unless the source has another version; then it starts
// over. Files that arrive quickly have no journal. If a place has no versions, files of the same size and time count as
// equal.
//
// A Server sends the sum of each block. Of other places, a file of which the place keeps a checksum (see
// [place.SumOf]) is compared with it before it gets its name, all of it, also if it was resumed. If it differs, it is
// removed, and the error wraps [place.ErrIntegrity]; other files are still transferred. The checksum is computed while
// the file arrives. Only if it was resumed, blocks that were there are read again, or all if the checksum is neither a
// CRC nor one of parts.
//
// If Local is a directory that Pull makes, and [Config.Origin] is set, Local/.culvert.journal has the origin until all
// files have arrived.
//
// Pull skips symbolic links, devices and other special files. Files and directories get the permissions of the source,
// less the umask; the owner has all permissions of a directory. Directories get the time of the source when everything
// in them is complete, except those that other users own, and Local if it is ".".
//
// If two names differ only in case and the file system considers them equal, the second fails with fs.ErrExist. Names
// that differ only in Unicode normalization are not detected: if the file system considers them equal, as on macOS, the
// second fails, or with Overwrite replaces the first.
//
// Names that no path of the place can hold are faults; see [place.UnnamableError].
//
// An error of one file is a fault of that file, and the transfer goes on. Pull then returns [ErrPartial], or the error
// of the file if it is the only one. So is a file or a directory that the disk of the source cannot read. Errors that
// would stop every file end the transfer: the end of ctx, an unreachable or corrupt server, a full or broken disk of
// the copy. If a part of Local is on another file system, and only that is full or broken, the files there fail, and
// the others arrive. [EndError] says at which end an error arose. The Result is always filled in as far as the transfer
// went.
func Pull(ctx context.Context, from place.Place, config Config) (Result, error) {
	if err := config.check(); err != nil {
		return Result{}, err
	}
	publisher, err := publish.NewPublisher(config.Root)
	if err != nil {
		return Result{}, err
	}
	p := &pull{transfer: newTransfer(ctx, config), publisher: publisher}
	p.written = newFileSystems(config.Root.Stat, config.Local)
	atOnce := min(cmp.Or(config.Parallel, rangesAtOnce), rangeMemory/fileservice.BlockSize)
	p.from, p.small = p.use(from, reading, atOnce), p
	p.from.ranges = newRanges(atOnce)
	result, err := p.run(p.walk)
	if err == nil && p.tree != nil && config.Origin != "" && !config.DryRun {
		err = receive.CompleteDir(config.Root, config.Local, config.Origin)
	}
	return result, errors.Join(err, publisher.Close())
}

type pull struct {
	*transfer
	from      *otherEnd
	publisher *publish.Publisher
	making    sync.Mutex // Local
}

// walk finds the files to pull.
func (p *pull) walk() error {
	var info *fileservice.Info
	err := p.try(func() (err error) {
		asked := time.Now()
		info, err = p.from.stat(p.config.Remote)
		p.expect(time.Since(asked))
		return err
	})
	switch {
	case err != nil:
		return reading(err)
	case info.IsDir():
		return p.walkTree(p, knownTime(info))
	case !info.Mode().IsRegular():
		return &fs.PathError{Op: "read", Path: p.config.Remote, Err: fileservice.NotRegular(info.Mode())}
	}
	if it := p.offer(path.Base(p.config.Remote), p.config.Remote, p.config.Local, info, false); it != nil {
		p.add(it)
	}
	return nil
}

// list reads the whole directory first, because the server does not wait while files are transferred.
func (p *pull) list(name string, part *dirPart) error {
	remote := path.Join(p.config.Remote, name)
	var unnamable error
	err := p.try(func() error {
		part.reset()
		unnamable = nil
		for info, err := range p.from.list(p.ctx, remote) {
			switch {
			case isUnnamable(err):
				unnamable = err // follows all entries
			case err != nil:
				return err
			default:
				part.add(info)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return reading(err)
	case unnamable == nil || part.after != "": // or reported with the first part
	case len(p.config.Include) > 0: // they may not match it
		p.skip(name, unnamable)
	default:
		p.fail(name, unnamable)
	}
	if twice, is := part.sort(); is {
		err := fmt.Errorf("%w: duplicate name %q", fileservice.ErrIntegrity, twice)
		return &fs.PathError{Op: "readdir", Path: remote, Err: err}
	}
	if len(p.config.Include) > 0 || p.config.DryRun {
		return nil
	}
	local, err := fileservice.CheckPath(path.Join(p.config.Local, name))
	if err == nil {
		err = p.try(func() error { return p.makeDirs(local) })
	}
	if err == nil {
		err = p.makeDirsIn(name, local, part.entries)
	}
	return writing(err)
}

func (p *pull) find(name string, entry fs.DirEntry, twin bool) *item {
	remote, local := path.Join(p.config.Remote, name), path.Join(p.config.Local, name)
	return p.offer(name, remote, local, entry.(*fileservice.Info), twin)
}

func (p *pull) dirTime(_ string, entry fs.DirEntry) time.Time {
	return knownTime(entry.(*fileservice.Info))
}

// knownTime returns the modification time, or zero if the source has none.
func knownTime(info *fileservice.Info) time.Time {
	if info.Version().ModifiedUnixNano == 0 {
		return time.Time{}
	}
	return info.ModTime()
}

func (p *pull) setDirTime(name string, modified time.Time) error {
	root := p.config.Root
	local, err := fileservice.CheckPath(path.Join(p.config.Local, name))
	if err != nil || local == "." {
		return err
	}
	info, err := root.Lstat(local)
	if err != nil || !info.IsDir() || info.ModTime().Equal(modified) {
		return writing(err)
	}
	return writing(p.dirTimeSet(modified, root.Chtimes(local, time.Time{}, modified)))
}

// offer returns an item, or nil if there is nothing to transfer.
func (p *pull) offer(name, remote, local string, info fs.FileInfo, twin bool) *item {
	local, err := fileservice.CheckPath(local)
	if err != nil {
		p.failPath(name, err)
		return nil
	}
	file := &pullFile{pull: p, remote: remote, local: local, info: info, twin: twin}
	return p.plan(&item{mover: file, name: name, size: info.Size()})
}

// pullFile is a file to pull.
type pullFile struct {
	pull          *pull
	remote, local string
	info          fs.FileInfo
	twin          bool // another name in the directory differs only in case
	receiver      *receive.File
	earlier       *receive.File // of an attempt before, which is closed
	file          *sourceFile
}

// isPresent reports whether the file exists as Config.Overwrite says.
func (f *pullFile) isPresent(ctx context.Context) (is bool, err error) {
	info, err := f.pull.config.Root.Lstat(f.local)
	isSame := err == nil && fileservice.IsSame(info, fileservice.VersionOf(f.info))
	if !isSame || !f.pull.config.Overwrite {
		return isSame, nil
	}
	return f.isCopy(ctx)
}

// isCopy reports whether the bytes of the file that exists are those of the source.
func (f *pullFile) isCopy(ctx context.Context) (is bool, err error) {
	local, err := f.pull.config.Root.OpenFile(f.local, os.O_RDONLY|osfile.NoWait, 0)
	if err != nil {
		return false, nil //nolint:nilerr // it is replaced
	}
	defer func() { err = errors.Join(err, writing(local.Close())) }()
	version := fileservice.VersionOf(f.info)
	is, err = f.pull.isCopyOf(ctx, f.pull.from, f.remote, version, version, local, f.local)
	if _, there := errors.AsType[*EndError](err); !there {
		err = context.Cause(ctx) // what cannot be read here is replaced
	}
	return is, err
}

func (f *pullFile) begin(ctx context.Context) ([]fileservice.BlockRange, error) {
	if err := f.collides(); err != nil {
		return nil, writing(err)
	}
	switch is, err := f.isPresent(ctx); {
	case err != nil:
		return nil, reading(err)
	case is:
		return nil, writing(f.present())
	}
	if err := f.pull.written.failure(path.Dir(filepath.ToSlash(f.local))); err != nil {
		return nil, err
	}
	root, version := f.pull.config.Root, fileservice.VersionOf(f.info)
	file, err := f.pull.from.open(f.remote, version)
	if err != nil {
		return nil, reading(err)
	}
	f.file = file
	err = inDir(filepath.Dir(f.local), f.pull.makeDirs, func() (err error) {
		f.receiver, err = receive.Open(root, f.pull.publisher, f.local, version, f.pull.config.Overwrite)
		return err
	})
	if err == nil {
		err = f.confirm(ctx)
	}
	if err != nil {
		return nil, f.unlessPresent(ctx, err)
	}
	r := f.receiver
	if r.Afresh {
		f.pull.report(Event{Kind: FileChanged, Name: f.local, Size: version.Size, Err: fileservice.ErrChanged})
	}
	return receive.MissingRanges(r.Committed(), fileservice.Blocks(version.Size)), nil
}

// unlessPresent returns errPresent instead of err if the file exists after all: another transfer was faster.
func (f *pullFile) unlessPresent(ctx context.Context, err error) error {
	if !errors.Is(err, fs.ErrExist) {
		return writing(err)
	}
	is, failure := f.isPresent(ctx)
	if is && failure == nil {
		is, failure = f.isCopy(ctx)
	}
	switch {
	case failure != nil:
		return reading(failure)
	case is:
		err = f.present()
	}
	return writing(err)
}

// confirm reads what an earlier process has left of the file.
func (f *pullFile) confirm(ctx context.Context) error {
	if f.earlier != nil {
		f.receiver.Recall(f.earlier)
		f.earlier = nil
	}
	if !f.receiver.IsUnread() {
		return nil
	}
	return f.pull.reread(ctx, func(buffer []byte) error { return f.receiver.Confirm(ctx, buffer) })
}

// present removes what an earlier transfer left of a file that is present, and returns errPresent.
func (f *pullFile) present() error {
	return cmp.Or(receive.RemoveLeft(f.pull.config.Root, f.local), errPresent)
}

// collides returns an error if the file exists under a name that differs only in case.
func (f *pullFile) collides() error {
	root := f.pull.config.Root
	if !f.twin {
		return nil
	}
	if _, err := root.Lstat(f.local); err != nil {
		return nil
	}
	names, err := publish.List(root, filepath.Dir(f.local))
	if err != nil {
		return err
	}
	if slices.Contains(names, filepath.Base(f.local)) {
		return nil
	}
	err = fmt.Errorf("%w: its name differs only in case", fs.ErrExist)
	return &fs.PathError{Op: "write", Path: f.local, Err: err}
}

func (f *pullFile) move(ctx context.Context, blocks fileservice.BlockRange, moved func(int64)) error {
	err := f.file.readBlocks(ctx, blocks.First, blocks.Count,
		func(block int64, data []byte, sum fileservice.Sum) error {
			err := f.receiver.WriteBlock(block, data, sum)
			if err == nil {
				moved(int64(len(data)))
			}
			return writing(err)
		})
	return reading(err)
}

func (f *pullFile) align(begin, end, most int64) int64 { return f.file.align(begin, end, most) }

func (f *pullFile) finish(ctx context.Context) (done outcome, err error) {
	if done.verified, err = f.file.compare(ctx, f.pull.transfer, f.receiver); err != nil {
		return done, writing(err)
	}
	done.hash, err = f.pull.hash(ctx, f.receiver, f.local, f.info.Size())
	if err == nil {
		_, err = f.receiver.Finish(f.receiver.Sum(), f.info.Mode().Perm())
	}
	return done, writing(err)
}

func (f *pullFile) end(cause error) (err error) {
	file, r := f.file, f.receiver
	f.file, f.receiver = nil, nil
	if file != nil {
		err = reading(file.Close())
	}
	switch {
	case r == nil:
		return err
	case isUseless(cause):
		return errors.Join(err, writing(r.Discard()))
	}
	f.earlier = r
	return errors.Join(err, writing(r.Close()))
}

func (f *pullFile) refresh(ctx context.Context) (int64, error) {
	info, err := f.pull.from.stat(f.remote)
	if err != nil {
		return 0, reading(err)
	}
	if !info.Mode().IsRegular() {
		return 0, &fs.PathError{Op: "read", Path: f.remote, Err: fileservice.NotRegular(info.Mode())}
	}
	f.info = info
	return info.Size(), nil
}

func isUnnamable(err error) bool {
	_, is := errors.AsType[*fileservice.UnnamableError](err)
	return is
}
