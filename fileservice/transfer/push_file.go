package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/receive"
	"culvert/place"
)

// pushFile is a file to push. A server gets its blocks, in any order, and any other place the whole file.
type pushFile struct {
	push          *push
	local, remote string
	found         fs.FileInfo       // as found by the walk, or by refresh
	there         *fileservice.Info // what the other end was seen to have, if it may be a copy
	unsure        bool              // the other end may have the file: seen there, not asked, or an attempt has failed
	left          bool              // the server may have something left of an earlier push of it
	file          *os.File
	version       fileservice.Version

	begun bool // the server has an upload open
	mu    sync.Mutex
	sums  receive.Table // of blocks that were sent to it

	written place.File // at a place that is no server
	outcome outcome
}

func (f *pushFile) begin(ctx context.Context) (missing []fileservice.BlockRange, err error) {
	p := f.push
	if f.there != nil && p.to.server != nil && !p.config.Overwrite {
		return nil, errPresent
	}
	if err := f.open(); err != nil {
		return nil, err
	}
	if err := p.written.failure(path.Dir(f.remote)); err != nil {
		return nil, err
	}
	looksUp := f.unsure && (p.to.server == nil || p.config.Overwrite)
	if looksUp {
		if err := f.lookUp(ctx); err != nil {
			return nil, err
		}
	}
	all := fileservice.BlockRange{Count: fileservice.Blocks(f.version.Size)}
	if p.to.server == nil {
		written, err := p.to.create(ctx, f.remote, f.version, p.config.Overwrite)
		switch {
		case err != nil && looksUp:
			return nil, writing(err)
		case err != nil:
			return nil, f.unlessPresent(ctx, err)
		}
		f.written = written
		return []fileservice.BlockRange{all}, nil
	}
	f.sums = receive.Table{}
	var committed []fileservice.BlockRange
	err = inDir(path.Dir(f.remote), p.makeDirs, func() (err error) {
		committed, err = p.to.server.QueryWrite(ctx, f.remote, f.version, p.config.Overwrite)
		return err
	})
	f.begun = err == nil
	return receive.MissingRanges(committed, all.Count), f.unlessPresent(ctx, err)
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

func (f *pushFile) seen() fileservice.Version { return f.there.Version() }

// lookUp returns errPresent if the other end has a copy of the open file; see Config.Overwrite. Without Overwrite, a
// dry run looks at no sum of a server, as for files that were listed.
func (f *pushFile) lookUp(ctx context.Context) error {
	p := f.push
	info, err := p.to.stat(f.remote)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil || !p.to.mayBeCopy(info, f.version):
		return writing(err)
	case p.to.server != nil && p.config.DryRun && !p.config.Overwrite:
		return errPresent
	}
	is, err := p.isCopyOf(ctx, p.to, f.remote, info.Version(), f.version, f.file, f.local)
	if is {
		return errPresent
	}
	return reading(err)
}

func (f *pushFile) isPresent(ctx context.Context) (bool, error) {
	if !f.unsure {
		return false, nil
	}
	err := f.open()
	if err == nil {
		err = f.lookUp(ctx)
	}
	if closing := f.close(); err == nil {
		err = closing
	}
	if err == errPresent {
		return true, nil
	}
	return false, err
}

