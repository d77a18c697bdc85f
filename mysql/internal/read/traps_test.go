package read_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// trap is a type of a column, values that get lost on the way elsewhere, and how to make others.
type trap struct {
	class  class
	sql    string   // type
	values []string // as SQL
	random func(r *rand.Rand) string
}

// class is how a value is written into a statement, and how the server compares it byte by byte.
type class int

const (
	plain  class = iota // written in quotes, compared as text
	float               // compared as a double
	bits                // written as a number, compared in hexadecimal
	chars               // written and compared in hexadecimal
	member              // of an enum or set: the same, and compared by its number too
	binary              // written and compared in hexadecimal, and \x with hexadecimal digits in both formats
	json                // chars that stand in JSON Lines as they are
)

// traps are all types, each in a column of its own.
var traps = []trap{
	{plain, "tinyint(1)", []string{"-128", "127", "0", "1", "TRUE"}, integer(8, true)},
	{plain, "tinyint unsigned", []string{"255", "0"}, integer(8, false)},
	{plain, "smallint", []string{"-32768", "32767"}, integer(16, true)},
	{plain, "smallint(5) unsigned zerofill", []string{"65535", "1"}, integer(16, false)},
	{plain, "mediumint", []string{"-8388608", "8388607"}, integer(24, true)},
	{plain, "mediumint unsigned", []string{"16777215"}, integer(24, false)},
	{plain, "int", []string{"-2147483648", "2147483647"}, integer(32, true)},
	{plain, "int(10) unsigned zerofill", []string{"4294967295", "7"}, integer(32, false)},
	{plain, "bigint", []string{"-9223372036854775808", "9223372036854775807", "9007199254740993"}, integer(64, true)},
	{plain, "bigint unsigned", []string{"18446744073709551615", "9223372036854775808", "0"}, integer(64, false)},
	{plain, "decimal(65,30)", []string{
		"99999999999999999999999999999999999.999999999999999999999999999999",
		"-99999999999999999999999999999999999.999999999999999999999999999999",
		"0.000000000000000000000000000001", "-0.000000000000000000000000000001", "0", "-0.0",
	}, decimal(35, 30)},
	{plain, "decimal(65,0)", []string{strings.Repeat("9", 65), "-" + strings.Repeat("9", 65)}, decimal(65, 0)},
	{plain, "decimal(38,38)", []string{"0." + strings.Repeat("9", 38)}, decimal(0, 38)},
	{plain, "decimal(6,2) unsigned zerofill", []string{"1.5", "9999.99", "0"}, func(r *rand.Rand) string {
		return strings.TrimPrefix(decimal(4, 2)(r), "-")
	}},
	{float, "float", []string{
		"0.1", "16777217", "3.4028234663852886e38", "-3.4028234663852886e38", "1.1754943508222875e-38", "1e-45",
		"1.00000012", "123456.789", "-0e0",
	}, func(r *rand.Rand) string {
		return finite(r, func() float64 { return float64(math.Float32frombits(r.Uint32())) })
	}},
	{float, "double", []string{
		"0.1e0 + 0.2e0", "1.7976931348623157e308", "-1.7976931348623157e308", "2.2250738585072014e-308", "5e-324",
		"9007199254740993e0", "1e15", "1e23", "-0e0",
	}, func(r *rand.Rand) string {
		return finite(r, func() float64 { return math.Float64frombits(r.Uint64()) })
	}},
	{bits, "bit(1)", []string{"b'1'", "b'0'"}, integer(1, false)},
	{bits, "bit(12)", []string{"b'101000000001'", "b'1010'"}, integer(12, false)},
	{bits, "bit(64)", []string{"~0", "1 << 63", "0"}, integer(64, false)},
	{plain, "year", []string{"0", "1901", "2155", "1970"}, func(r *rand.Rand) string {
		return strconv.Itoa(1901 + r.IntN(255))
	}},
	{plain, "date", []string{"'0000-00-00'", "'2026-00-00'", "'2026-02-00'", "'0001-01-01'", "'9999-12-31'"}, day},
	{plain, "datetime", []string{"'0000-00-00'", "'9999-12-31 23:59:59'", "'0001-01-01 00:00:01'"}, moment(0)},
	{plain, "datetime(3)", []string{"'0000-00-00'", "'2026-01-02 03:04:05.120'"}, moment(3)},
	{plain, "datetime(6)", []string{
		"'0000-00-00'", "'9999-12-31 23:59:59.999999'", "'2026-00-00 00:00:00.000001'",
	}, moment(6)},
	{plain, "timestamp(6) NULL", []string{
		"0", "'1970-01-01 00:00:00.000001'", "'2038-01-19 03:14:07.999999'", "'2026-03-29 01:30:00'",
	}, func(r *rand.Rand) string {
		return fmt.Sprintf("FROM_UNIXTIME(%d.%06d)", 1+r.Int32N(math.MaxInt32), r.IntN(1e6))
	}},
	{plain, "time", []string{"'838:59:59'", "'-838:59:59'", "0", "'-00:00:01'", "'24:00:00'"}, span(0)},
	{plain, "time(6)", []string{
		"'838:59:59.999999'", "'-838:59:59.999999'", "'-00:00:00.000001'", "'100:00:00'",
	}, span(6)},
	{chars, "char(20)", []string{"''", "'a  '", "' a'", "'NULL'", `'\\N'`}, letters(20)},
	{chars, "varchar(40)", []string{
		"''", "'a  '", "' '", "'NULL'", "'null'", `'\\N'`, `'\\.'`, `'\\'`, `'"'`, `'""'`, "','", `'\n'`, `'\r'`,
		`'\r\n'`,
		`'\t'`, `'''; -- '`, `'=1+1'`, `'\0'`, `CONCAT('a', CHAR(0), 'b')`, `'\Z'`, "'0012'", "'1e5'", "'{}'", "'t'",
		`'\\x00'`, `'\\u0000'`,
	}, letters(40)},
	{chars, "varchar(40) COLLATE utf8mb4_bin", []string{"'Binary'", "'binary'"}, letters(40)},
	{chars, "longtext", []string{
		"''", "REPEAT('0123456789', 30000)", "CONVERT(x'f48fbfbfefbfbfe280a8e280a9c285eebfbf7f01' USING utf8mb4)",
		"'e\u0301 \u00e9 \u202e \ufeff 😀 表'", "REPEAT('\"', 1000)", `REPEAT('\n', 1000)`, "CHAR(0)",
	}, letters(300)},
	{chars, "varchar(300) CHARACTER SET latin1", []string{"'äö€'", "_latin1 x'" + allBytes() + "'"}, latin(300)},
	{chars, "text CHARACTER SET latin1 COLLATE latin1_bin", []string{"'é'", "_latin1 x'ff00'"}, latin(40)},
	{chars, "varchar(20) CHARACTER SET ucs2", []string{"'表'", "_ucs2 x'0000fffe'"}, nil},
	{chars, "varchar(20) CHARACTER SET utf16", []string{"'😀'"}, letters(20)},
	{chars, "varchar(20) CHARACTER SET utf32", []string{"'😀'"}, letters(20)},
	{chars, "varchar(20) CHARACTER SET utf8mb3", []string{"'表'"}, nil},
	{chars, "varchar(20) CHARACTER SET sjis", []string{"'表'", "'ソ'"}, nil},
	{chars, "varchar(20) CHARACTER SET gbk", []string{"'表'"}, nil},
	{chars, "varchar(20) CHARACTER SET koi8r", []string{"'ж'"}, nil},
	{
		member, "enum('a','b''c','','1','0','x,y','\"')",
		[]string{"'a'", "'b''c'", "''", "'1'", "'0'", "'x,y'", "'\"'"},
		func(r *rand.Rand) string { return strconv.Itoa(1 + r.IntN(7)) },
	},
	{member, "enum('a')", []string{"0"}, nil}, // what was not a member
	{member, "set('x','y','1','ä ','\"')", []string{"''", "'x'", "'y,x'", "'1'", "31"}, integer(5, false)},
	{json, "json", []string{
		`'{"a": 1e400, "a": "\\u0000"}'`, `'[1.0, 1.10, -0, 9007199254740993]'`, `'"text"'`, "'true'", "'12'", "'{}'",
		`'[ 1 ,2]'`, `'{"": "\\"\\\\/\\b", "ä": "😀"}'`, `'"\\ud83d\\ude00"'`,
	}, func(r *rand.Rand) string {
		return fmt.Sprintf(`'{"n": %d, "s": "\\u%04x"}'`, r.Int64(), r.IntN(0xd800))
	}},
	{binary, "binary(4)", []string{"''", "x'00ff'", "'a   '"}, bytesOf(4)},
	{binary, "varbinary(300)", []string{"''", "x'00'", "'text'", "x'" + allBytes() + "'"}, bytesOf(300)},
	{binary, "longblob", []string{"''", "x'c0af'", "REPEAT(x'ff00', 100000)"}, bytesOf(300)},
	{binary, "point", []string{"ST_GeomFromText('POINT(1 -2)', 7)", "POINT(1e300, 5e-324)"}, func(r *rand.Rand) string {
		return fmt.Sprintf("POINT(%d, %d.5)", r.Int32(), r.Int32())
	}},
	{binary, "geometry", []string{
		"ST_GeomFromText('POLYGON((0 0, 1 0, 1 1, 0 0))', 4326)", "ST_GeomFromText('GEOMETRYCOLLECTION EMPTY')",
		"ST_GeomFromText('MULTIPOINT(1 2, 3 4)')",
	}, nil},
	{plain, "uuid", []string{"'7b0d2a5e-0c1f-4e6b-9a55-0123456789ab'", "'00000000-0000-0000-0000-000000000000'"}, nil},
	{plain, "inet6", []string{"'2001:db8::1'", "'::'", "'::ffff:1.2.3.4'"}, nil},
}

