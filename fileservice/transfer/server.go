package transfer

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/place"
)

// A Server is a place that moves blocks of files, and small files of a directory together, and that keeps what an
// interrupted push has sent. The place of a [client.Client] is one: its methods say what those of a Server do. Stat
// returns a *fileservice.Info, and WithContext of a Server another one.
type Server interface {
	place.Place
	Stat(name string) (fs.FileInfo, error)
	List(ctx context.Context, name string) iter.Seq2[*fileservice.Info, error]
	Sums(ctx context.Context, dir string, files []client.NamedVersion) ([]fileservice.Sum, []error, error)

	ReadBlocks(ctx context.Context, name string, version fileservice.Version, first, count int64,
		yield func(block int64, data []byte, sum fileservice.Sum) error) error
	ReadFiles(ctx context.Context, dir string, files []fileservice.SmallFile,
		yield func(i int, content []byte, sum fileservice.Sum, err error) error) error

	QueryWrite(ctx context.Context, name string, version fileservice.Version, overwrite bool) (
		committed []fileservice.BlockRange, err error)
	WriteBlocks(ctx context.Context, name string, version fileservice.Version, first, count int64, source io.ReaderAt,
		sum func(block int64, data []byte, sum fileservice.Sum)) error
	FinishWrite(ctx context.Context, name string, version fileservice.Version, sum fileservice.Sum,
		permissions fs.FileMode, overwrite bool) (*fileservice.Info, error)
	AbandonWrite(ctx context.Context, name string, version fileservice.Version, discard bool) error
	WriteFiles(ctx context.Context, dir string, files []fileservice.SmallFile, overwrite bool,
		read func(i int, p []byte) error) (errs []error, err error)

	MkdirIfMissing(name string, perm fs.FileMode) error
	Chtimes(name string, atime, mtime time.Time) error

	Capabilities(ctx context.Context) (fileservice.Capabilities, error)
	Connect()
	MostLarge() int
}
