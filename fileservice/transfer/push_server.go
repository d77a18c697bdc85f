package transfer

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"sync"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/receive"
	"culvert/place"
)

// serverFile is a file to push to a server.
type serverFile struct {
	*pushFile
	client *client.Client
	begun  bool // the server has an upload open

	mu   sync.Mutex
	sums receive.Table
}

func (f *serverFile) begin(ctx context.Context) ([]fileservice.BlockRange, error) {
	overwrite := f.push.config.Overwrite
	if f.there && !overwrite {
		return nil, errPresent
	}
	if err := f.open(); err != nil {
		return nil, err
	}
	if err := f.push.written.failure(path.Dir(f.remote)); err != nil {
		return nil, err
	}
	f.sums = receive.Table{}
	if overwrite {
		if err := f.push.lookup(ctx, f.pushFile, f.file, f.version); err != nil {
			return nil, writing(err)
		}
	}
	var committed []fileservice.BlockRange
	err := inDir(path.Dir(f.remote), f.push.makeDirs, func() (err error) {
		committed, err = f.client.QueryWrite(ctx, f.remote, f.version, overwrite)
		return err
	})
	if err != nil {
		return nil, f.unlessPresent(ctx, f.file, f.version, err)
	}
	f.begun = true
	return receive.MissingRanges(committed, fileservice.Blocks(f.version.Size)), nil
}

func (f *serverFile) move(ctx context.Context, blocks fileservice.BlockRange, moved func(int64)) error {
	err := f.client.WriteBlocks(ctx, f.remote, f.version, blocks.First, blocks.Count, localSource{f.file}, f.addSum)
	if err != nil {
		return f.unlessPresent(ctx, f.file, f.version, err)
	}
	moved(min(blocks.Count*fileservice.BlockSize, f.version.Size-blocks.First*fileservice.BlockSize))
	return nil
}

func (f *serverFile) addSum(block int64, data []byte, sum fileservice.Sum) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sums.SetWritten(block, sum)
}

// finish hashes the file last, because the server closes an upload that waits for long.
func (f *serverFile) finish(ctx context.Context) (done outcome, err error) {
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
	_, err = f.client.FinishWrite(ctx, f.remote, f.version, f.sums.Sum(), permissions, f.push.config.Overwrite)
	if err != nil {
		return done, f.unlessPresent(ctx, f.file, f.version, err)
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

func (f *serverFile) end(cause error) error {
	f.tidy(cause)
	return f.pushFile.end(cause)
}

// tidy tells the server that it need not keep the upload open, or that the file is present, so that nothing is left of
// earlier ones. It does so after the end of the transfer, too. A server that is not told does the same by itself after
// a while, or a week.
func (f *serverFile) tidy(cause error) {
	told := f.begun || f.left && cause == errPresent
	f.begun = false
	if cause == nil || !told || f.push.config.DryRun || errors.Is(cause, place.ErrUnreachable) {
		return
	}
	version := f.version
	if f.file == nil {
		version = fileservice.VersionOf(f.found)
	}
	_ = f.client.AbandonWrite(f.push.parting, f.remote, version, isUseless(cause))
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
