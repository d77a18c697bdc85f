package transfer

import (
	"context"
	"io"
	"os"
	"path"
	"sync"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/receive"
)

// serverFile is a file to push to a server.
type serverFile struct {
	*pushFile
	client *client.Client

	mu   sync.Mutex
	sums receive.Table
}

func (f *serverFile) begin(ctx context.Context) ([]fileservice.BlockRange, error) {
	if err := f.open(); err != nil {
		return nil, err
	}
	f.sums = receive.Table{}
	overwrite := f.push.config.Overwrite
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
	done.verified = true
	if !f.push.config.Hash {
		return done, nil
	}
	done.hash, err = f.push.hash(ctx, f.file, f.local, f.version.Size)
	if err == nil {
		_, err = f.stat()
	}
	return done, reading(err)
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
