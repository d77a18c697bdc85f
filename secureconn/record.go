package secureconn

import (
	"encoding/binary"
	"fmt"
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
	maxPlaintext = 512 << 10 // a bound of the format; senders use recordSize
)

// seal appends a record to dst, which has room for it. The plaintext may already be where its ciphertext will be.
func (d *direction) seal(dst []byte, k kind, plaintext []byte) ([]byte, error) {
	nonce, err := d.number(len(plaintext) + overhead)
	if err != nil {
		return dst, err
	}
	begin := len(dst)
	dst = append(dst, byte(k), 0, 0, 0, 0, 0, 0, 0)
	header := dst[begin:]
	binary.BigEndian.PutUint32(header[4:], uint32(len(plaintext)+tagSize))
	dst = d.aead.Seal(dst, nonce, plaintext, header)
	switch k {
	case kindRekey:
		err = d.next()
	case kindClose:
		d.forget()
	}
	d.bytes.Add(int64(len(plaintext)))
	return dst, err
}

// open appends the plaintext of a whole record to dst, which has room for it. If the record does not open, nothing is
// appended, and what the room held is lost.
func (d *direction) open(dst, record []byte) ([]byte, error) {
	k := kind(record[0])
	if k == kindRekey && d.fresh {
		return dst, fmt.Errorf("%w: two re-keys in a row", ErrRecord)
	}
	nonce, err := d.number(len(record))
	if err != nil {
		return dst, err
	}
	if d.under > d.limit {
		return dst, fmt.Errorf("%w: more than %d bytes under one key", ErrRecord, d.limit)
	}
	plaintext, err := d.aead.Open(dst, nonce, record[headerSize:], record[:headerSize])
	if err != nil {
		d.forget() // one guess is all that somebody who forges records has
		return dst, fmt.Errorf("%w: number %d does not open", ErrRecord, d.sequence-1)
	}
	d.fresh = false
	switch k {
	case kindRekey:
		if err := d.next(); err != nil {
			return dst, err
		}
	case kindClose:
		d.forget()
	}
	d.bytes.Add(int64(len(record) - overhead))
	return plaintext, nil
}

// recordLen gives the length of a record, header included, by its header.
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
