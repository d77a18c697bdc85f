package compress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"sort"
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

// maxFrames bounds the memory of a table. The format allows 2^27 frames, which would be a GiB.
const maxFrames = 1 << 22

// pageEntries is how many entries a table grows by; nothing is copied when it does.
const pageEntries = 8 << 10

// ErrNoSeekTable says that a stream does not end with a seek table, or not with one that can be used here. It may be
// valid all the same.
var ErrNoSeekTable = errors.New("compress: no seek table")

// SeekTable lists the frames of a zstd stream, in order. The zero value lists none.
type SeekTable struct {
	pages  [][]byte // entries as in the stream, without checksums
	starts []Frame  // the offsets that each page begins with
	next   Frame    // the offsets of a frame that would come next
	frames int
}

// Frame says where a frame lies: at Offset in the stream, and its text at TextOffset in the whole text. Frames without
// text count too.
type Frame struct {
	Offset, Size         int64
	TextOffset, TextSize int64
}

// Len is the number of frames.
func (t *SeekTable) Len() int { return t.frames }

// TextSize is the size of the whole text.
func (t *SeekTable) TextSize() int64 { return t.next.TextOffset }

// Memory is about how much the table takes, in bytes.
func (t *SeekTable) Memory() int64 { return int64(len(t.pages)) * pageEntries * entrySize }

// All yields the frames in order.
func (t *SeekTable) All() iter.Seq[Frame] { return t.from(0, -1) }

// From yields the frames in order, from the one on that has the text at this offset. It yields none if there is no
// text.
func (t *SeekTable) From(textOffset int64) iter.Seq[Frame] {
	if textOffset < 0 || textOffset >= t.next.TextOffset {
		return func(func(Frame) bool) {}
	}
	page := sort.Search(len(t.starts), func(i int) bool { return t.starts[i].TextOffset > textOffset })
	return t.from(page-1, textOffset)
}

// from yields the frames of a page and those after it that end behind an offset of the text.
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

// add lists one more frame. It reports whether the table has room for it and its fields for the sizes.
func (t *SeekTable) add(size, textSize int64) bool {
	if t.frames == maxFrames || max(size, textSize) > math.MaxUint32 {
		return false
	}
	if t.frames%pageEntries == 0 {
		t.pages = append(t.pages, make([]byte, 0, pageEntries*entrySize))
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

// WriteTo writes the table as the skippable frame that ends a stream.
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

// footer is the end of a seek table, decoded.
type footer struct {
	frames int64
	entry  int64 // size of each entry
}

// tableSize is the length of the whole skippable frame.
func (f footer) tableSize() int64 {
	return skippableSize + f.frames*f.entry + footerSize
}

// parseFooter decodes the last footerSize bytes of what may be a seek table. The error is ErrNoSeekTable if they are
// something else.
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

// ReadSeekTable reads the table at the end of a zstd stream of so many bytes, in up to 32 MiB of memory. The error is
// [ErrNoSeekTable] if there is none of the whole stream, if it lists more than four million frames, or if it is of a
// version that is not known; and it wraps [ErrCorrupt] if the table is damaged, or lists more than there is.
func ReadSeekTable(src io.ReaderAt, size int64) (*SeekTable, error) {
	return ReadSeekTableUpTo(src, size, maxFrames)
}

// ReadSeekTableUpTo is [ReadSeekTable] for who has not as much memory: a table that lists more frames is
// ErrNoSeekTable. It takes 8 bytes for each.
func ReadSeekTableUpTo(src io.ReaderAt, size, frames int64) (*SeekTable, error) {
	frames = min(frames, maxFrames)
	var foot [footerSize]byte
	if size < skippableSize+footerSize {
		return nil, ErrNoSeekTable
	}
	if err := readFullAt(src, foot[:], size-footerSize); err != nil {
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
	if err := readFullAt(src, head[:], start); err != nil {
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
		if err := readFullAt(src, page, at); err != nil {
			return nil, err
		}
		for e := page; len(e) > 0; e = e[f.entry:] {
			t.add(int64(binary.LittleEndian.Uint32(e)), int64(binary.LittleEndian.Uint32(e[4:])))
		}
	}
	end := t.next
	if end.Offset < start {
		return nil, fmt.Errorf("%w of the whole stream", ErrNoSeekTable) // as where several streams are joined
	}
	if end.Offset > start {
		return nil, corrupt(Zstd, fmt.Errorf("the seek table lists frames of %d bytes, but %d bytes come before it",
			end.Offset, start))
	}
	return t, nil
}

// readFullAt fills p. An io.EOF that comes with the last byte is no error. A source should not return less than it was
// asked for without an error; one that does is asked for the rest.
func readFullAt(src io.ReaderAt, p []byte, off int64) error {
	for len(p) > 0 {
		n, err := src.ReadAt(p, off)
		switch {
		case n < 0 || n > len(p):
			return errCount
		case n == len(p):
			return nil
		case err == io.EOF:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case n == 0:
			return io.ErrNoProgress
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}