func allBytes() string {
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%02x", i)
	}
	return b.String()
}

func integer(bits int, signed bool) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		v := r.Uint64() >> r.IntN(64) // small ones too
		if signed {
			return strconv.FormatInt(int64(v)<<(64-bits)>>(64-bits), 10)
		}
		return strconv.FormatUint(v<<(64-bits)>>(64-bits), 10)
	}
}

func decimal(whole, fraction int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		text := []string{"", "-"}[r.IntN(2)] + "0"
		for range r.IntN(whole + 1) {
			text += strconv.Itoa(r.IntN(10))
		}
		text += "."
		for range r.IntN(fraction + 1) {
			text += strconv.Itoa(r.IntN(10))
		}
		return text + "0"
	}
}

func finite(r *rand.Rand, next func() float64) string {
	v := next()
	for math.IsNaN(v) || math.IsInf(v, 0) {
		v = next()
	}
	if r.IntN(3) == 0 {
		v = math.Round(r.NormFloat64()*1000) / 100
	}
	return strconv.FormatFloat(v, 'e', -1, 64)
}

func day(r *rand.Rand) string {
	return fmt.Sprintf("'%04d-%02d-%02d'", 1+r.IntN(9999), r.IntN(13), r.IntN(29))
}

func fractionOf(r *rand.Rand, digits int) string {
	if digits == 0 {
		return ""
	}
	return fmt.Sprintf(".%06d", r.IntN(1e6))[:1+digits]
}

