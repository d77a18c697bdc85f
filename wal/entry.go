package wal

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// Entry is a payload ready made: a versioned value under a key. Version and Created are up to the user of the log,
// which only keeps them.
type Entry struct {
	Version uint64
	Key     string // any bytes, at least one
	Value   []byte
	Created time.Time // to the nanosecond, with its offset from UTC but without the name of its zone
}

// An encoded entry is
//
//	offset  size
//	   0      1   version of the encoding: 1
//	   1      8   Version
//	   9      8   Created: seconds since 1970 in UTC, signed
//	  17      4   Created: nanoseconds
//	  21      4   Created: offset from UTC in seconds, signed
//	  25      4   length of Key
//	  29          Key, then Value up to the end
const (
	entryEncoding = 1
	entryHead     = 29
)

// AppendBinary appends the encoded entry to b. It fails with [ErrEmpty] without a key, and with [ErrTooLarge] if the
// key has 4 GiB.
func (e *Entry) AppendBinary(b []byte) ([]byte, error) {
	if e.Key == "" {
		return b, fmt.Errorf("%w key", ErrEmpty)
	}
	if int64(len(e.Key)) > math.MaxUint32 {
		return b, ErrTooLarge
	}
	_, offset := e.Created.Zone()
	b = append(b, entryEncoding)
	b = binary.LittleEndian.AppendUint64(b, e.Version)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.Created.Unix()))
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Created.Nanosecond()))
	b = binary.LittleEndian.AppendUint32(b, uint32(offset))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(e.Key)))
	b = append(b, e.Key...)
	return append(b, e.Value...), nil
}

// UnmarshalBinary decodes an entry. Value is a part of b, not a copy. Whatever b is, decoding it takes no more memory
// than the key.
func (e *Entry) UnmarshalBinary(b []byte) error {
	if len(b) < entryHead || b[0] != entryEncoding {
		return errNotEntry
	}
	nanoseconds := binary.LittleEndian.Uint32(b[17:])
	offset := int32(binary.LittleEndian.Uint32(b[21:]))
	key := uint64(binary.LittleEndian.Uint32(b[25:]))
	if nanoseconds >= 1e9 || key == 0 || key > uint64(len(b)-entryHead) {
		return errNotEntry
	}
	created := time.Unix(int64(binary.LittleEndian.Uint64(b[9:])), int64(nanoseconds)).UTC()
	if offset != 0 {
		created = created.In(time.FixedZone("", int(offset)))
	}
	*e = Entry{
		Version: binary.LittleEndian.Uint64(b[1:]),
		Key:     string(b[entryHead : entryHead+key]),
		Value:   b[entryHead+key:],
		Created: created,
	}
	return nil
}
