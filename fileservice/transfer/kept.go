package transfer

import (
	"context"
	"errors"
	"io"
	"path"
	"time"

	"culvert/bytebuf"
	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/place"
)

// kept is what the other end keeps of the content of a file.
type kept struct {
	sum      place.Sum
	modified time.Time // when the place wrote it; not of a server
	noted    time.Time // what the place knows of the source; zero if it keeps no such time
}

// mayBeCopy reports whether a file of the other end may be a copy of a version. The time of a file in a place that is
// no server is when it was written.
func (o *otherEnd) mayBeCopy(there *fileservice.Info, version fileservice.Version) bool {
	if o.server != nil {
		return fileservice.IsSame(there, version)
	}
	return there.Mode().IsRegular() && there.Size() == version.Size
}

// isSameTime compares times, where there is no checksum. Places set those of their files in seconds.
func (o *otherEnd) isSameTime(k *kept, modified time.Time) bool {
	switch {
	case o.server != nil:
		return true // says mayBeCopy
	case !k.noted.IsZero():
		return k.noted.Equal(modified)
	}
	return k.modified.Unix() >= modified.Unix()
}

// keptOf returns what the other end keeps of versions of files of a directory, and nil for those that have changed or
// cannot be read.
func (o *otherEnd) keptOf(ctx context.Context, dir string, files []client.NamedVersion) ([]*kept, error) {
	all := make([]*kept, len(files))
	if o.server != nil {
		sums, errs, err := o.server.Sums(ctx, dir, files)
		unsupported := errors.Is(err, errors.ErrUnsupported)
		for i := range all {
			switch {
			case unsupported:
				all[i] = &kept{}
			case err == nil && errs[i] == nil:
				all[i] = &kept{sum: place.Sum{Algorithm: serverSum, Value: sums[i][:]}}
			}
		}
		if unsupported {
			err = nil
		}
		return all, err
	}
	for i := range files {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		file, err := o.openFile(path.Join(dir, files[i].Name), files[i].Version)
		if err == nil {
			all[i] = &file.kept
			err = file.Close()
		}
		if errors.Is(err, place.ErrUnreachable) {
			return nil, err
		}
	}
	return all, nil
}

// isCopy reports whether a file of the other end that may be a copy of a version is one, as Config.Overwrite says.
// compare compares the local file with a checksum, if there is one.
func (t *transfer) isCopy(
	o *otherEnd, k *kept, version fileservice.Version, compare func(place.Sum) (verified bool, err error),
) (bool, error) {
	if k == nil {
		return false, nil
	}
	verified, err := compare(k.sum)
	switch {
	case errors.Is(err, errOtherSum):
		return false, nil
	case verified || err != nil || version.Size == 0:
		return err == nil, err
	}
	return !t.config.Overwrite && o.isSameTime(k, version.ModTime()), nil
}

// isCopyOf is isCopy for a version of a large file there, and a file of this machine, here. The local name is for
// messages.
func (t *transfer) isCopyOf(
	ctx context.Context, o *otherEnd, name string, there, here fileservice.Version, file io.ReaderAt, local string,
) (bool, error) {
	all, err := o.keptOf(ctx, path.Dir(name), []client.NamedVersion{{Name: path.Base(name), Version: there}})
	if err != nil {
		return false, o.blame(err)
	}
	return t.isCopy(o, all[0], here, func(sum place.Sum) (verified bool, err error) {
		check := newCheck(sum, here.Size)
		if check == nil {
			return false, nil
		}
		return true, t.compareFile(ctx, check, file, local)
	})
}

// findPresent sets errPresent for those of the files of a batch, by their indices, that prove to be copies. read reads
// the local file.
func (t *transfer) findPresent(
	ctx context.Context, b *batch, o *otherEnd, dir string, which []int, read func(at int, content []byte) error,
) {
	if len(which) == 0 {
		return
	}
	there := make([]client.NamedVersion, len(which))
	for i, at := range which {
		m := b.items[at].mover
		there[i] = client.NamedVersion{Name: m.small().Name, Version: m.seen()}
	}
	all, err := o.keptOf(ctx, dir, there)
	memory := bytebuf.New()
	defer memory.Free()
	buffer := memory.Extend(fileservice.SmallFileSize)
	for i, at := range which {
		if err != nil {
			b.errs[at] = o.blame(err)
			continue
		}
		content := buffer[:there[i].Version.Size]
		if all[i] == nil || read(at, content) != nil {
			continue // moving it will report that
		}
		is, err := t.isCopy(o, all[i], b.items[at].mover.small().Version, func(sum place.Sum) (bool, error) {
			return compareContent(sum, content, there[i].Name)
		})
		if is && err == nil {
			b.errs[at] = errPresent
		}
	}
}
