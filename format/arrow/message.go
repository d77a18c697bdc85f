package arrow

import (
	"encoding/binary"

	"culvert/format/internal/typed"
)

// The numbers of the specification (Message.fbs, File.fbs).
const (
	metadataV5 = 4 // the version

	schemaHeader = 1
	batchHeader  = 3

	zstdCodec = 1

	continuation = 0xffffffff // begins a message
	prefix       = 8          // bytes of that, and of the size of the metadata
	magic        = "ARROW1"
	magicSize    = 8 // with zeros after it

	// Messages and compressed buffers begin at multiples of alignment. Other buffers are used in place, and begin at
	// multiples of cacheLine in the file.
	alignment = 8
	cacheLine = 64
)

func padding(n, to int) int { return (to - n%to) % to }

// message begins a message: with a place for its prefix, and the table that has its header.
func (f *flat) message(header, body int) (of int) {
	f.root()
	at := f.child(0, field{0, 2, metadataV5}, field{1, 1, uint64(header)}, ref(2), field{3, 8, uint64(body)})
	return at[2]
}

// appendMessage appends the metadata of a message with its prefix. Before the message the file has before bytes, and
// its body begins at a multiple of align.
func appendMessage(dst, metadata []byte, before, align int) []byte {
	pad := padding(before+prefix+len(metadata), align)
	dst = binary.LittleEndian.AppendUint32(dst, continuation)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(metadata)+pad))
	dst = append(dst, metadata...)
	return append(dst, zeros[:pad]...)
}

var zeros [cacheLine]byte

// appendSchema appends the message that begins a stream. The file has before bytes until then.
func appendSchema(dst []byte, columns []typed.Column, before int) []byte {
	var f flat
	f.addSchema(f.message(schemaHeader, 0), columns)
	return appendMessage(dst, f.buf, before, cacheLine)
}

// buffer is where a buffer is in the body of its message.
type buffer struct{ offset, size int }

// node is how many values a column, or the elements of its lists, have, and how many of them are NULL.
type node struct{ values, nulls int }

// appendBatchHeader appends the message of a record batch, without its body. Nodes and buffers are those of the columns
// in turn.
func (e *encoder) appendBatchHeader(dst []byte, s *scratch, rows, body int) []byte {
	f := &s.flat
	fields := [...]field{{0, 8, uint64(rows)}, ref(1), ref(2), ref(3)}
	used := fields[:3]
	if e.codec != nil {
		used = fields[:]
	}
	at := f.child(f.message(batchHeader, body), used...)
	f.vector(at[1], len(s.nodes), 8)
	for _, n := range s.nodes {
		f.add(uint64(n.values), 8)
		f.add(uint64(n.nulls), 8)
	}
	f.vector(at[2], len(s.buffers), 8)
	for _, b := range s.buffers {
		f.add(uint64(b.offset), 8)
		f.add(uint64(b.size), 8)
	}
	if e.codec != nil {
		f.child(at[3], field{0, 1, zstdCodec}) // each buffer by itself
	}
	return appendMessage(dst, f.buf, 0, e.alignment())
}

func (e *encoder) alignment() int {
	if e.codec != nil {
		return alignment
	}
	return cacheLine
}

// bodyOf returns the size of the body that metadata of ours says: in the first table, the field of 8 bytes, which is
// the first.
func bodyOf(metadata []byte) int64 {
	table := binary.LittleEndian.Uint32(metadata)
	return int64(binary.LittleEndian.Uint64(metadata[table+8:]))
}
