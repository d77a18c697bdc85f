package secureconn

import (
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"sync/atomic"
)

// kind is the type of a record.
type kind byte

const (
	kindData  kind = 1
	kindRekey kind = 2
	kindClose kind = 3
)

const (
	headerSize   = 8
	tagSize      = 16
	overhead     = headerSize + tagSize
	maxPlaintext = 512 << 10 // of the format; senders use recordSize
)

// work is a numbered record, which can be sealed or opened concurrently with others.
type work struct {
	aead     cipher.AEAD
	nonce    [nonceSize]byte
	sequence uint64
	header   []byte
	from, to []byte        // plaintext and ciphertext, or the reverse; to is empty and has capacity
	opened   *atomic.Int64 // counts bytes
}

// seal appends a record to dst, which must have capacity for it. The plaintext may be where the ciphertext will be.
func (d *direction) seal(dst []byte, k kind, plaintext []byte) ([]byte, error) {
	dst, err := d.prepare(&d.work, dst, k, plaintext)
	if err != nil {
		return dst, err
	}
	d.work.seal()
	switch k {
	case kindRekey:
		err = d.next()
	case kindClose:
		d.forget()
	}
	return dst, err
}

// prepare is seal without the sealing, which w does.
func (d *direction) prepare(w *work, dst []byte, k kind, plaintext []byte) ([]byte, error) {
	if err := d.number(w, len(plaintext)+overhead); err != nil {
		return dst, err
	}
	begin := len(dst)
	dst = append(dst, byte(k), 0, 0, 0, 0, 0, 0, 0)
	w.header, w.from, w.to = dst[begin:], plaintext, dst[len(dst):]
	binary.BigEndian.PutUint32(w.header[4:], uint32(len(plaintext)+tagSize))
	d.bytes.Add(int64(len(plaintext)))
	return dst[:len(dst)+len(plaintext)+tagSize], nil
}

func (w *work) seal() {
	w.aead.Seal(w.to, w.nonce[:], w.from, w.header)
	w.end()
}

// open appends the plaintext of a record to dst, which must have capacity for it. If the record does not open, nothing
// is appended, but the memory after dst may be overwritten.
func (d *direction) open(dst, record []byte) ([]byte, error) {
	if err := d.expect(&d.work, dst, record); err != nil {
		return dst, err
	}
	if err := d.work.open(); err != nil {
		d.forget() // no second attempt at a forgery
		return dst, err
	}
	switch kind(record[0]) {
	case kindRekey:
		if err := d.next(); err != nil {
			return dst, err
		}
	case kindClose:
		d.forget()
	}
	return dst[:len(dst)+len(record)-overhead], nil
}

// expect is open without the opening, which w does.
func (d *direction) expect(w *work, dst, record []byte) error {
	if kind(record[0]) == kindRekey && d.fresh {
		return fmt.Errorf("%w: two re-keys in a row", ErrRecord)
	}
	if err := d.number(w, len(record)); err != nil {
		return err
	}
	if d.under > d.limit {
		return fmt.Errorf("%w: more than %d bytes under one key", ErrRecord, d.limit)
	}
	d.fresh = false
	w.header, w.from, w.to, w.opened = record[:headerSize], record[headerSize:], dst, &d.bytes
	return nil
}

func (w *work) open() error {
	defer w.end()
	if _, err := w.aead.Open(w.to, w.nonce[:], w.from, w.header); err != nil {
		return fmt.Errorf("%w: number %d does not open", ErrRecord, w.sequence)
	}
	w.opened.Add(int64(len(w.from) - tagSize))
	return nil
}

// end drops the key and the caller's memory.
func (w *work) end() { w.aead, w.header, w.from, w.to = nil, nil, nil, nil }

// recordLen returns the length of a record with its header, which it checks.
func recordLen(header []byte) (int, error) {
	length := binary.BigEndian.Uint32(header[4:])
	least, most := uint32(tagSize), uint32(tagSize)
	switch kind(header[0]) {
	case kindData:
		least, most = tagSize+1, tagSize+maxPlaintext
	case kindRekey, kindClose:
	default:
		return 0, fmt.Errorf("%w: unknown type %d", ErrRecord, header[0])
	}
	if header[1]|header[2]|header[3] != 0 {
		return 0, fmt.Errorf("%w: unknown flags", ErrRecord)
	}
	if length < least || length > most {
		return 0, fmt.Errorf("%w: a length of %d bytes", ErrRecord, length)
	}
	return headerSize + int(length), nil
}
