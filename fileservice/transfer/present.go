package transfer

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/osfile"
	"culvert/internal/publish"
)

// lookUp returns errPresent if the server has a file of the same size, time and sum. An older server knows no sums:
// what it has counts, except with Overwrite. Without Overwrite, a dry run looks at no sum, as for files that were
// listed.
func (p *serverPush) lookUp(
	ctx context.Context, f *pushFile, local io.ReaderAt, version fileservice.Version,
) error {
	info, err := p.client.Stat(f.remote)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !fileservice.IsSame(info, version):
		return nil
	case p.config.DryRun && !p.config.Overwrite:
		return errPresent
	}
	there, err := askSum(ctx, p.client, f.remote, info.(*fileservice.Info).Version())
	switch {
	case errors.Is(err, errors.ErrUnsupported) && !p.config.Overwrite:
		return errPresent
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	case err != nil || there == nil:
		return err
	}
	here, err := p.sum(ctx, local, f.local, version.Size)
	switch {
	case err != nil:
		return reading(err)
	case here == *there:
		return errPresent
	}
	return nil
}

// isCopy implements [sourceFile].
func (f *servedFile) isCopy(ctx context.Context, t *transfer, local io.ReaderAt) (bool, error) {
	there, err := askSum(ctx, f.client, f.name, f.version)
	if errors.Is(err, errors.ErrUnsupported) || err == nil && there == nil {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	here, err := t.sum(ctx, local, f.name, f.version.Size)
	return err == nil && here == *there, context.Cause(ctx) // what cannot be read is replaced
}

// sum reads a local file of size bytes, and returns its sum. The name is for messages.
func (t *transfer) sum(ctx context.Context, file io.ReaderAt, name string, size int64) (fileservice.Sum, error) {
	var sum fileservice.FileSum
	err := t.readAgain(ctx, file, name, 0, size, func(data []byte, offset int64) error {
		sum.Append(fileservice.SumBlock(data, offset/fileservice.BlockSize))
		return nil
	})
	return sum.Sum(), err
}

// askSum returns the sum of a version of a file of the server, or nil if the server cannot tell, because the file has
// changed or cannot be read.
func askSum(
	ctx context.Context, server *client.Client, name string, version fileservice.Version,
) (*fileservice.Sum, error) {
	file := client.NamedVersion{Name: path.Base(name), Version: version}
	sums, errs, err := server.Sums(ctx, path.Dir(name), []client.NamedVersion{file})
	if err != nil || errs[0] != nil {
		return nil, err
	}
	return &sums[0], nil
}

// haveSums reports which small files of the server have the sums of local files, which read reads.
func haveSums(
	ctx context.Context, server *client.Client, dir string, files []client.NamedVersion,
	read func(i int, content []byte) error,
) ([]bool, error) {
	have := make([]bool, len(files))
	sums, errs, err := server.Sums(ctx, dir, files)
	if errors.Is(err, errors.ErrUnsupported) {
		return have, nil
	}
	if err != nil {
		return nil, err
	}
	memory := bytebuf.New()
	defer memory.Free()
	buffer := memory.Extend(fileservice.SmallFileSize)
	for i := range sums {
		content := buffer[:files[i].Version.Size]
		have[i] = errs[i] == nil && read(i, content) == nil && fileservice.SumFile(content) == sums[i]
	}
	return have, nil
}

// findPresent sets errPresent for files of a parcel that the server was seen to have, or with Overwrite, has with the
// same sums.
func (p *serverPush) findPresent(ctx context.Context, b *parcel, dir *publish.Dir) {
	var seen []client.NamedVersion
	var which []int // their indices in the parcel
	for i, it := range b.items {
		f := it.mover.(*serverFile)
		switch {
		case !f.there:
		case !p.config.Overwrite:
			b.errs[i] = errPresent
		default:
			seen = append(seen, client.NamedVersion{Name: path.Base(f.remote), Version: f.seen})
			which = append(which, i)
		}
	}
	if len(seen) == 0 {
		return
	}
	read := func(i int, content []byte) error {
		f := b.items[which[i]].mover.(*serverFile)
		return osfile.ReadSmall(dir, filepath.Base(f.local), fileservice.VersionOf(f.found), content)
	}
	have, err := haveSums(ctx, p.client, path.Dir(b.items[0].mover.(*serverFile).remote), seen, read)
	b.settle(which, have, writing(err))
}

// findPresent clears errPresent, with Overwrite, for files of a parcel that are not proved to be those of the source.
func (p *pull) findPresent(ctx context.Context, b *parcel, dir *publish.Dir) {
	var seen []fileservice.SmallFile
	var which []int // their indices in the parcel
	for i, it := range b.items {
		if p.config.Overwrite && b.errs[i] == errPresent {
			seen = append(seen, it.mover.(*pullFile).small())
			which = append(which, i)
			b.errs[i] = nil
		}
	}
	if len(seen) == 0 {
		return
	}
	read := func(i int, content []byte) error {
		f := b.items[which[i]].mover.(*pullFile)
		info, err := dir.Lstat(filepath.Base(f.local))
		if err != nil {
			return err
		}
		return osfile.ReadSmall(dir, filepath.Base(f.local), fileservice.VersionOf(info), content)
	}
	have, err := p.source.areCopies(ctx, path.Dir(b.items[0].mover.(*pullFile).remote), seen, read)
	b.settle(which, have, reading(err))
}

// settle sets errPresent for those of some files that the other end has, or err for all of them.
func (b *parcel) settle(which []int, have []bool, err error) {
	for i, at := range which {
		switch {
		case err != nil:
			b.errs[at] = err
		case have[i]:
			b.errs[at] = errPresent
		}
	}
}

// unlessSmallPresent is unlessPresent for a file whose content is not in memory any more.
func (f *serverFile) unlessSmallPresent(ctx context.Context, err error) error {
	if !mayBePresent(err) || f.open() != nil {
		return writing(err)
	}
	err = f.unlessPresent(ctx, f.file, f.version, err)
	if ending := f.pushFile.end(nil); ending != nil {
		return ending
	}
	return err
}
