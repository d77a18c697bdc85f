package transfer

import (
	"context"
	"io"

	"culvert/fileservice"
	"culvert/fileservice/client"
)

// serverTree is the tree of a server as a source.
type serverTree struct{ *client.Client }

func (s *serverTree) open(name string, version fileservice.Version) (sourceFile, error) {
	return &servedFile{s.Client, name, version}, nil
}

func (s *serverTree) readSmall(
	ctx context.Context, dir string, files []fileservice.SmallFile,
	yield func(i int, content []byte, sum fileservice.Sum, verified bool, err error) error,
) error {
	return s.ReadFiles(ctx, dir, files, func(i int, content []byte, sum fileservice.Sum, err error) error {
		return yield(i, content, sum, true, err)
	})
}

// servedFile is a version of a file of a server.
type servedFile struct {
	client  *client.Client
	name    string
	version fileservice.Version
}

func (f *servedFile) ReadBlocks(
	ctx context.Context, first, count int64, yield func(block int64, data []byte, sum fileservice.Sum) error,
) error {
	return f.client.ReadBlocks(ctx, f.name, f.version, first, count, yield)
}

func (f *servedFile) align(_, end, _ int64) int64 { return end }

// compare does not ask the server. It sent the sum of each block, and all blocks belong to the same version.
func (f *servedFile) compare(context.Context, *transfer, io.ReaderAt) (verified bool, err error) {
	return true, nil
}

func (s *serverTree) areCopies(
	ctx context.Context, dir string, files []fileservice.SmallFile, read func(i int, content []byte) error,
) ([]bool, error) {
	named := make([]client.NamedVersion, len(files))
	for i := range files {
		named[i] = client.NamedVersion{Name: files[i].Name, Version: files[i].Version}
	}
	return haveSums(ctx, s.Client, dir, named, read)
}

func (f *servedFile) Close() error { return nil }