func moment(digits int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		return fmt.Sprintf("%s %02d:%02d:%02d%s'", strings.TrimSuffix(day(r), "'"),
			r.IntN(24), r.IntN(60), r.IntN(60), fractionOf(r, digits))
	}
}

func span(digits int) func(*rand.Rand) string {
	return func(r *rand.Rand) string {
		return fmt.Sprintf("'%s%02d:%02d:%02d%s'", []string{"", "-"}[r.IntN(2)],
			r.IntN(839), r.IntN(60), r.IntN(60), fractionOf(r, digits))
	}
}

// letters makes texts of what formats treat in a way of its own, and of others.
func letters(length int) func(*rand.Rand) string {
	alphabet := []rune("\x00\x01\b\t\n\v\f\r\x1a\x1b \"\"'',,;\\\\\\.{}[]:=+-@nNtrux0019aZ\x7f" +
		"\u0080é\u2028表\ufeff\ufffd😀\U0010ffff")
	return func(r *rand.Rand) string {
		var b strings.Builder
		for range r.IntN(length + 1) {
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		return fmt.Sprintf("CONVERT(x'%x' USING utf8mb4)", b.String())
	}
}

func randomBytes(r *rand.Rand, length int) []byte {
	some := make([]byte, r.IntN(length+1))
	for i := range some {
		some[i] = byte(r.Uint32())
	}
	return some
}

func latin(length int) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return fmt.Sprintf("_latin1 x'%x'", randomBytes(r, length)) }
}

func bytesOf(length int) func(*rand.Rand) string {
	return func(r *rand.Rand) string { return fmt.Sprintf("x'%x'", randomBytes(r, length)) }
}
