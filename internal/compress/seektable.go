package compress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"math"
	"sort"

	"github.com/klauspost/compress/zstd"

	"culvert/internal/strictio"
)

// The constants of the Zstandard Seekable Format.
const (
	skippableMagic = 0x184D2A5E
	seekableMagic  = 0x8F92EAB1
	skippableSize  = 4 + 4     // magic and length
	footerSize     = 4 + 1 + 4 // number of frames, descriptor, magic
	checksumFlag   = 1 << 7
	reservedBits   = 0b0111_1100
	entrySize      = 4 + 4
	checksumSize   = 4
)

// maxFrames bounds the memory of a table. The format allows 2^27 frames, which would take 1 GiB.
const maxFrames = 1 << 22

// pageEntries is the number of entries by which a table grows, without copying.
const pageEntries = 8 << 10

// ErrNoSeekTable reports that a stream does not end with a seek table, or not with a usable one. The stream may still
// be valid.
var ErrNoSeekTable = errors.New("compress: no seek table")

// SeekTable lists the frames of a zstd stream, in order. The zero value lists none.
type SeekTable struct {
	pages  [][]byte // entries as in the stream, without checksums
	starts []Frame  // offsets of the first frame of each page
	next   Frame    // offsets after the last frame
	frames int
}

// Frame is the position of a frame in the stream and of its text in the whole text. Its text may be empty.
type Frame struct {
	Offset, Size         int64
	TextOffset, TextSize int64
}

// Len returns the number of frames.
func (t *SeekTable) Len() int { return t.frames }

// TextSize returns the size of the whole text in bytes.
func (t *SeekTable) TextSize() int64 { return t.next.TextOffset }

// Memory returns the approximate memory of the table in bytes.
func (t *SeekTable) Memory() int64 { return int64(len(t.pages)) * pageEntries * entrySize }

// All yields the frames in order.
func (t *SeekTable) All() iter.Seq[Frame] { return t.from(0, -1) }

// From yields the frames in order, beginning with the frame that holds the text at textOffset. It yields none if the
// text does not have this offset.
func (t *SeekTable) From(textOffset int64) iter.Seq[Frame] {
	if textOffset < 0 || textOffset >= t.next.TextOffset {
		return func(func(Frame) bool) {}
	}
	page := sort.Search(len(t.starts), func(i int) bool { return t.starts[i].TextOffset > textOffset })
	return t.from(page-1, textOffset)
}

// from yields the frames from a page on whose text ends after textOffset.
func (t *SeekTable) from(page int, textOffset int64) iter.Seq[Frame] {
	return func(yield func(Frame) bool) {
		if len(t.pages) == 0 {
			return
		}
		f := t.starts[page]
		for _, page := range t.pages[page:] {
			for ; len(page) > 0; page = page[entrySize:] {
				f.Size = int64(binary.LittleEndian.Uint32(page))
				f.TextSize = int64(binary.LittleEndian.Uint32(page[4:]))
				if f.TextOffset+f.TextSize > textOffset && !yield(f) {
					return
				}
				f.Offset += f.Size
				f.TextOffset += f.TextSize
			}
		}
	}
}

// fewEntries are those for which the first page has room at first.
const fewEntries = 16

// add lists one more frame. It returns false if the table is full or a size does not fit its field.
func (t *SeekTable) add(size, textSize int64) bool {
	if t.frames == maxFrames || max(size, textSize) > math.MaxUint32 {
		return false
	}
	if t.frames%pageEntries == 0 {
		room := pageEntries * entrySize
		if t.frames == 0 {
			room = fewEntries * entrySize // it grows; a page would be most of the memory of a small file
		}
		t.pages = append(t.pages, make([]byte, 0, room))
		t.starts = append(t.starts, t.next)
	}
	page := &t.pages[len(t.pages)-1]
	*page = appendEntry(*page, size, textSize)
	t.next.Offset += size
	t.next.TextOffset += textSize
	t.frames++
	return true
}

func appendEntry(dst []byte, size, textSize int64) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(size))
	return binary.LittleEndian.AppendUint32(dst, uint32(textSize))
}

