package fileservice

import (
	"context"
	"errors"
	"io"
	"os"

	"culvert/internal/disk"
)

// copyPart is how much of a source is copied at a time. Then it is asked whether anybody still waits for it.
const copyPart = 64 << 20

// prepare makes a file that can be written, with the content of the source up to an offset. On file systems that can
// share blocks, the copy takes neither time nor space (copy_file_range(2)). work is held.
func (d *draft) prepare(ctx context.Context, end int64) error {
	if err := d.usable(); err != nil || d.file != nil {
		return err
	}
	source, version := d.source, d.version
	d.source = nil // create would close it
	err := d.create()
	if err == nil {
		err = copyUpTo(ctx, d.file, source, end)
	}
	if err == nil {
		err = unchanged(source, version)
	}
	if err = errors.Join(err, source.Close()); err != nil {
		return d.fail(err)
	}
	return nil
}

// copyUpTo copies what lies before an offset, through the kernel where it can. Holes stay holes.
func copyUpTo(ctx context.Context, to disk.LockedFile, from *os.File, limit int64) error {
	info, err := from.Stat()
	if err != nil {
		return err
	}
	limit = min(limit, info.Size())
	for at := int64(0); at < limit; {
		start, end, err := disk.NextData(from, at)
		if err != nil {
			return err
		}
		if start == end {
			break
		}
		if err := copyRange(ctx, to, from, start, min(end, limit)); err != nil {
			return err
		}
		at = end
	}
	if size, err := to.Size(); err != nil || size >= limit {
		return err
	}
	return to.Truncate(limit)
}

// copyRange copies what lies between two offsets, as far as it is there.
func copyRange(ctx context.Context, to disk.LockedFile, from *os.File, start, end int64) error {
	for _, file := range []io.Seeker{to, from} {
		if _, err := file.Seek(start, io.SeekStart); err != nil {
			return err
		}
	}
	for start < end {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := to.ReadFrom(io.LimitReader(from, min(copyPart, end-start)))
		if err != nil || n == 0 {
			return err
		}
		start += n
	}
	return nil
}
