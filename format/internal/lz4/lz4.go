// Package lz4 decompresses LZ4: blocks, as Parquet has them, and frames, as Arrow has them (lz4/lz4,
// doc/lz4_Block_format.md and doc/lz4_Frame_format.md). The caller knows the size of the text, and takes memory for it
// alone.
package lz4

import "encoding/binary"

// Ratio is how many times its size a block can become: a length grows by 255 with each byte.
const Ratio = 256

// Block fills text from a block. It reports whether the block is whole and has as many bytes.
func Block(text, packed []byte) bool {
	n, ok := block(text, 0, packed)
	return ok && n == len(text)
}

// The parts of a frame.
const (
	magic = 0x184d2204

	version        = 1 << 6 // of FLG, in its upper two bits
	versionMask    = 3 << 6
	blockChecksums = 1 << 4
	hasSize        = 1 << 3
	hasChecksum    = 1 << 2
	hasDictionary  = 1

	word     = 4
	isStored = 1 << 31 // of the size of a block
)

// Frame fills text from a frame. It reports whether the frame is whole and has as many bytes. Checksums are not
// compared.
func Frame(text, packed []byte) bool {
	const fixed = word + 3 // the magic, FLG, BD and a checksum
	if len(packed) < fixed || binary.LittleEndian.Uint32(packed) != magic {
		return false
	}
	flags := packed[word]
	head := fixed
	if flags&hasSize != 0 {
		head += 2 * word
	}
	if flags&versionMask != version || flags&hasDictionary != 0 || len(packed) < head {
		return false
	}
	packed = packed[head:]
	for at := 0; len(packed) >= word; {
		size := binary.LittleEndian.Uint32(packed)
		packed = packed[word:]
		if size == 0 {
			if flags&hasChecksum != 0 {
				return at == len(text) && len(packed) == word
			}
			return at == len(text) && len(packed) == 0
		}
		n := int(size &^ isStored)
		if n > len(packed) {
			return false
		}
		if size&isStored != 0 {
			if n > len(text)-at {
				return false
			}
			at += copy(text[at:], packed[:n])
		} else {
			var ok bool
			if at, ok = block(text, at, packed[:n]); !ok {
				return false
			}
		}
		if packed = packed[n:]; flags&blockChecksums != 0 {
			packed = packed[min(word, len(packed)):]
		}
	}
	return false
}

// block appends the text of a block to the first at bytes of text, which it may repeat, and returns how many there are.
func block(text []byte, at int, packed []byte) (int, bool) {
	length := func(n int) (int, bool) { // that goes on after its 4 bits
		if n < 15 {
			return n, true
		}
		for {
			if len(packed) == 0 || n > len(text) {
				return 0, false
			}
			b := packed[0]
			packed = packed[1:]
			if n += int(b); b < 255 {
				return n, true
			}
		}
	}
	for len(packed) > 0 {
		token := packed[0]
		packed = packed[1:]
		n, ok := length(int(token >> 4))
		if !ok || n > len(packed) || n > len(text)-at {
			return 0, false
		}
		copy(text[at:], packed[:n])
		at, packed = at+n, packed[n:]
		if len(packed) == 0 {
			break
		}
		if len(packed) < 2 {
			return 0, false
		}
		back := int(packed[0]) | int(packed[1])<<8
		packed = packed[2:]
		n, ok = length(int(token & 15))
		const least = 4
		if n += least; !ok || back == 0 || back > at || n > len(text)-at {
			return 0, false
		}
		for from := at - back; n > 0; {
			part := copy(text[at:at+n], text[from:at]) // may overlap: then it repeats
			at, n = at+part, n-part
		}
	}
	return at, true
}
