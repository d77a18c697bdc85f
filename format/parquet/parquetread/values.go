package parquetread

import (
	"encoding/binary"
	"fmt"
	"math"
)

// decoder reads the values of a page: numbers, or the bytes of others, which are valid until the next call.
type decoder struct {
	leaf *leaf
	read func(d *decoder, n int) error // the next n values, to ints or texts
	rest []byte
	left int // values, at most
	size int // of the page

	ints  []int64
	texts [][]byte
	ids   []uint32

	runs    hybrid
	bits    bitReader
	delta   delta  // or the lengths of texts
	prefix  delta  // the lengths of what texts have of the one before
	last    []byte // that text
	joined  []byte // texts that were made
	streams int    // values of a stream
	at      int    // in the streams

	dict dictionary
}

// dictionary has the values that ids stand for.
type dictionary struct {
	known bool
	ints  []int64
	text  []byte
	ends  []uint32
}

// block is how many values are read at a time.
const block = 1024

// begin begins a page, of at most most values.
func (d *decoder) begin(encoding int, data []byte, most int) (err error) {
	d.rest, d.left, d.size = data, most, len(data)
	isBytes := !d.leaf.physical.isInt()
	switch {
	case encoding == plainEncoding:
		d.read = (*decoder).plain
		if d.leaf.physical == booleans {
			d.bits, d.read = bitReader{rest: data}, (*decoder).packedBooleans
		}
	case encoding == dictionaryIDs || encoding == oldDictionary:
		d.read = (*decoder).dictionary
		switch {
		case most == 0:
			return nil
		case !d.dict.known:
			return errNoDict
		case len(data) == 0:
			return errEnds
		}
		d.runs, err = newHybrid(data[1:], int(data[0]))
	case encoding == rleEncoding && d.leaf.physical == booleans:
		d.read = (*decoder).runBooleans
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return errEnds
		}
		d.runs, err = newHybrid(data[4:], 1)
	case encoding == deltaEncoding && (d.leaf.physical == int32s || d.leaf.physical == int64s):
		d.read = (*decoder).deltas
		d.delta, err = newDelta(data, most)
	case encoding == deltaLengths && d.leaf.physical == byteArrays:
		d.read = (*decoder).lengths
		err = d.beginLengths(data, most)
	case encoding == deltaByteArrays && (d.leaf.physical == byteArrays || d.leaf.physical == fixed):
		d.read = (*decoder).prefixed
		d.last = d.last[:0]
		if d.prefix, err = newDelta(data, most); err != nil {
			return err
		}
		skim := d.prefix
		if data, err = skim.end(); err == nil {
			err = d.beginLengths(data, most)
		}
	case encoding == byteStreamSplit && d.leaf.size > 0 && d.leaf.physical != int96s:
		d.read = (*decoder).split
		d.streams, d.at = len(data)/d.leaf.size, 0
		if len(data)%d.leaf.size != 0 {
			return errPage
		}
	default:
		return fmt.Errorf("the encoding %d of a page is not read", encoding)
	}
	if isBytes && d.texts == nil {
		d.texts = make([][]byte, 0, block)
	} else if !isBytes && d.ints == nil {
		d.ints = make([]int64, 0, block)
	}
	return err
}

// next reads n values, of at most block.
func (d *decoder) next(n int) error {
	if n > d.left {
		return errEnds
	}
	d.left -= n
	d.ints, d.texts = d.ints[:0], d.texts[:0]
	if n == 0 {
		return nil
	}
	return d.read(d, n)
}

// most returns how many values may be read at a time, so that texts that are made of others stay small.
func (d *decoder) most() int {
	const joined = 16 << 20
	return min(block, max(1, joined/(d.size+1)))
}

func (d *decoder) plain(n int) error {
	size := d.leaf.size
	if d.leaf.physical == byteArrays {
		return d.plainTexts(n)
	}
	if len(d.rest) < n*size {
		return errEnds
	}
	data := d.rest[:n*size]
	d.rest = d.rest[n*size:]
	switch d.leaf.physical {
	case int32s, floats:
		for ; len(data) > 0; data = data[4:] {
			d.ints = append(d.ints, int64(int32(binary.LittleEndian.Uint32(data))))
		}
	case int64s, doubles:
		for ; len(data) > 0; data = data[8:] {
			d.ints = append(d.ints, int64(binary.LittleEndian.Uint64(data)))
		}
	default:
		for ; len(data) > 0; data = data[size:] {
			d.texts = append(d.texts, data[:size])
		}
	}
	return nil
}

func (d *decoder) plainTexts(n int) error {
	for range n {
		if len(d.rest) < 4 {
			return errEnds
		}
		size := uint64(binary.LittleEndian.Uint32(d.rest))
		if size > uint64(len(d.rest)-4) {
			return errEnds
		}
		d.texts = append(d.texts, d.rest[4:4+size])
		d.rest = d.rest[4+size:]
	}
	return nil
}

func (d *decoder) packedBooleans(n int) error {
	d.ids = sized(d.ids, n)
	if !d.bits.read(d.ids, 1) {
		return errEnds
	}
	d.idsAreInts()
	return nil
}

