package mask

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"hash"
	"strconv"
	"unicode"

	"culvert/source"
)

// lower is the alphabet of hashes in text. It has one case, since some databases do not tell them apart.
var lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

const (
	hashBytes  = 16 // of the hash of a text: 128 bits
	hashSize   = 26 // as text
	uniqueSize = 16 // 80 bits: among 100 million values, two meet with a probability of 1 in 100 million
	emailBytes = uniqueSize * 5 / 8
	emailHost  = "@example.com" // nobody has mail there (RFC 2606)
	emailSize  = uniqueSize + len(emailHost)
	uuidSize   = 36
)

// newHash masks a value by one of the same type.
func newHash(k *Key, c source.Column) masking {
	texts, permuter := newHMAC(k, "hash"), newPermuter(k, "number")
	octets := newPermuter(k, "bytes")
	numbers, days := newNumberHash(permuter, c), newDays(permuter)
	size := hashSize
	if c.Logical.Length > 0 && isText(c.Logical) {
		size = min(size, c.Logical.Length)
	}
	var symbols []symbol
	var id []byte
	return each(func(dst []byte, kind source.Kind, value []byte) (_ source.Kind, _ []byte, err error) {
		switch {
		case kind == source.Number:
			dst, err = numbers.append(dst, value)
		case kind == source.Bytes && len(value) <= uniqueSize:
			symbols = symbols[:0]
			for _, b := range value {
				symbols = append(symbols, symbol{uint32(b), 256})
			}
			octets.symbols(symbols)
			for _, s := range symbols {
				dst = append(dst, byte(s.value))
			}
		case kind == source.Bytes:
			sum := texts.of(value)
			dst = append(dst, sum[:min(len(sum), len(value))]...)
		case kind != source.Text:
			err = errNotText
		case c.Logical.Class == source.DateClass:
			dst, err = days.permute(dst, value)
		default:
			value = trimmed(c, value)
			id = appendID(id[:0], value)
			switch {
			case len(id) == 0:
				dst = hashText(dst, value, texts, size)
			case c.Logical.Class == source.UUIDClass || bytes.IndexFunc(value, unicode.IsUpper) < 0:
				dst = appendUUID(dst, texts.of(id)) // a UUID stays one, also in a text
			default:
				dst = appendUUID(dst, texts.of(value)) // texts of another case are other values
			}
		}
		return kind, dst, err
	})
}

// hashText masks a text.
func hashText(dst, value []byte, texts *keyedHash, size int) []byte {
	if len(value) == 0 {
		return dst
	}
	begin := len(dst)
	dst = lower.AppendEncode(dst, texts.of(value)[:hashBytes])
	return dst[:begin+size]
}

// appendID appends the bytes of a UUID, or nothing if the text is none.
func appendID(id, text []byte) []byte {
	if len(text) != uuidSize {
		return id
	}
	ends := [...]int{8, 13, 18, 23, 36}
	begin := 0
	for _, end := range ends {
		var err error
		if id, err = hex.AppendDecode(id, text[begin:end]); err != nil || end < len(text) && text[end] != '-' {
			return id[:0]
		}
		begin = end + 1
	}
	return id
}

// appendUUID appends a UUID of version 4, whose random bits are those of a hash.
func appendUUID(dst, sum []byte) []byte {
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80
	for i, end := range []int{4, 6, 8, 10, 16} {
		begin := []int{0, 4, 6, 8, 10}[i]
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, sum[begin:end])
	}
	return dst
}

// newEmail masks an address.
func newEmail(k *Key, c source.Column) masking {
	texts := newCMAC(k, "email")
	return each(func(dst []byte, kind source.Kind, value []byte) (source.Kind, []byte, error) {
		if kind != source.Text {
			return kind, dst, errNotText
		}
		if value = trimmed(c, value); len(value) == 0 {
			return kind, dst, nil
		}
		dst = lower.AppendEncode(dst, texts.of(value)[:emailBytes])
		return kind, append(dst, emailHost...), nil
	})
}

// appendInt is strconv's, for positive numbers.
func appendInt(dst []byte, n uint64) []byte { return strconv.AppendUint(dst, n, 10) }

// keyedHash is HMAC-SHA-256 with a key of its own for one purpose.
type keyedHash struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

func newHMAC(k *Key, purpose string) *keyedHash {
	secret := k.derive(purpose)
	return &keyedHash{mac: hmac.New(sha256.New, secret[:])}
}

// of returns the hash of a value, which is valid until the next call.
func (h *keyedHash) of(value []byte) []byte {
	h.mac.Reset()
	h.mac.Write(value)
	return h.mac.Sum(h.sum[:0])
}
