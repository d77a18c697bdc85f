package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/receive"
	"culvert/internal/publish"
)

// Pull copies a file of the server, or a directory with all that is in it, into a tree of this machine. It reads ranges
// of blocks in parallel over the connections of the client, and small files beside each other.
//
// A file is written under the name NAME.culvert.part, and gets its name and the modification time of the source when it
// is complete, compared with its hashes, and synced. What of it is on the disk is in a journal, NAME.culvert.journal. A
// transfer that was broken off in any way leaves both, and the next one goes on where that ended, without reading again
// what is there, if the file at the source is still of the same version; else it is begun afresh. What arrives
// quickly has no journal.
//
// Symbolic links, devices and the like are skipped. Files and directories get the permissions of the source, less the
// umask; the owner has all of those of a directory. Directories get the time of the source, too, when all that is in
// them is there; only those that others own and Local if it is "." are left with theirs.
//
// Of two names that differ in case only, the second one fails with fs.ErrExist where the file system takes them for
// one. Names that differ in the form of their Unicode only are not told apart before: where a file system takes those
// for one, as on macOS, the second one fails, or with Overwrite replaces the first.
//
// Names that no path of the protocol can hold are faults, see [UnnamableError].
//
// An error of one file is a fault of that file, and the transfer goes on; the error is [ErrPartial] then, or that of
// the file if it is the only one. An error that would meet all files ends the transfer: the end of the context, a
// server that cannot be reached or is not sound, a full disk of either end. The Result is filled in as far as it went.
func Pull(ctx context.Context, client *client.Client, config Config) (Result, error) {
	if err := config.check(); err != nil {
		return Result{}, err
	}
	publisher, err := publish.NewPublisher(config.Root)
	if err != nil {
		return Result{}, err
	}
	p := &pull{newTransfer(ctx, client, config), publisher}
	p.small = p
	result, err := p.run(p.walk)
	return result, errors.Join(err, publisher.Close())
}

type pull struct {
	*transfer
	publisher *publish.Publisher
}

// walk finds what there is to pull.
func (p *pull) walk() error {
	var info fs.FileInfo
	err := p.try(func() (err error) {
		asked := time.Now()
		info, err = p.client.Stat(p.config.Remote)
		p.expect(time.Since(asked))
		return err
	})
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return p.walkTree(p, info.ModTime())
	case !info.Mode().IsRegular():
		return &fs.PathError{Op: "read", Path: p.config.Remote, Err: fileservice.NotRegular(info.Mode())}
	}
	if it := p.offer(path.Base(p.config.Remote), p.config.Remote, p.config.Local, info, false); it != nil {
		p.add(it)
	}
	return nil
}

