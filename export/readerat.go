package export

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"culvert/agefile"
	"culvert/internal/compress"
	"culvert/internal/recent"
)

// ErrSequential means that a file cannot be read at random, because it is armored, or compressed without a seek table
// or in frames that are too large.
var ErrSequential = errors.New("export: the file can only be read from its beginning")

// The limits of a Cache, in addition to its memory for frames.
const (
	defaultMemory = 32 << 20
	maxSpans      = 16 // of chunks: the number of concurrent reads of encrypted files
	maxDecoders   = 8
	maxTables     = 16 << 20 // bytes of seek tables
	maxFrames     = 1 << 20  // of one seek table, for 8 MiB of it
	tableReaders  = 4        // seek tables that are read at the same time
)

// Cache is the memory of one or several [ReaderAt] for decrypted and decompressed data. It bounds all memory that grows
// with use, whatever the number and the size of the files:
//
//	frames, decoded and compressed          see NewCache
//	chunks, up to 1.25 MiB for each span    16 spans
//	decoders, about 1 MiB for each          cores, 8 at most
//	seek tables, 8 bytes for each frame     16 MiB, and 8 MiB for each of 4 being read
type Cache struct {
	chunks *agefile.Cache
	frames *frames
	tables *recent.Map[any, *compress.SeekTable]
	reads  chan struct{} // of seek tables under way
}

// NewCache returns a Cache with memory bytes for frames; 0 means 32 MiB. If a frame of a file takes more than half of
// that, or the file has more than a million frames, [ReadConfig.NewReaderAt] returns [ErrSequential].
func NewCache(memory int64) *Cache {
	if memory == 0 {
		memory = defaultMemory
	}
	return &Cache{
		chunks: agefile.NewCache(maxSpans),
		frames: newFrames(memory, compress.NewFrameDecoder(min(runtime.GOMAXPROCS(0), maxDecoders))),
		tables: recent.New[any, *compress.SeekTable](maxTables),
		reads:  make(chan struct{}, tableReaders),
	}
}

// Memory returns the number of bytes that frames take, in use or kept for the next use.
func (c *Cache) Memory() int64 {
	c.frames.mu.Lock()
	defer c.frames.mu.Unlock()
	return c.frames.used
}

// ReaderAt reads the text of a file at any offset, without reading the text before. Its methods may be called
// concurrently.
//
//	ReadAt ──▶ seek table ──▶ frames ──▶ agefile.ReaderAt ──▶ io.ReaderAt of the file
//	           which frame    decoded once,  chunks           a call for each frame, or 1 MiB of a run
//	                          kept for a while
//
// Concurrent calls that need the same frame decode it once. Different frames are decoded in parallel.
type ReaderAt struct {
	cache    *Cache
	key      any               // of what is cached
	data     io.ReaderAt       // decrypted
	sealed   *agefile.ReaderAt // data, or nil if the file is not encrypted
	dataSize int64
	size     int64
	framed   bool

	reading sync.Mutex // held while the seek table is read
}

// NewReaderAt opens a file of size bytes for reading at random. The file may be encrypted. It must be uncompressed, or
// compressed with zstd by an export.
//
// If the file is compressed and the error is [ErrSequential], the ReaderAt is valid and reads the compressed data.
func (c ReadConfig) NewReaderAt(src io.ReaderAt, size int64) (*ReaderAt, error) {
	r := &ReaderAt{cache: c.Cache, key: c.Key, data: src, dataSize: size, size: size}
	if r.cache == nil {
		r.cache = NewCache(0)
	}
	if r.key == nil {
		r.key = new(byte) // equal to no other
	}
	sealed, err := agefile.Config{Workers: c.Jobs, Cache: r.cache.chunks}.NewReaderAt(src, size, c.Identities...)
	if err != nil {
		// Only files that are not encrypted need this further read.
		var begin [armorLeadMax]byte
		n, readErr := src.ReadAt(begin[:], 0)
		switch {
		case readErr != nil && readErr != io.EOF, bytes.HasPrefix(begin[:n], []byte(ageIntro)):
			return nil, err
		case isArmor(begin[:n]):
			return nil, ErrSequential
		}
	} else {
		r.data, r.dataSize, r.size, r.sealed = sealed, sealed.Size(), sealed.Size(), sealed
	}
	if c.Packed {
		return r, nil
	}
	return r, r.unpack()
}

