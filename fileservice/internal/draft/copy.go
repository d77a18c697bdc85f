package draft

import (
	"context"
	"io"
	"os"

	"culvert/internal/publish"
)

// copyPart is the number of bytes copied between checks of the context.
const copyPart = 64 << 20

// copyContent copies a draft to another file system, in the kernel if possible. Holes stay holes.
func copyContent(ctx context.Context, to publish.File, from *os.File) error {
	info, err := from.Stat()
	if err != nil {
		return err
	}
	for at := int64(0); at < info.Size(); {
		start, end, err := publish.NextData(from, at)
		if err != nil {
			return err
		}
		if start == end {
			break
		}
		if err := copyRange(ctx, to, from, start, min(end, info.Size())); err != nil {
			return err
		}
		at = end
	}
	return to.Truncate(info.Size())
}

// copyRange copies the bytes from start to end, or to the end of the file.
func copyRange(ctx context.Context, to publish.File, from *os.File, start, end int64) error {
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
