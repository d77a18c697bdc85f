package export_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// postgresType is a type of PostgreSQL with values of it that get lost on the way elsewhere, as the text that it reads.
type postgresType struct {
	name   string
	values []string
	random func(*rand.Rand) string // nil if the values are enough
}

// postgresTypesSQL makes the types that postgresTypes names beside the built-in ones.
const postgresTypesSQL = `
CREATE TYPE mood AS ENUM ('so so', 'a,b', '"', 'NULL', '\', 'été');
CREATE TYPE pair AS (a int, "B b" text);
CREATE TYPE nested AS (p pair, list pair[], "null" text);
CREATE DOMAIN quantity AS numeric(12,3) CHECK (VALUE > 0);
CREATE DOMAIN secret AS bytea;
CREATE DOMAIN document AS jsonb;
CREATE DOMAIN words AS text[];
CREATE DOMAIN flag AS boolean;
CREATE TYPE textrange AS RANGE (subtype = text);`

// nastyTexts are strings that mean something else to somebody.
var nastyTexts = []string{
	"", " ", "NULL", "null", `\N`, `\.`, `\`, `\\`, `\x`, `\x41`, `\n`, `"`, `""`, `'`, `,`, `;`, "\t", "\n",
	"\r", "\r\n",
	"a\nb", "a\r\nb", "a\rb", "\na", "a\n", `a,b`, `say "hi"`, ` padded `, "{}", "[]", "t", "true", "0", "-0", "1e5",
	"\u007f\u0001\u001f", "\v\f\b", "grüße", "表", "🜄 \U0010FFFF", "e\u0301", "\ufeffBOM", "\u202eright to left\u202c",
	"مرحبا", "\u2028\u2029\u0085\u00a0", "\ufffd", "\u200b", "=1+1", "<a>&amp;</a>", `{"a":1}`, `\u0041`, "%s",
	"--", "#",
}

