package arrowread

import (
	"encoding/binary"
	"errors"
	"math"
	"sync"
)

// The numbers of the specification (Message.fbs, File.fbs).
const (
	schemaHeader     = 1
	dictionaryHeader = 2
	batchHeader      = 3

	oldestVersion = 3 // V4, of Arrow 0.8

	continuation = math.MaxUint32 // begins a message, but not in Arrow before 0.15
	word         = 4
	blockSize    = 24
	tailSize     = word + len(magic)

	largestFooter   = 256 << 20
	largestMetadata = 64 << 20
	usualMetadata   = 4 << 10 // how much is read at first

	mostRows = math.MaxInt32 // of a record batch, as the specification advises
)

// block is where a message is.
type block struct {
	at       int64
	metadata int32 // bytes, with what is before them
	body     int64
	before   int // dictionaries that it may use: of a stream those before it, of a file all

	// Of a dictionary:
	id    int64
	delta bool // its values follow those of the one before
}

// batch is a record batch.
type batch struct {
	block
	rows  int64
	first int64 // rows before it
	codec codec
}

var (
	errFooter  = errors.New("its footer is damaged")
	errMessage = errors.New("a message is damaged")
	errVersion = errors.New("it was written by Arrow before version 0.8, which is not read")
)

// message is the metadata of a message.
type message struct {
	kind   int
	header table
	body   int64
}

func parseMessage(metadata []byte) (m message, err error) {
	f := newFlat(metadata)
	t := f.root()
	version := t.enum(0)
	m = message{kind: t.u8(1), body: t.i64(3)}
	var is bool
	m.header, is = t.table(2)
	switch {
	case f.bad || m.body < 0 || !is:
		return m, errMessage
	case version < oldestVersion:
		return m, errVersion
	}
	return m, nil
}

// trim returns the metadata of a message without what is before it: its size, and since Arrow 0.15 a mark.
func trim(text []byte) []byte {
	if len(text) >= word && binary.LittleEndian.Uint32(text) == continuation {
		text = text[word:]
	}
	return text[min(word, len(text)):]
}

// message reads the metadata of the message of a block.
func (f *file) message(b *block, buf []byte) (message, []byte, error) {
	if cap(buf) < int(b.metadata) {
		buf = make([]byte, b.metadata)
	}
	buf = buf[:b.metadata]
	if err := readAt(f.src, buf, b.at); err != nil {
		return message{}, buf, err
	}
	m, err := parseMessage(trim(buf))
	return m, buf, err
}

// check reports whether a block is in the first end bytes of the file.
func (b *block) check(end int64) bool {
	return b.at >= 0 && b.metadata > word && b.metadata <= largestMetadata && b.body >= 0 && b.at <= end &&
		int64(b.metadata) <= end-b.at && b.body <= end-b.at-int64(b.metadata)
}

// openFile reads the footer, which says where the messages are, and their metadata.
func (f *file) openFile() error {
	var tail [tailSize]byte
	if f.size < int64(magicSize+tailSize) {
		return errNotArrow
	}
	if err := readAt(f.src, tail[:], f.size-int64(tailSize)); err != nil {
		return err
	}
	size := int64(binary.LittleEndian.Uint32(tail[:]))
	end := f.size - int64(tailSize) - size
	switch {
	case string(tail[word:]) != magic:
		return errNotArrow
	case end < magicSize || size > largestFooter:
		return errFooter
	}
	footer := make([]byte, size)
	if err := readAt(f.src, footer, end); err != nil {
		return err
	}
	if err := f.parseFooter(newFlat(footer).root(), end); err != nil {
		return err
	}
	return f.readBlocks()
}

// parseFooter finds the columns, and where the messages are.
func (f *file) parseFooter(t table, end int64) error {
	schema, is := t.table(1)
	if !is || t.f.bad {
		return errFooter
	}
	if err := f.buildSchema(schema); err != nil {
		return err
	}
	for _, field := range []int{2, 3} {
		for blocks := t.structs(field, blockSize); len(blocks) > 0; blocks = blocks[blockSize:] {
			b := block{
				at:       int64(binary.LittleEndian.Uint64(blocks)),
				metadata: int32(binary.LittleEndian.Uint32(blocks[8:])),
				body:     int64(binary.LittleEndian.Uint64(blocks[16:])),
			}
			switch {
			case !b.check(end):
				return errFooter
			case field == 2:
				f.dictionaries = append(f.dictionaries, b)
			default:
				f.batches = append(f.batches, batch{block: b})
			}
		}
	}
	if t.f.bad {
		return errFooter
	}
	return nil
}