// list reads a directory to its end, as the server does not wait while files are transferred.
func (p *pull) list(name string, part *dirPart) error {
	remote := path.Join(p.config.Remote, name)
	var unnamable error
	err := p.try(func() error {
		part.reset()
		unnamable = nil
		for info, err := range p.client.List(p.ctx, remote) {
			switch {
			case isUnnamable(err):
				unnamable = err // after all others
			case err != nil:
				return err
			default:
				part.add(info)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch {
	case unnamable == nil || part.after != "": // or told of with the first part
	case len(p.config.Include) > 0: // which they may not match
		p.skip(name, unnamable)
	default:
		p.fail(name, unnamable)
	}
	if twice, is := part.sort(); is {
		err := fmt.Errorf("%w: the name %q twice", fileservice.ErrIntegrity, twice)
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
	return err
}

func (p *pull) find(name string, entry fs.DirEntry, twin bool) *item {
	return p.offer(name, path.Join(p.config.Remote, name), path.Join(p.config.Local, name), entry.(*fileservice.Info), twin)
}

func (p *pull) dirTime(_ string, entry fs.DirEntry) time.Time {
	return entry.(*fileservice.Info).ModTime()
}

func (p *pull) setDirTime(name string, modified time.Time) error {
	root := p.config.Root
	local, err := fileservice.CheckPath(path.Join(p.config.Local, name))
	if err != nil || local == "." {
		return err
	}
	info, err := root.Lstat(local)
	if err != nil || !info.IsDir() || info.ModTime().Equal(modified) {
		return err
	}
	return root.Chtimes(local, time.Time{}, modified)
}

// offer gives what is to be transferred, or nil.
func (p *pull) offer(name, remote, local string, info fs.FileInfo, twin bool) *item {
	local, err := fileservice.CheckPath(local)
	if err != nil {
		p.failPath(name, err)
		return nil
	}
	file := &pullFile{pull: p, remote: remote, local: local, info: info, twin: twin}
	it := &item{mover: file, name: name, size: info.Size()}
	if p.config.DryRun {
		p.plan(it, file.isPresent())
		return nil
	}
	return it
}

// pullFile is a file that is pulled.
type pullFile struct {
	pull          *pull
	remote, local string
	info          fs.FileInfo
	twin          bool // another name in the directory differs only in case
	receiver      *receive.File
}

// isPresent reports whether the file is there, as far as size and time tell.
func (f *pullFile) isPresent() bool {
	info, err := f.pull.config.Root.Lstat(f.local)
	return err == nil && fileservice.IsSame(info, fileservice.VersionOf(f.info))
}

func (f *pullFile) begin(context.Context) ([]fileservice.BlockRange, error) {
	if f.twin {
		if err := f.collides(); err != nil {
			return nil, err
		}
	}
	if f.isPresent() {
		return nil, f.present()
	}
	root, version := f.pull.config.Root, fileservice.VersionOf(f.info)
	r, err := receive.Open(root, f.pull.publisher, f.local, version, f.pull.config.Overwrite)
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.pull.makeDirs(filepath.Dir(f.local)); err != nil {
			return nil, err
		}
		r, err = receive.Open(root, f.pull.publisher, f.local, version, f.pull.config.Overwrite)
	}
	if err != nil {
		return nil, err
	}
	f.receiver = r
	if r.Afresh {
		f.pull.tell(Event{Kind: FileChanged, Name: f.local, Size: version.Size, Err: fileservice.ErrChanged})
	}
	return receive.MissingRanges(r.Committed(), fileservice.Blocks(version.Size)), nil
}

// present is for a file that is there: nothing may be left of its transfer.
func (f *pullFile) present() error {
	names, err := receive.UnfinishedNames(f.local)
	if err == nil {
		err = receive.RemoveOrphans(f.pull.config.Root, f.local, names)
	}
	return cmp.Or(err, errPresent)
}

// collides finds out whether the file system takes a name for another one that is there.
func (f *pullFile) collides() error {
	root := f.pull.config.Root
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
	err = fmt.Errorf("%w: under a name that differs in case only", fs.ErrExist)
	return &fs.PathError{Op: "write", Path: f.local, Err: err}
}

func (f *pullFile) move(ctx context.Context, blocks fileservice.BlockRange, buffer []byte, moved func(int64)) error {
	yield := func(block int64, data []byte, sum fileservice.Sum) error {
		if err := f.receiver.WriteBlock(block, data, sum); err != nil {
			return err
		}
		moved(int64(len(data)))
		return nil
	}
	return f.pull.client.ReadBlocks(ctx, f.remote, fileservice.VersionOf(f.info), blocks.First, blocks.Count, buffer, yield)
}

// finish compares nothing with the server, which has given the hash with each block, and does so for the whole by the
// version, which is the same for all of them.
func (f *pullFile) finish(context.Context) (fileservice.Sum, error) {
	root := f.receiver.Sums()
	_, err := f.receiver.Finish(root, f.info.Mode().Perm())
	return root, err
}

func (f *pullFile) end(drop bool) error {
	r := f.receiver
	f.receiver = nil
	switch {
	case r == nil:
		return nil
	case drop:
		return r.Discard()
	}
	return r.Close()
}

func (f *pullFile) refresh(ctx context.Context) (int64, error) {
	info, err := f.pull.client.Stat(f.remote)
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, &fs.PathError{Op: "read", Path: f.remote, Err: fileservice.NotRegular(info.Mode())}
	}
	f.info = info
	return info.Size(), nil
}

// makeDirs makes a directory and those that it is in, and their names durable.
func (p *pull) makeDirs(dir string) error {
	root := p.config.Root
	if info, err := root.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := p.makeDirs(parent); err != nil {
			return err
		}
	}
	permissions := fs.FileMode(0o777)
	if name, below := cutDir(p.config.Local, filepath.ToSlash(dir)); below {
		info, err := p.client.Stat(path.Join(p.config.Remote, name))
		if err != nil {
			return err
		}
		permissions = info.Mode()
	}
	err := root.Mkdir(dir, osfile.DirPermissions(permissions))
	if errors.Is(err, fs.ErrExist) {
		if info, err := root.Stat(dir); err == nil && info.IsDir() {
			return nil // another file has needed it, too
		}
		return &fs.PathError{Op: "mkdir", Path: dir, Err: fmt.Errorf("%w: it is not a directory", fs.ErrExist)}
	}
	if err != nil {
		return err
	}
	return publish.SyncDir(root, parent)
}

// makeDirsIn makes the directories among the entries of one. What cannot be made shows when it is listed.
func (p *pull) makeDirsIn(name, local string, entries []fs.DirEntry) error {
	made := false
	for _, entry := range entries {
		if !entry.IsDir() || fileservice.IsReserved(entry.Name()) || p.config.excludes(path.Join(name, entry.Name())) {
			continue
		}
		err := p.config.Root.Mkdir(filepath.Join(local, entry.Name()), osfile.DirPermissions(entry.(*fileservice.Info).Mode()))
		made = made || err == nil
	}
	if !made {
		return nil
	}
	return publish.SyncDir(p.config.Root, local)
}

// cutDir gives what a path has below a directory.
func cutDir(dir, name string) (below string, is bool) {
	switch dir {
	case ".":
		return name, true
	case name:
		return ".", true
	}
	return strings.CutPrefix(name, dir+"/")
}

func isUnnamable(err error) bool {
	_, is := errors.AsType[*fileservice.UnnamableError](err)
	return is
}