// unpack makes r read the decompressed text.
func (r *ReaderAt) unpack() error {
	table, err := r.table()
	switch {
	case errors.Is(err, compress.ErrNoSeekTable), errors.Is(err, compress.ErrCorrupt),
		errors.Is(err, agefile.ErrCorrupt):
		codec, err := r.codec()
		if err == nil && codec != compress.None {
			err = ErrSequential
		}
		return err
	case err != nil:
		return err
	}
	for frame := range table.All() {
		if !r.cache.frames.fits(frame) {
			return ErrSequential
		}
	}
	r.size, r.framed = table.TextSize(), true
	return nil
}

// magicSize is the number of bytes that identify the compression.
const magicSize = 4

// codec returns how the data is compressed.
func (r *ReaderAt) codec() (compress.Codec, error) {
	content, err := compress.NewReader(io.NewSectionReader(r.data, 0, min(r.dataSize, magicSize)))
	if err != nil {
		return compress.None, err
	}
	return content.Codec(), content.Close()
}

// Size returns the size of the text.
func (r *ReaderAt) Size() int64 { return r.size }

// Encrypted reports whether the file is encrypted.
func (r *ReaderAt) Encrypted() bool { return r.sealed != nil }

// Unpacked reports whether the file is compressed and the ReaderAt decompresses it.
func (r *ReaderAt) Unpacked() bool { return r.framed }

// ReadAt reads text. If the file is encrypted, all bytes that it returns are authentic, even with an error.
func (r *ReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if !r.framed {
		return r.data.ReadAt(p, off)
	}
	switch {
	case off < 0:
		return 0, fs.ErrInvalid
	case len(p) == 0:
		return 0, nil
	case off >= r.size:
		return 0, io.EOF
	}
	table, err := r.table()
	if err != nil {
		return 0, err
	}
	part := p[:min(int64(len(p)), r.size-off)]
	n := 0
	if len(part) <= piece {
		n, err = r.readFrames(table, part, off)
	} else {
		n, err = r.readPieces(table, part, off)
	}
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// table returns the seek table. It reads the table again if the cache has dropped it.
func (r *ReaderAt) table() (*compress.SeekTable, error) {
	if table, ok := r.cache.tables.Get(r.key); ok {
		return table, nil
	}
	r.reading.Lock()
	defer r.reading.Unlock()
	if table, ok := r.cache.tables.Get(r.key); ok {
		return table, nil
	}
	r.cache.reads <- struct{}{}
	defer func() { <-r.cache.reads }()
	table, err := compress.ReadSeekTableUpTo(r.data, r.dataSize, maxFrames)
	if err != nil {
		return nil, err
	}
	r.cache.tables.Put(r.key, table, table.Memory())
	return table, nil
}

// piece is the number of bytes of a large request that one goroutine reads at a time. Callers that read in smaller
// requests can make several at a time.
const piece = 4 << 20

// readPieces reads the pieces of a large request at the same time.
func (r *ReaderAt) readPieces(table *compress.SeekTable, p []byte, offset int64) (int, error) {
	type result struct {
		n   int
		err error
	}
	results := make([]result, (len(p)+piece-1)/piece)
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(maxDecoders, len(results)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(results); i = int(next.Add(1)) - 1 {
				part := p[i*piece : min((i+1)*piece, len(p))]
				results[i].n, results[i].err = r.readFrames(table, part, offset+int64(i*piece))
			}
		})
	}
	wait.Wait()
	total := 0
	for _, result := range results {
		total += result.n
		if result.err != nil {
			return total, result.err
		}
	}
	return total, nil
}

// readFrames reads one frame after the other.
func (r *ReaderAt) readFrames(table *compress.SeekTable, p []byte, offset int64) (int, error) {
	total := 0
	for frame := range table.From(offset) {
		if total == len(p) {
			break
		}
		n, err := r.cache.frames.read(r, frame, p[total:], offset+int64(total)-frame.TextOffset)
		total += n
		if err != nil {
			return total, err
		}
	}
	if total < len(p) {
		return total, io.ErrUnexpectedEOF // a bug: the offset is within the size of the table
	}
	return total, nil
}

// withFrame calls use with a compressed frame. If the frame must be copied, it is copied to buffer.
func (r *ReaderAt) withFrame(buffer []byte, frame compress.Frame, use func(data []byte)) error {
	if r.sealed != nil {
		if done, err := r.sealed.View(frame.Offset, len(buffer), use); done || err != nil {
			return err
		}
	}
	if _, err := r.data.ReadAt(buffer, frame.Offset); err != nil {
		return err
	}
	use(buffer)
	return nil
}