// postgresTypes are all kinds of values. The text of each in JSON loads back as the same, through json.
var postgresTypes = []postgresType{
	{"text", append(nastyTexts, long(1<<20, "1 MiB, \"quoted\"\n"), long(1<<20, `\`)), randomText},
	{"varchar", nastyTexts, randomText},
	{"varchar(7)", []string{"", "grüße", "🜄🜄🜄🜄🜄🜄🜄", "a\nb", `"`}, nil},
	{"char(5)", []string{"", "ab", "     ", "\n", "🜄", `a"b`}, nil},
	{`"char"`, []string{"", "a", `"`, ",", "\n", `\`, " ", `\377`}, nil},
	{"name", []string{"", `a"b`, strings.Repeat("表", 21), "a,b"}, nil},
	{"boolean", []string{"t", "f"}, nil},
	{"flag", []string{"t", "f"}, nil},
	{"smallint", []string{"-32768", "32767", "0"}, nil},
	{"integer", []string{"-2147483648", "2147483647", "0"}, nil},
	{"bigint", []string{"-9223372036854775808", "9223372036854775807", "9007199254740993"}, randomInteger},
	{"oid", []string{"0", "4294967295"}, nil},
	{
		"real",
		[]string{"NaN", "Infinity", "-Infinity", "-0", "0.1", "1e-45", "3.4028235e38", "16777216", "1e15", "1e-5"},
		func(r *rand.Rand) string {
			return strconv.FormatFloat(float64(math.Float32frombits(r.Uint32())), 'g', -1, 32)
		},
	},
	{
		"double precision",
		[]string{
			"NaN", "Infinity", "-Infinity", "-0", "0.1", "0.30000000000000004", "5e-324", "1.7976931348623157e308",
			"2.2250738585072014e-308", "9007199254740993", "1e15", "1e16", "123456789012345.67", "0.0001", "0.00001",
		},
		func(r *rand.Rand) string {
			return strconv.FormatFloat(math.Float64frombits(r.Uint64()), 'g', -1, 64)
		},
	},
	{
		"numeric",
		[]string{
			"NaN", "Infinity", "-Infinity", "-0.000", "0", "1.50", "1e-1000", "-" + strings.Repeat("9", 1000),
			strings.Repeat("9", 1000) + "." + strings.Repeat("1", 1000), "1e131071", "1e-16383",
			strings.Repeat("7", 1000) + "." + strings.Repeat("8", 16383), "123456789012345678901234567890.0010",
		},
		randomNumeric,
	},
	{"numeric(10,2)", []string{"NaN", "-0.01", "99999999.99", "0"}, nil},
	{"numeric(5,-3)", []string{"12000", "0", "-99999000"}, nil},
	{"quantity", []string{"0.001", "999999999.999"}, nil},
	{"money", []string{"12.5", "-0.01", "92233720368547758.07", "-92233720368547758.08", "1000"}, nil},
	{
		"date",
		[]string{
			"infinity", "-infinity", "4713-11-24 BC", "0001-01-01", "0001-12-31 BC", "5874897-12-31",
			"10000-01-01",
		},
		randomDate,
	},
	{
		"timestamp",
		[]string{
			"infinity", "-infinity", "4713-11-24 00:00 BC", "294276-12-31 23:59:59.999999", "0044-03-15 12:00 BC",
			"10000-01-01 00:00", "2024-02-29 23:59:60", "1999-12-31 23:59:59.000001", "2024-01-01 24:00",
		},
		func(r *rand.Rand) string { return "2000-01-01 " + randomTime(r) },
	},
	{
		"timestamptz",
		[]string{
			"infinity", "-infinity", "4713-11-24 00:00+00 BC", "294276-12-31 23:59:59.999999+00",
			"0005-02-29 12:00+01 BC",
			"2024-03-31 02:30 Europe/Berlin", "1883-11-18 12:03:58 America/New_York", "2024-01-01 00:00+14",
			"1900-01-01 00:00 Asia/Kathmandu", "2024-06-01 12:00:00.5 Australia/Lord_Howe",
			"1800-01-01 00:00+15:59:59",
		},
		func(r *rand.Rand) string { return "12345-06-07 " + randomTime(r) + "-03:30" },
	},
	{"time", []string{"00:00", "24:00", "23:59:59.999999", "23:59:60"}, randomTime},
	{"time(2)", []string{"00:00:00.99", "12:34:56.785"}, nil},
	{"timetz", []string{"00:00+15:59:59", "24:00-15:59", "12:00:00.000001+05:45", "23:59:59.5 UTC"}, nil},
	{
		"interval",
		[]string{
			"0", "1 year", "-1 year +2 mons -3 days +04:05:06.789", "1 mon -1 day", "-1 day +00:00:00.000001",
			"178000000 years", "-178000000 years", "2147483647 days -2147483648 mons", "-0.000001 seconds",
			"2562047788:00:54.775807", "1 day -00:00:01", "-00:00:01", "-1 mons -1 days -00:00:01",
		},
		randomInterval,
	},
	{"interval day to second(1)", []string{"1 day 00:00:00.25", "-1 day"}, nil},
	{
		"text[]",
		[]string{
			`{}`, `{NULL,"NULL",""}`, `{null,"null"," "}`, `{{a,b},{c,NULL}}`, `[0:1]={a,b}`,
			`[-3:-2][5:5]={{a},{b}}`,
			"{\"a,b\",\"q\\\"q\",\"b\\\\s\",\"{}\",\"n\nl\",\"\\\\.\",🜄}", `{"\\N"}`, "{\"\t\",\"\r\"}",
		},
		randomArray,
	},
	{"words", []string{`{}`, `{"a \"b"}`, `{NULL}`}, randomArray},
	{"int[]", []string{
		`{}`, `{NULL}`, `[0:1]={1,2}`, `{{{1,2},{3,4}},{{5,6},{7,8}}}`,
		`[-2147483648:-2147483648]={1}`,
	}, nil},
	{"float8[]", []string{`{NaN,Infinity,-Infinity,-0,NULL,0.1}`}, nil},
	{"numeric[]", []string{`{NaN,-Infinity,1.50,1e-20}`}, nil},
	{"bytea[]", []string{`{"\\x","\\x00ff",NULL}`}, nil},
	{"boolean[]", []string{`{t,f,NULL}`}, nil},
	{"json[]", []string{`{"{\"a\": 1, \"a\": 2}",null,NULL,"\"\""}`}, nil},
	{"timestamptz[]", []string{`{infinity,"0001-01-01 00:00+00 BC",NULL}`}, nil},
	{"pair[]", []string{`{"(1,\"a,\\\"b\\\"\")",NULL,"(,)"}`, `[5:5]={"(,\"\")"}`}, nil},
	{"int4range", []string{"empty", "(,)", "(,5]", "[1,)", "(1,5]", "[2147483646,2147483647)"}, nil},
	{"numrange", []string{"empty", "(,)", "[1.50,1e10)", "[NaN,NaN]", "(-Infinity,Infinity]", "[0,0]"}, nil},
	{"daterange", []string{"empty", "[infinity,)", "[2024-01-01,infinity)", "(,0001-01-01 BC)"}, nil},
	{"tstzrange", []string{"empty", `["2024-01-01 00:00+05:45",)`, `[-infinity,"10000-01-01 00:00+00"]`}, nil},
	{"textrange", []string{"empty", `["",""]`, `[",","]")`, `("\"","\\"]`, "[\"\n\",)", "(,NULL]"}, nil},
	{"int4multirange", []string{"{}", "{(,)}", "{(,1),[3,5),[9,)}"}, nil},
	{"datemultirange", []string{"{}", "{[2024-01-01,2024-02-01),[2024-03-01,)}"}, nil},
	{"pair", []string{`(,)`, `(,"")`, `(1,"a,""b""")`, "(2,\"n\nl\")", `(3,"\\")`, `(4,NULL)`, `(5," ")`}, nil},
	{
		"nested",
		[]string{`(,,)`, `("(,)",{},"")`, `("(1,""a,""""b"""""")","{""(,\\"" \\"")"",NULL}","x\\""y")`},
		nil,
	},
	{"mood", []string{"so so", "a,b", `"`, "NULL", `\`, "été"}, nil},
	{
		"bytea",
		[]string{`\x`, `\x00`, `\x5c2e0a`, `\x` + allBytes(), `\x0d0a22`, `\x` + long(1<<14, "ff00")},
		randomBytea,
	},
	{"secret", []string{`\x`, `\x00ff`}, randomBytea},
	{
		"json",
		[]string{
			`{"a": 1, "a":2}`, `{"b":  [1,  2.50, 1e400, -0, "x\ty"], "":null}`, `[]`, `{}`, `1.50`, `-0`, `""`,
			`true`,
			`"\"\\"`, `12345678901234567890.123456789012345678901234567890`, `[null]`, `["\u00e9\ud83d\ude00"]`,
			`["🜄"]`,
		},
		func(r *rand.Rand) string { return randomJSON(r, 3) },
	},
	{
		"jsonb",
		[]string{
			`{"b":1e400,"a":"\u00e9"}`, `[]`, `{}`, `1.50`, `""`, `false`, `"\"\\\n"`, `[null, "\\N", "\\."]`,
			`{"":{"":[]}}`,
			`12345678901234567890.123456789012345678901234567890`, strings.Repeat("[",
				1000) + strings.Repeat("]", 1000),
		},
		func(r *rand.Rand) string { return randomJSON(r, 3) },
	},
	{"document", []string{`{"a":[1]}`, `["x"]`}, nil},
	{"jsonpath", []string{`$."a b"[*] ? (@ > 1)`, `strict $`}, nil},
	{"xml", []string{"", `<a b="c">d</a>`, "text, \"quoted\"\n", "<a>&lt;\u00e9</a><b/>", "<!-- c --><a/>"}, nil},
	{"uuid", []string{"00000000-0000-0000-0000-000000000000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"}, nil},
	{"inet", []string{"0.0.0.0/0", "10.0.0.1", "10.0.0.1/8", "::1", "::ffff:1.2.3.4/96", "2001:db8::/32"}, nil},
	{"cidr", []string{"10.0.0.0/8", "::/0", "1.2.3.4"}, nil},
	{"macaddr", []string{"08:00:2b:01:02:03"}, nil},
	{"macaddr8", []string{"08:00:2b:01:02:03:04:05"}, nil},
	{"bit(4)", []string{"0101", "0000"}, nil},
	{"varbit", []string{"", "1", strings.Repeat("10", 500)}, nil},
	{"point", []string{"(0.1,-0)", "(NaN,Infinity)", "(1e-300,-1e300)"}, nil},
	{"line", []string{"{1,-0,0.1}", "{NaN,1,Infinity}"}, nil},
	{"lseg", []string{"[(0,0),(1e300,-Infinity)]"}, nil},
	{"box", []string{"(1,1),(0,0.1)"}, nil},
	{"box[]", []string{"{(1,1),(0,0);(2,2),(1,1)}"}, nil},
	{"path", []string{"((0,0),(1,1e-300))", "[(0,0),(1,1)]"}, nil},
	{"polygon", []string{"((0,0),(1,0),(0,1))"}, nil},
	{"circle", []string{"<(0,-0),0.1>", "<(NaN,0),Infinity>"}, nil},
	{"tsvector", []string{"", `a:1A,2 'b c':3 '''':4 '\\':5 ',"':6`}, nil},
	{"tsquery", []string{"", `'a b' & !c:*A | ( '''' <2> "d" )`}, nil},
	{"pg_lsn", []string{"0/0", "FFFFFFFF/FFFFFFFF"}, nil},
	{"pg_snapshot", []string{"10:20:10,14,15"}, nil},
	{"xid8", []string{"18446744073709551615"}, nil},
	{"tid", []string{"(4294967295,65535)"}, nil},
	{"regclass", []string{"pg_class", "-"}, nil},
	{"regtype", []string{"timestamptz", "text[]", `"char"`}, nil},
	{"regprocedure", []string{"abs(float8)"}, nil},
	{"regrole", []string{"postgres"}, nil},
	{"oidvector", []string{"", "1 2"}, nil},
	{"aclitem", []string{"postgres=arwdDxt/postgres"}, nil},
}

// long repeats a text to so many bytes.
func long(size int, text string) string { return strings.Repeat(text, size/len(text)) }

// allBytes has each byte once, in hexadecimal.
func allBytes() string {
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%02x", i)
	}
	return b.String()
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		switch r.IntN(3) {
		case 0:
			b.WriteString(nastyTexts[r.IntN(len(nastyTexts))])
		case 1:
			b.WriteByte(byte(1 + r.IntN(127)))
		default:
			// Without the surrogates, which are not characters.
			if c := rune(1 + r.IntN(0x10ffff)); c < 0xd800 || c > 0xdfff {
				b.WriteRune(c)
			}
		}
	}
	return b.String()
}

func randomInteger(r *rand.Rand) string { return strconv.FormatInt(int64(r.Uint64())>>r.IntN(64), 10) }

func randomNumeric(r *rand.Rand) string {
	digits := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = '0' + byte(r.IntN(10))
		}
		return string(b)
	}
	return []string{
		"",
		"-",
	}[r.IntN(2)] + "0" + digits(r.IntN(1<<r.IntN(10))) + "." + "0" + digits(r.IntN(1<<r.IntN(12)))
}

func randomDate(r *rand.Rand) string {
	date := fmt.Sprintf("%04d-%02d-%02d", 1+r.IntN(1<<(2+r.IntN(20))), 1+r.IntN(12), 1+r.IntN(28))
	if r.IntN(3) == 0 {
		return fmt.Sprintf("%04d-01-31 BC", 1+r.IntN(4713))
	}
	return date
}

func randomTime(r *rand.Rand) string {
	return fmt.Sprintf("%02d:%02d:%02d.%06d", r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1_000_000))
}

func randomInterval(r *rand.Rand) string {
	part := func(limit int) int { return (r.IntN(2*limit) - limit) * r.IntN(2) }
	return fmt.Sprintf("%d years %d mons %d days %d microseconds",
		part(10_000), part(12), part(100_000), part(1<<r.IntN(50)))
}

func randomBytea(r *rand.Rand) string {
	b := make([]byte, r.IntN(1<<r.IntN(12)))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return fmt.Sprintf(`\x%x`, b)
}

// randomArray is an array of texts, some of them NULL.
func randomArray(r *rand.Rand) string {
	elements := make([]string, r.IntN(6))
	for i := range elements {
		if r.IntN(4) == 0 {
			elements[i] = "NULL"
		} else {
			elements[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(randomText(r)) + `"`
		}
	}
	array := "{" + strings.Join(elements, ",") + "}"
	if len(elements) > 0 && r.IntN(3) == 0 {
		start := r.IntN(20) - 10
		array = fmt.Sprintf("[%d:%d]=%s", start, start+len(elements)-1, array)
	}
	return array
}

// randomJSON is an array or an object, with keys that may repeat.
func randomJSON(r *rand.Rand, depth int) string {
	value := func() string {
		switch n := r.IntN(6); {
		case n == 0 && depth > 0:
			return randomJSON(r, depth-1)
		case n == 1:
			return []string{"null", "true", "false"}[r.IntN(3)]
		case n == 2:
			return strings.TrimPrefix(randomInteger(r), "+") + []string{"", ".50", "e+10", ".0E-7"}[r.IntN(4)]
		}
		return quoteJSON(randomText(r))
	}
	var parts []string
	if r.IntN(2) == 0 {
		for range r.IntN(4) {
			parts = append(parts, value())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	for range r.IntN(4) {
		parts = append(parts, quoteJSON([]string{"a", "b", "", randomText(r)}[r.IntN(4)])+" :"+value())
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func quoteJSON(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always can be
	}
	return string(quoted)
}