// WriteTo writes the skippable frame that ends a stream.
func (t *SeekTable) WriteTo(w io.Writer) (int64, error) {
	var head, foot [footerSize]byte
	binary.LittleEndian.PutUint32(head[:], skippableMagic)
	binary.LittleEndian.PutUint32(head[4:], uint32(t.frames*entrySize+footerSize))
	binary.LittleEndian.PutUint32(foot[:], uint32(t.frames))
	binary.LittleEndian.PutUint32(foot[5:], seekableMagic)

	n, err := w.Write(head[:skippableSize])
	written := int64(n)
	for _, page := range t.pages {
		if err != nil {
			return written, err
		}
		n, err = w.Write(page)
		written += int64(n)
	}
	if err != nil {
		return written, err
	}
	n, err = w.Write(foot[:])
	return written + int64(n), err
}

// footer is the decoded end of a seek table.
type footer struct {
	frames int64
	entry  int64 // size of each entry
}

// tableSize returns the size of the whole skippable frame.
func (f footer) tableSize() int64 {
	return skippableSize + f.frames*f.entry + footerSize
}

// parseFooter decodes the last footerSize bytes of a stream. The error wraps ErrNoSeekTable if they are something else.
func parseFooter(b []byte) (footer, error) {
	if binary.LittleEndian.Uint32(b[5:]) != seekableMagic {
		return footer{}, ErrNoSeekTable
	}
	descriptor := b[4]
	if descriptor&reservedBits != 0 {
		return footer{}, fmt.Errorf("%w: unknown descriptor %#02x", ErrNoSeekTable, descriptor)
	}
	f := footer{frames: int64(binary.LittleEndian.Uint32(b)), entry: entrySize}
	if descriptor&checksumFlag != 0 {
		f.entry += checksumSize
	}
	return f, nil
}

// ReadSeekTable reads the table at the end of a zstd stream of size bytes. It uses up to 32 MiB of memory. The error
// wraps [ErrNoSeekTable] if there is no table of the whole stream, if it lists more than four million frames, or if its
// version is unknown. The error wraps [ErrCorrupt] if the table is damaged or lists more than the stream has.
func ReadSeekTable(src io.ReaderAt, size int64) (*SeekTable, error) {
	return ReadSeekTableUpTo(src, size, maxFrames)
}

