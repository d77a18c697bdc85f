package mask

import (
	"encoding/base32"
	"encoding/hex"
	"slices"
	"strconv"

	"culvert/source"
)

// lower is the alphabet of hashes in text. It has one case, since some databases do not tell them apart.
var lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

const (
	hashBytes  = 20 // of the hash of a text: 160 bits
	hashSize   = 32 // as text
	uniqueSize = 16 // 80 bits: among 100 million values, two meet with a probability of 1 in 100 million
	emailBytes = uniqueSize * 5 / 8
	emailHost  = "@example.com" // nobody has mail there (RFC 2606)
	emailSize  = uniqueSize + len(emailHost)
	uuidSize   = 36
)

// newHash masks a value by one of the same type.
func newHash(k *Key, c source.Column) masking {
	texts, numbers := newPRF(k, "hash"), newPermuter(k, "number")
	octets := newPermuter(k, "bytes")
	days := newDays(numbers)
	tiers := tiersOf(c)
	size := hashSize
	if c.Logical.Length > 0 && isText(c.Logical) {
		size = min(size, c.Logical.Length)
	}
	var symbols []symbol
	var id []byte
	return func(dst []byte, kind source.Kind, value []byte) (_ source.Kind, _ []byte, err error) {
		switch {
		case kind == source.Number:
			dst, err = hashNumber(dst, value, numbers, tiers)
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
			if id = appendID(id[:0], value); len(id) > 0 {
				// A UUID stays one. The text may be of either case, but the value is the same.
				dst = appendUUID(dst, texts.of(id))
				break
			}
			dst = hashText(dst, value, texts, size)
		}
		return kind, dst, err
	}
}

// hashText masks a text.
func hashText(dst, value []byte, texts *prf, size int) []byte {
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
	texts := newPRF(k, "email")
	return func(dst []byte, kind source.Kind, value []byte) (source.Kind, []byte, error) {
		if kind != source.Text {
			return kind, dst, errNotText
		}
		if value = trimmed(c, value); len(value) == 0 {
			return kind, dst, nil
		}
		dst = lower.AppendEncode(dst, texts.of(value)[:emailBytes])
		return kind, append(dst, emailHost...), nil
	}
}

// tiersOf returns the ranges in which whole numbers stay: up to each of these, and above the one before. So a number
// becomes the same in a smallint and in a bigint, and fits both. The sign stays, and so does 0.
func tiersOf(c source.Column) []uint64 {
	tiers := []uint64{1<<15 - 1, 1<<31 - 1, 1<<63 - 1, 1<<64 - 1}
	most := largest(c)
	for i, tier := range tiers {
		if most <= tier {
			return append(slices.Clone(tiers[:i]), most)
		}
	}
	return tiers
}

// hashNumber masks a decimal number, whose digits are permuted as those of a whole number.
func hashNumber(dst, value []byte, numbers *permuter, tiers []uint64) ([]byte, error) {
	var d decimal
	if isSpecial(value) {
		return append(dst, value...), nil
	}
	switch {
	case !d.parse(value) || d.exponent:
		return dst, errNotNumber
	case d.large:
		return hashLarge(dst, value, numbers), nil
	}
	low := uint64(0)
	for _, tier := range tiers {
		if d.digits > low && d.digits <= tier {
			d.digits = low + 1 + numbers.number(d.digits-low-1, tier-low)
			break
		}
		low = tier
	}
	return d.append(dst), nil
}

// hashLarge masks a number that is larger than any tier, by one with as many digits.
func hashLarge(dst, value []byte, numbers *permuter) []byte {
	begin := len(dst)
	dst = append(dst, value...)
	var symbols []symbol
	for d := (decimal{large: false}); !d.large; d.parse(dst[begin:]) {
		symbols = symbols[:0]
		for _, b := range dst[begin:] {
			switch {
			case isDigit(b) && len(symbols) > 0:
				symbols = append(symbols, symbol{uint32(b - '0'), 10})
			case isDigit(b) && b != '0':
				symbols = append(symbols, symbol{uint32(b - '1'), 9})
			}
		}
		numbers.tweak = [len(numbers.tweak)]byte{}
		numbers.symbols(symbols)
		next := 0
		for i, b := range dst[begin:] {
			switch {
			case isDigit(b) && next > 0:
				dst[begin+i] = '0' + byte(symbols[next].value)
				next++
			case isDigit(b) && b != '0':
				dst[begin+i] = '1' + byte(symbols[next].value)
				next++
			}
		}
	}
	return dst
}

// appendInt is strconv's, for positive numbers.
func appendInt(dst []byte, n uint64) []byte { return strconv.AppendUint(dst, n, 10) }