// readBlocks reads the metadata of all messages that the footer lists, several at once, since each may be far away.
func (f *file) readBlocks() error {
	const readers = 16
	var all sync.WaitGroup
	var errs [readers]error
	for first := range readers {
		all.Go(func() {
			var buf []byte
			for i := first; i < len(f.dictionaries)+len(f.batches) && errs[first] == nil; i += readers {
				buf, errs[first] = f.readBlock(i, buf)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// readBlock reads the metadata of a message, of which the dictionaries are the first.
func (f *file) readBlock(i int, buf []byte) ([]byte, error) {
	n := len(f.dictionaries)
	if i < n {
		b := &f.dictionaries[i]
		b.before = n
		m, buf, err := f.message(b, buf)
		if err == nil && m.kind != dictionaryHeader {
			err = errMessage
		}
		if err == nil {
			err = b.describe(m.header)
		}
		return buf, err
	}
	b := &f.batches[i-n]
	b.before = n
	m, buf, err := f.message(&b.block, buf)
	if err == nil && m.kind != batchHeader {
		err = errMessage
	}
	if err == nil {
		err = b.describe(m.header)
	}
	return buf, err
}

// describe finds what a DictionaryBatch is.
func (b *block) describe(t table) error {
	b.id, b.delta = t.i64(0), t.u8(2) != 0
	if t.f.bad {
		return errMessage
	}
	return nil
}

// describe finds what a RecordBatch is.
func (b *batch) describe(t table) (err error) {
	b.rows = t.i64(0)
	if b.codec, err = codecOf(t); err != nil {
		return err
	}
	if t.f.bad || b.rows < 0 || b.rows > mostRows {
		return errMessage
	}
	return nil
}

// scan finds the messages of a stream, one after the other. Their bodies are not read.
func (f *file) scan() error {
	var buf []byte
	for at := int64(0); ; {
		b, metadata, err := f.next(at, &buf)
		switch {
		case err != nil:
			return err
		case b.metadata == 0 && at == 0:
			return errNotArrow
		case b.metadata == 0 && at+b.body != f.size:
			return errAfterEnd
		case b.metadata == 0:
			return nil
		}
		m, err := parseMessage(metadata)
		if at == 0 && (err != nil && err != errVersion || err == nil && m.kind != schemaHeader) {
			return errNotArrow
		}
		if err != nil {
			return err
		}
		if b.body = m.body; !b.check(f.size) {
			return errNotArrow
		}
		if err := f.add(b, m); err != nil {
			return err
		}
		at += int64(b.metadata) + b.body
	}
}

// add adds a message of a stream.
func (f *file) add(b block, m message) error {
	b.before = len(f.dictionaries)
	switch {
	case m.kind == schemaHeader && b.at == 0:
		return f.buildSchema(m.header)
	case m.kind == dictionaryHeader:
		if err := b.describe(m.header); err != nil {
			return err
		}
		f.dictionaries = append(f.dictionaries, b)
		return nil
	case m.kind == batchHeader:
		one := batch{block: b}
		if err := one.describe(m.header); err != nil {
			return err
		}
		f.batches = append(f.batches, one)
		return nil
	default:
		return errMessage
	}
}

// next reads the metadata of the message at a place of a stream. That of the end is empty; its body has the bytes of
// the mark.
func (f *file) next(at int64, buf *[]byte) (b block, metadata []byte, err error) {
	left := f.size - at
	if left < word {
		return b, nil, errNoEnd
	}
	*buf = sized(*buf, int(min(left, usualMetadata)))
	if err := readAt(f.src, *buf, at); err != nil {
		return b, nil, err
	}
	before := int64(word)
	size := binary.LittleEndian.Uint32(*buf)
	if size == continuation {
		if before += word; left < before {
			return b, nil, errNoEnd
		}
		size = binary.LittleEndian.Uint32((*buf)[word:])
	}
	if size == 0 {
		return block{at: at, body: before}, nil, nil
	}
	if all := before + int64(size); size > largestMetadata || all > left {
		return b, nil, errNotArrow
	} else if have := int64(len(*buf)); all > have {
		more := make([]byte, all)
		copy(more, *buf)
		*buf = more
		if err := readAt(f.src, more[have:], at+have); err != nil {
			return b, nil, err
		}
	}
	all := before + int64(size)
	return block{at: at, metadata: int32(all)}, (*buf)[before:all], nil
}

func sized(buf []byte, n int) []byte {
	if cap(buf) < n {
		return make([]byte, n)
	}
	return buf[:n]
}