func (d *decoder) runBooleans(n int) error {
	d.ids = sized(d.ids, n)
	if err := d.runs.read(d.ids); err != nil {
		return err
	}
	d.idsAreInts()
	return nil
}

func (d *decoder) idsAreInts() {
	for _, v := range d.ids {
		d.ints = append(d.ints, int64(v))
	}
}

// sized returns a slice of n numbers.
func sized(ids []uint32, n int) []uint32 {
	if cap(ids) < n {
		ids = make([]uint32, block)
	}
	return ids[:n]
}

func (d *decoder) dictionary(n int) error {
	d.ids = sized(d.ids, n)
	if err := d.runs.read(d.ids); err != nil {
		return err
	}
	if d.leaf.physical.isInt() {
		for _, id := range d.ids {
			if uint64(id) >= uint64(len(d.dict.ints)) {
				return errPage
			}
			d.ints = append(d.ints, d.dict.ints[id])
		}
		return nil
	}
	for _, id := range d.ids {
		if uint64(id) >= uint64(len(d.dict.ends)) {
			return errPage
		}
		begin := uint32(0)
		if d.leaf.physical == byteArrays {
			begin = 4 // its length is before it
		}
		if id > 0 {
			begin += d.dict.ends[id-1]
		}
		d.texts = append(d.texts, d.dict.text[begin:d.dict.ends[id]])
	}
	return nil
}

// setDictionary takes the values of a page that ids stand for. The texts are in the page.
func (d *decoder) setDictionary(mem *memory, page []byte, n int) error {
	dict := &d.dict
	dict.known, dict.ints, dict.text, dict.ends = true, dict.ints[:0], page, dict.ends[:0]
	size := max(1, d.leaf.size)
	if d.leaf.physical == byteArrays {
		size = 4
	}
	if n > len(page)/size && d.leaf.physical != booleans || len(page) > math.MaxInt32 {
		return errEnds
	}
	if mem.used += 8 * int64(n); mem.used > mem.most {
		return errMemory
	}
	if err := d.begin(plainEncoding, page, n); err != nil {
		return err
	}
	for d.left > 0 {
		if err := d.next(min(block, d.left)); err != nil {
			return err
		}
		dict.ints = append(dict.ints, d.ints...)
		end := uint32(0)
		if len(dict.ends) > 0 {
			end = dict.ends[len(dict.ends)-1]
		}
		for _, text := range d.texts {
			if end += uint32(len(text)); d.leaf.physical == byteArrays {
				end += 4
			}
			dict.ends = append(dict.ends, end)
		}
	}
	return nil
}

func (d *decoder) deltas(n int) error {
	for range n {
		v, err := d.delta.next()
		if err != nil {
			return err
		}
		if d.leaf.physical == int32s {
			v = int64(int32(v))
		}
		d.ints = append(d.ints, v)
	}
	return nil
}

// beginLengths begins to read lengths, and finds the texts behind them.
func (d *decoder) beginLengths(data []byte, most int) (err error) {
	if d.delta, err = newDelta(data, most); err != nil {
		return err
	}
	skim := d.delta
	d.rest, err = skim.end()
	return err
}

// text returns the next text by its length.
func (d *decoder) text() ([]byte, error) {
	size, err := d.delta.next()
	if err != nil {
		return nil, err
	}
	if size < 0 || size > int64(len(d.rest)) {
		return nil, errEnds
	}
	text := d.rest[:size]
	d.rest = d.rest[size:]
	return text, nil
}

func (d *decoder) lengths(n int) error {
	for range n {
		text, err := d.text()
		if err != nil {
			return err
		}
		d.texts = append(d.texts, text)
	}
	return nil
}

// prefixed reads texts of which each begins as the one before. They are joined one after the other in memory, of which
// those before a reallocation keep theirs.
func (d *decoder) prefixed(n int) error {
	d.joined = d.joined[:0]
	for range n {
		size, err := d.prefix.next()
		if err != nil {
			return err
		}
		suffix, err := d.text()
		if err != nil {
			return err
		}
		if size < 0 || size > int64(len(d.last)) || size+int64(len(suffix)) > largestPage {
			return errPage
		}
		begin := len(d.joined)
		d.joined = append(append(d.joined, d.last[:size]...), suffix...)
		text := d.joined[begin:]
		if d.leaf.physical == fixed && len(text) != d.leaf.size {
			return errPage
		}
		d.texts = append(d.texts, text)
		d.last = append(d.last[:0], text...)
	}
	return nil
}

// split reads values whose first bytes are one after the other, then their second bytes, and so on.
func (d *decoder) split(n int) error {
	size := d.leaf.size
	if d.at+n > d.streams {
		return errEnds
	}
	d.joined = d.joined[:0]
	for i := d.at; i < d.at+n; i++ {
		begin := len(d.joined)
		for j := range size {
			d.joined = append(d.joined, d.rest[j*d.streams+i])
		}
		switch value := d.joined[begin:]; {
		case d.leaf.physical == fixed:
			d.texts = append(d.texts, value)
		case size == 4:
			d.ints = append(d.ints, int64(int32(binary.LittleEndian.Uint32(value))))
		default:
			d.ints = append(d.ints, int64(binary.LittleEndian.Uint64(value)))
		}
	}
	d.at += n
	return nil
}
