// Package valuetext knows how the values of each type of PostgreSQL are requested, and prints those that are requested
// in the binary format as the server would print them.
package valuetext

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strconv"

	"culvert/internal/canonical"
	"culvert/source"
)

const formatBinary = 1 // of values in the protocol; 0 is text

// Encoding is how the values of a type are requested and printed.
type Encoding struct {
	Kind   source.Kind
	Format int16   // in the protocol
	Print  Printer // nil if the bytes are copied
}

// encodings are the encodings of types by their object identifiers, which never change (pg_type.dat in the PostgreSQL
// sources). Other types are Text. The server describes a domain by its base type.
//
// The binary format of bytea is its bytes. Times and UUIDs are the most expensive values of their size for the server
// to print, so they are printed here: a table with one time in eight columns takes the server an eighth less time. For
// numbers, booleans and text the binary format saves nothing.
var encodings = map[uint32]Encoding{
	16:   {Kind: source.Bool},                            // bool
	17:   {Kind: source.Bytes, Format: formatBinary},     // bytea
	20:   {Kind: source.Number},                          // int8
	21:   {Kind: source.Number},                          // int2
	23:   {Kind: source.Number},                          // int4
	26:   {Kind: source.Number},                          // oid
	114:  {Kind: source.JSON},                            // json
	700:  {Kind: source.Number},                          // float4
	701:  {Kind: source.Number},                          // float8
	1082: {source.Text, formatBinary, appendDate},        // date
	1114: {source.Text, formatBinary, appendTimestamp},   // timestamp
	1184: {source.Text, formatBinary, appendTimestampTZ}, // timestamptz
	1700: {Kind: source.Number},                          // numeric
	2950: {source.Text, formatBinary, appendUUID},        // uuid
	3802: {Kind: source.JSON},                            // jsonb
}

// Of returns the encoding of the type with an object identifier.
func Of(oid uint32) Encoding {
	if e, known := encodings[oid]; known {
		return e
	}
	return Encoding{Kind: source.Text}
}

// Printer appends the text of a value in the binary format, as the server prints it with the settings of the
// transaction. It reports whether the value has the length of its type.
type Printer func(dst, value []byte) (text []byte, ok bool)

// epoch is the zero of times, as a day since 1970, in the proleptic Gregorian calendar and without leap seconds
// (timestamp.h and date.h in the PostgreSQL sources). The highest and the lowest number are the infinities.
const epoch = 10957 // 2000-01-01

const (
	infinity      = "infinity"
	minusInfinity = "-infinity"
)

// appendDate prints a date: days in 4 bytes.
func appendDate(dst, value []byte) ([]byte, bool) {
	if len(value) != 4 {
		return dst, false
	}
	days := int32(binary.BigEndian.Uint32(value))
	switch days {
	case math.MaxInt32:
		return append(dst, infinity...), true
	case math.MinInt32:
		return append(dst, minusInfinity...), true
	}
	dst, before := appendYMD(dst, int64(days))
	return append(dst, before...), true
}

// appendTimestamp prints a time without a zone: microseconds in 8 bytes.
func appendTimestamp(dst, value []byte) ([]byte, bool) { return appendTime(dst, value, "") }

// appendTimestampTZ prints a time in UTC: microseconds in 8 bytes.
func appendTimestampTZ(dst, value []byte) ([]byte, bool) { return appendTime(dst, value, "+00") }

func appendTime(dst, value []byte, zone string) ([]byte, bool) {
	if len(value) != 8 {
		return dst, false
	}
	micros := int64(binary.BigEndian.Uint64(value))
	switch micros {
	case math.MaxInt64:
		return append(dst, infinity...), true
	case math.MinInt64:
		return append(dst, minusInfinity...), true
	}
	const second, day = 1e6, 24 * 60 * 60 * 1e6 // in microseconds
	days, ofDay := micros/day, micros%day
	if ofDay < 0 {
		days, ofDay = days-1, ofDay+day
	}
	dst, before := appendYMD(dst, days)
	seconds, fraction := uint32(ofDay/second), uint32(ofDay%second)
	const whole, usual = len(" 15:04:05"), len(" 15:04:05.000000")
	dst = slices.Grow(dst, usual)
	clock := (*[usual]byte)(dst[len(dst):][:usual])
	clock[0], clock[3], clock[6], clock[whole] = ' ', ':', ':', '.'
	putTwo(clock[1:], seconds/3600)
	putTwo(clock[4:], seconds/60%60)
	putTwo(clock[7:], seconds%60)
	end := whole
	if fraction != 0 {
		putTwo(clock[10:], fraction/10_000)
		putTwo(clock[12:], fraction/100%100)
		putTwo(clock[14:], fraction%100)
		for end = usual; clock[end-1] == '0'; end-- { // it has no zeros at its end
		}
	}
	dst = append(dst[:len(dst)+end], zone...)
	return append(dst, before...), true
}

// appendYMD prints year, month and day of a day since the epoch, the year with at least four digits. It returns the
// suffix of the whole text: the year before 1 is 1 BC.
func appendYMD(dst []byte, days int64) (_ []byte, before string) {
	year, month, day := canonical.DayOf(epoch + days)
	if year <= 0 {
		year, before = 1-year, " BC"
	}
	if year > 9999 {
		dst = strconv.AppendInt(dst, int64(year), 10)
	} else {
		dst = appendTwo(appendTwo(dst, year/100), year%100)
	}
	const size = len("-01-02")
	dst = slices.Grow(dst, size)
	md := (*[size]byte)(dst[len(dst):][:size])
	md[0], md[3] = '-', '-'
	putTwo(md[1:], uint32(month))
	putTwo(md[4:], uint32(day))
	return dst[:len(dst)+size], before
}

// appendTwo prints a number below 100 with two digits.
func appendTwo(dst []byte, n int) []byte { return binary.LittleEndian.AppendUint16(dst, twoDigits[n]) }

// putTwo prints a number below 100 with two digits.
func putTwo(dst []byte, n uint32) { binary.LittleEndian.PutUint16(dst, twoDigits[n]) }

// twoDigits has the digits of the numbers below 100.
var twoDigits = func() (all [100]uint16) {
	for n := range all {
		all[n] = '0' + uint16(n/10) | ('0'+uint16(n%10))<<8
	}
	return all
}()

// appendUUID prints 16 bytes in groups of 4, 2, 2, 2 and 6.
func appendUUID(dst, value []byte) ([]byte, bool) {
	if len(value) != 16 {
		return dst, false
	}
	dst = hex.AppendEncode(dst, value[:4])
	for _, group := range [...][]byte{value[4:6], value[6:8], value[8:10], value[10:]} {
		dst = hex.AppendEncode(append(dst, '-'), group)
	}
	return dst, true
}
