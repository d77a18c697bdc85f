package arrow

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// assembler writes a file from the messages of an encoder as they come. It fails if the writer below fails, or if the
// file has too many record batches.
type assembler struct {
	e       *encoder
	w       io.Writer
	offset  int64 // in the file
	rest    int64 // bytes of the message that is being written
	batches []block
	err     error
}

// block is where a record batch is in the file.
type block struct {
	offset   int64
	metadata int32
	body     int64
}

// Write writes whole messages, or pieces of one. The metadata of a message is in one piece.
func (a *assembler) Write(p []byte) (int, error) {
	if a.err == nil {
		a.err = a.begin()
	}
	for at := int64(0); a.err == nil && at < int64(len(p)); {
		if a.rest == 0 {
			a.addBatch(p[at:], at)
		}
		n := min(a.rest, int64(len(p))-at)
		at, a.rest = at+n, a.rest-n
	}
	if a.write(p); a.err != nil {
		return 0, a.err
	}
	return len(p), nil
}

// addBatch notes a record batch. Its message begins further bytes behind what is written.
func (a *assembler) addBatch(message []byte, further int64) {
	metadata := prefix + int(binary.LittleEndian.Uint32(message[4:]))
	b := block{offset: a.offset + further, metadata: int32(metadata), body: bodyOf(message[prefix:metadata])}
	a.rest = int64(b.metadata) + b.body
	if !a.e.stream {
		a.batches = append(a.batches, b)
	}
}

// begin begins the file, unless it has begun.
func (a *assembler) begin() error {
	if a.offset > 0 {
		return nil
	}
	var head []byte
	if !a.e.stream {
		head = append(append(head, magic...), zeros[:magicSize-len(magic)]...)
	}
	a.write(appendSchema(head, a.e.columns, len(head)))
	return a.err
}

func (a *assembler) write(p []byte) {
	if a.err == nil {
		var n int
		n, a.err = a.w.Write(p)
		a.offset += int64(n)
	}
}

// Close ends the file. It does not close the writer below.
func (a *assembler) Close() error {
	if a.err == nil {
		a.err = a.begin()
	}
	a.write(binary.LittleEndian.AppendUint64(nil, continuation)) // and no metadata: the end
	if !a.e.stream && a.err == nil {
		footer := a.footer()
		if len(footer) > math.MaxInt32 {
			a.err = errors.New("arrow: the file has too many record batches for its index, whose size has 31 bits")
		}
		a.write(binary.LittleEndian.AppendUint32(footer, uint32(len(footer))))
		a.write([]byte(magic))
	}
	err := a.err
	if err == nil {
		a.err = errClosed
	}
	return err
}

var errClosed = errors.New("arrow: write to a file that has ended")

// footer returns the index of the file.
func (a *assembler) footer() []byte {
	var f flat
	f.root()
	at := f.child(0, field{0, 2, metadataV5}, ref(1), ref(2), ref(3))
	f.addSchema(at[1], a.e.columns)
	f.vector(at[2], 0, 8) // dictionaries
	f.vector(at[3], len(a.batches), 8)
	for _, b := range a.batches {
		f.add(uint64(b.offset), 8)
		f.add(uint64(b.metadata), 8) // four bytes, and zeros
		f.add(uint64(b.body), 8)
	}
	return f.buf
}