// unlessPresent returns errPresent instead of err if the other end has the open file after all: another client was
// faster, or an answer was lost.
func (f *pushFile) unlessPresent(ctx context.Context, err error) error {
	err = writing(err)
	if mayBePresent(err) {
		return cmp.Or(f.lookUp(ctx), err)
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

func (f *pushFile) move(ctx context.Context, blocks fileservice.BlockRange, moved func(int64)) error {
	server := f.push.to.server
	if server == nil {
		return f.moveWhole(ctx, moved)
	}
	err := server.WriteBlocks(ctx, f.remote, f.version, blocks.First, blocks.Count, localSource{f.file}, f.addSum)
	if err != nil {
		return f.unlessPresent(ctx, err)
	}
	moved(min(blocks.Count*fileservice.BlockSize, f.version.Size-blocks.First*fileservice.BlockSize))
	return nil
}

func (f *pushFile) addSum(block int64, _ []byte, sum fileservice.Sum) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sums.SetWritten(block, sum)
}

// moveWhole writes the whole file, and commits it: a bucket gets a file of one part only then. The hash is that of what
// was written, whatever becomes of the local file.
func (f *pushFile) moveWhole(ctx context.Context, moved func(int64)) error {
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
		return f.unlessPresent(ctx, err)
	}
	f.outcome = outcome{verified: place.IsVerified(f.written)}
	if hasher != nil {
		hasher.Sum(f.outcome.hash[:0])
	}
	return nil
}

// finish completes a file at a server. It hashes the file last, because the server closes an upload that waits for
// long.
func (f *pushFile) finish(ctx context.Context) (done outcome, err error) {
	server := f.push.to.server
	if server == nil {
		return f.outcome, nil
	}
	addSum := func(data []byte, offset int64) error {
		block := offset / fileservice.BlockSize
		f.sums.SetWritten(block, fileservice.SumBlock(data, block))
		return nil
	}
	for _, rest := range receive.MissingRanges(f.sums.Written(), fileservice.Blocks(f.version.Size)) {
		begin, end := rest.First*fileservice.BlockSize, (rest.First+rest.Count)*fileservice.BlockSize
		err := f.push.readAgain(ctx, f.file, f.local, begin, min(end, f.version.Size), addSum)
		if err != nil {
			return done, reading(err)
		}
	}
	info, err := f.stat()
	if err != nil {
		return done, err
	}
	permissions := info.Mode().Perm()
	_, err = server.FinishWrite(ctx, f.remote, f.version, f.sums.Sum(), permissions, f.push.config.Overwrite)
	if err != nil {
		return done, f.unlessPresent(ctx, err)
	}
	f.begun, f.left, done.verified = false, false, true
	if !f.push.config.Hash {
		return done, nil
	}
	done.hash, err = f.push.hash(ctx, f.file, f.local, f.version.Size)
	if err == nil {
		_, err = f.stat()
	}
	return done, reading(err)
}

func (f *pushFile) end(cause error) (err error) {
	f.tidy(cause)
	f.unsure = f.unsure || cause != nil
	if f.written != nil {
		err = writing(f.written.Discard())
		f.written = nil
	}
	return errors.Join(err, f.close())
}

func (f *pushFile) close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return reading(err)
}

// tidy tells the server that it need not keep the upload open, or that the file is present, so that nothing is left of
// earlier ones. It does so after the end of the transfer, too. A server that is not told does the same by itself after
// a while, or a week.
func (f *pushFile) tidy(cause error) {
	told := f.begun || f.left && cause == errPresent
	f.begun = false
	server := f.push.to.server
	if server == nil || cause == nil || !told || f.push.config.DryRun || errors.Is(cause, place.ErrUnreachable) {
		return
	}
	version := f.version
	if f.file == nil {
		version = fileservice.VersionOf(f.found)
	}
	_ = server.AbandonWrite(f.push.parting, f.remote, version, isUseless(cause))
}

func (f *pushFile) refresh(context.Context) (int64, error) {
	info, err := f.push.config.Root.Lstat(f.local)
	if err != nil {
		return 0, reading(err)
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s: %w", f.local, fileservice.NotRegular(info.Mode()))
	}
	f.found, f.there = info, nil
	return info.Size(), nil
}

// localSource is a file to push while another package reads it.
type localSource struct{ *os.File }

func (s localSource) ReadAt(p []byte, offset int64) (int, error) {
	n, err := s.File.ReadAt(p, offset)
	if err != io.EOF {
		err = reading(err)
	}
	return n, err
}
