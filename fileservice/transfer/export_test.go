package transfer

import (
	"context"
	"io"
)

// SetWalkRoom bounds the memory of a walk, in bytes.
func (c *Config) SetWalkRoom(room int64) { c.walkRoom = room }

// HashOf returns the hash of a file.
func HashOf(ctx context.Context, file io.ReaderAt, size int64) (Hash, error) {
	t := transfer{config: Config{Hash: true}, reads: make(chan struct{}, readsAtOnce)}
	return t.hash(ctx, file, "file", size)
}