// ReadSeekTableUpTo is [ReadSeekTable] for tables of up to the given number of frames. Each takes 8 bytes of memory.
func ReadSeekTableUpTo(src io.ReaderAt, size, frames int64) (*SeekTable, error) {
	frames = min(frames, maxFrames)
	var foot [footerSize]byte
	if size < skippableSize+footerSize {
		return nil, ErrNoSeekTable
	}
	read := func(p []byte, off int64) error {
		_, err := strictio.ReadFullAt(src, p, off)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	if err := read(foot[:], size-footerSize); err != nil {
		return nil, err
	}
	f, err := parseFooter(foot[:])
	if err != nil {
		return nil, err
	}
	if f.frames > frames {
		return nil, fmt.Errorf("%w of at most %d frames: it lists %d", ErrNoSeekTable, frames, f.frames)
	}
	if f.tableSize() > size {
		return nil, corrupt(Zstd, errors.New("the seek table is larger than the stream"))
	}
	start := size - f.tableSize()
	var head [skippableSize]byte
	if err := read(head[:], start); err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint32(head[:]) != skippableMagic ||
		int64(binary.LittleEndian.Uint32(head[4:])) != f.tableSize()-skippableSize {
		return nil, corrupt(Zstd, errors.New("the two ends of the seek table do not fit"))
	}

	t := new(SeekTable)
	page := make([]byte, pageEntries*f.entry)
	for at := start + skippableSize; at < size-footerSize; at += int64(len(page)) {
		page = page[:min(int64(len(page)), size-footerSize-at)]
		if err := read(page, at); err != nil {
			return nil, err
		}
		for e := page; len(e) > 0; e = e[f.entry:] {
			t.add(int64(binary.LittleEndian.Uint32(e)), int64(binary.LittleEndian.Uint32(e[4:])))
		}
	}
	end := t.next
	if end.Offset < start {
		return nil, fmt.Errorf("%w of the whole stream", ErrNoSeekTable) // several streams have been joined
	}
	if end.Offset > start {
		return nil, corrupt(Zstd, fmt.Errorf("the seek table lists frames of %d bytes, but %d bytes come before it",
			end.Offset, start))
	}
	return t, nil
}

// frameSlack is the room after the text that lets the decoder copy in large steps.
const frameSlack = 32

// errTextSize reports a frame that does not match the seek table.
var errTextSize = errors.New("a frame does not have the size that the seek table gives")

// FrameDecoder decodes the frames of a zstd stream that a [SeekTable] lists. It is safe for concurrent use.
type FrameDecoder struct{ zstd *zstd.Decoder }

// NewFrameDecoder returns a decoder for up to workers concurrent calls; further calls wait. It need not be closed.
func NewFrameDecoder(workers int) *FrameDecoder {
	return &FrameDecoder{newDecoder(max(1, workers), zstd.WithDecodeAllCapLimit(true))}
}

// FrameBuffer returns the capacity that [FrameDecoder.Decode] needs for textSize bytes of text.
func FrameBuffer(textSize int64) int64 { return textSize + frameSlack }

// Decode decodes a frame into buf, which must have a capacity of [FrameBuffer]; the text needs no other memory. If the
// frame does not hold exactly textSize bytes, the error wraps [ErrCorrupt]. An entry of a table may cover several zstd
// frames, and skippable ones.
func (d *FrameDecoder) Decode(buf, frame []byte, textSize int64) ([]byte, error) {
	if d.zstd == nil {
		return nil, errNotMade
	}
	if int64(cap(buf)) < FrameBuffer(textSize) {
		return nil, fmt.Errorf("compress: a buffer of %d bytes for a frame of %d", cap(buf), textSize)
	}
	text, err := d.zstd.DecodeAll(frame, buf[:0:FrameBuffer(textSize)])
	if err != nil {
		return nil, corrupt(Zstd, err)
	}
	if int64(len(text)) != textSize {
		return nil, corrupt(Zstd, errTextSize)
	}
	return text, nil
}

// account checks the sizes of the frames that were read against a seek table. It keeps only a hash of them, so its
// memory does not grow.
type account struct {
	frames   int64 // since the last seek table; joined streams have several
	sizes    maphash.Hash
	unlisted bool // a frame was too large for any table
	sealed   bool // the last frame was a seek table of all frames since the table before it
}

var errTable = errors.New("the seek table does not list the frames before it")

// add counts a frame.
func (a *account) add(size, textSize int64) {
	a.frames++
	a.sealed = false
	if max(size, textSize) > math.MaxUint32 {
		a.unlisted = true
		return
	}
	var entry [entrySize]byte
	appendEntry(entry[:0], size, textSize)
	a.sizes.Write(entry[:])
}

// addTable counts a skippable frame that may be a seek table. It reads the length bytes of the frame's content through
// buf. It returns an error if the frame is a table that does not list the frames before it.
func (a *account) addTable(r io.Reader, length int64, buf []byte) error {
	// If the table lists all frames, its length tells whether it has checksums.
	entries := length - footerSize
	entry := int64(entrySize)
	if entries == a.frames*(entrySize+checksumSize) {
		entry += checksumSize
	}
	buf = buf[:int64(len(buf))-int64(len(buf))%entry]

	var sizes maphash.Hash
	sizes.SetSeed(a.sizes.Seed())
	for left := entries; left > 0; left -= int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), left)]
		if _, err := io.ReadFull(r, buf); err != nil {
			return err
		}
		for e := buf; int64(len(e)) >= entry; e = e[entry:] {
			sizes.Write(e[:entrySize])
		}
	}
	var foot [footerSize]byte
	if _, err := io.ReadFull(r, foot[:]); err != nil {
		return err
	}
	f, err := parseFooter(foot[:])
	if err != nil {
		a.add(skippableSize+length, 0)
		return nil
	}
	if f.frames != a.frames || f.frames*f.entry != entries || a.unlisted || sizes.Sum64() != a.sizes.Sum64() {
		return corrupt(Zstd, errTable)
	}
	*a = account{sealed: true}
	return nil
}
