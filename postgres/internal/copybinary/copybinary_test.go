package copybinary_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/postgres/internal/copybinary"
	"culvert/source"
)

// shape is a type, texts of values that it may have, and SQL of further ones for the number i.
type shape struct {
	name   string
	texts  []string
	values string
}

var numbers = []string{
	"0", "-0", "1", "-1", "7", "-12", "32767", "-32768", "32768", "2147483647", "-2147483648", "2147483648",
	"999999999999999999", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "007", "+7", " 7", "7 ",
	"", "-", "1_000", "0x1F", "1e3", "1.0", "1.", ".5", "NaN", "Infinity", "-Infinity", "inf", "12,5", "٣",
}

var reals = append([]string{
	"0.1", "1.5", "-1.5e-5", "1e+20", "1e20", "1e400", "1e-400", "4.9e-324", "1e-45", "3.4028235e+38", "3.5e+38", "nan",
	"0x1p-2", "1e", "1.7976931348623157e+308", "16777217", "0.30000000000000004", "--1", "1e5.5",
}, numbers...)

var moments = []string{
	"2026-01-31 10:00:00", "2026-01-31 10:00:00.123456", "2026-01-31 10:00:00.1234567", "2026-01-31T10:00:00",
	"2026-01-31 10:00:00+00", "2026-01-31 10:00:00+02", "2026-01-31 10:00:00-03:30", "2026-01-31 10:00:00+0530",
	"2026-01-31 10:00:00Z", "2026-01-31 10:00:00+15:59", "2026-01-31 10:00:00+16", "2026-01-31 10:00:00 +02",
	"2026-01-31 10:00:00+02:30:15", "1999-12-31 23:59:59.999999", "1969-12-31 23:59:59+00", "0001-01-01 00:00:00",
	"0000-01-01 00:00:00", "9999-12-31 23:59:59", "10000-01-01 00:00:00", "0044-03-15 00:00:00 BC",
	"2026-02-29 00:00:00", "2024-02-29 00:00:00", "1900-02-29 00:00:00", "2026-04-31 00:00:00", "2026-13-01 00:00:00",
	"2026-01-31 24:00:00", "2026-01-31 10:00:60", "2026-01-31 10:60:00", "2026-01-31 10:00", "2026-01-31 10:00:00.",
	"2026-01-31 10:00:00.5", "2026-01-31", "infinity", "-infinity", "now", "epoch", "2026/01/31 10:00:00", "",
	"2026-01-31 10:00:00 UTC", "31.01.2026 10:00:00", "2026-1-31 10:00:00",
}

var documents = []string{`{"a": [1, 2.50, "\u00e9"]}`, "{}", "null", `"x"`, "[]", "{", "1", " 1 ", ""}

var words = []string{"", "a", "water, still", "a \"b\"", "line\nbreak", "tab\t", "é", "日本", " a ", `\x41`, `\.`, "NULL"}

var shapes = []shape{
	{name: "smallint", texts: numbers, values: "(i * 7919 % 65536 - 32768)::smallint"},
	{name: "integer", texts: numbers, values: "hashint8(i)"},
	{name: "bigint", texts: numbers, values: "hashint8(i)::bigint * hashint8(i + 1)"},
	{name: "oid", texts: numbers, values: "(hashint8(i)::bigint & 4294967295)::oid"},
	{name: "real", texts: reals, values: "(hashint8(i) / 7.0 * 10.0 ^ (i % 60 - 30))::real"},
	{name: "double precision", texts: reals, values: "hashint8(i) / 7.0 * 10.0::float8 ^ (i % 500 - 250)"},
	{name: "numeric", texts: reals, values: "round(hashint8(i)::numeric * 10::numeric ^ (i % 40 - 20), (i % 25)::int)"},
	{name: "numeric(12,2)", texts: []string{"1.50", "1.5", "1", "-0.00", "9999999999.99", "1.555", "10000000000"}},
	{name: "boolean", texts: []string{"t", "f", "true", "false", "yes", "1", "TRUE", "", "x"}, values: "i % 3 = 0"},
	{
		name:   "date",
		texts:  append([]string{"2024-02-29", "0001-01-01", "1582-10-15", "2026-01-31 00:00:00"}, moments...),
		values: "date '0001-01-01' + (i * 3652 % 3652058)",
	},
	{
		name: "time without time zone", values: "time '00:00' + i * interval '86.399 s' + i * interval '7 us'",
		texts: []string{
			"10:00:00", "10:00:00.5", "23:59:59.999999", "24:00:00", "10:00", "10:00:00+02", "",
			"10:00:00.1234567",
		},
	},
	{
		name: "timestamp without time zone", texts: moments,
		values: "timestamp '0001-01-01' + i * interval '3652 days' + i * interval '7919.000007 s'",
	},
	{name: "timestamp(3) without time zone", texts: moments},
	{
		name: "timestamp with time zone", texts: moments,
		values: "timestamptz '0001-01-01 00:00+00' + i * interval '3652 days' + i * interval '7919.000007 s'",
	},
	{
		name: "interval",
		values: "make_interval(years => i % 7 - 3, months => i % 5, days => i % 11 - 5, secs => i * 7.000001)" +
			" - make_interval(hours => i % 50)",
		texts: []string{
			"1 year", "-1 years", "1 year 2 mons 3 days 04:05:06.789", "-1 year -2 mons +3 days -04:05:06.000001",
			"00:00:00", "-00:00:01", "100:00:00", "3 days", "1 mon", "1 day 1 year", "P1Y", "1 week",
			"2147483647 years",
			"178956970 years 7 mons", "178956970 years 8 mons", "@ 1 day", "1 day ago", "04:05", "", "1",
			"1 day 2 days",
			"999999999:00:00", "2562047788:00:54.775807", "infinity", "1.5 days", "1 years 1 mons", "3 days 4:05:06",
			"+-1 day",
		},
	},
	{name: "uuid", values: "md5(i::text)::uuid", texts: []string{
		"123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000",
		"{123e4567-e89b-12d3-a456-426614174000}", "123e4567e89b12d3a456426614174000", "",
		"123e4567-e89b-12d3-a456-42661417400g", "123e-4567e89b-12d3-a456-426614174000",
	}},
	{name: "inet", values: "'10.0.0.0'::inet + i * 7919", texts: []string{
		"192.0.2.1", "192.0.2.1/24", "192.0.2.1/32", "2001:db8::1", "2001:db8::/32", "::ffff:192.0.2.1", "fe80::1%eth0",
		"192.0.2", "192.0.2.01", "192.0.2.1/33", "10", "", "192.0.2.1/024", "0.0.0.0/0", "::",
	}},
	{name: "cidr", values: "set_masklen(('10.0.0.0'::inet + i * 256)::cidr, 24)", texts: []string{
		"192.0.2.0/24", "192.0.2.1/24", "192.0.2.1", "10.0.0.0/8", "2001:db8::/32", "10/8", "", "::/0",
	}},
	{name: "bytea", values: "decode(md5(i::text), 'hex')", texts: []string{
		`\x`, `\x00ff`, `\xFF`, `\x0`, "abc", `\001`, "", `\x 00`,
	}},
	{name: "text", texts: words, values: "repeat(md5(i::text), i % 5) || CASE WHEN i % 3 = 0 THEN '\"' END"},
	{name: "character varying(5)", texts: append([]string{"abcde", "abcdef", "abcde "}, words...)},
	{name: "character(3)", texts: append([]string{"abc", "abc ", "abcd"}, words...)},
	{name: "json", texts: documents, values: "json_build_object('n', i, 's', md5(i::text))"},
	{name: "jsonb", texts: documents, values: "jsonb_build_object('n', i, 's', md5(i::text), 'x', null)"},
	{name: "mood", values: "(enum_range(NULL::mood))[i % 2 + 1]", texts: []string{
		"sad", "very \"happy\"", "", "other",
	}},
	{name: "integer[]", values: "ARRAY[i, NULL, -i]", texts: []string{
		"{}", "{1}", "{1,2,3}", "{1,NULL}", "{null}", "{{1,2},{3,4}}", "[0:1]={1,2}", "{1,}", "{,1}", "{1,2", "1", "",
		"{ 1 }",
		"{1}x", "{1},", "{\"1\"}", "{", "{}}", "{\"1\"x}",
	}},
	{name: "text[]", values: "ARRAY[md5(i::text), '', 'a,b', 'NULL', NULL, '\"', E'\\\\']", texts: []string{
		`{"",a,"a,b","NULL","\"","\\"}`, `{a b}`, `{"é"}`, `{é}`, `{a\b}`, `{"a}`, `{"a"b}`, `{"a\`, "{\"a\nb\"}",
	}},
	{name: "character varying(5)[]", texts: []string{"{a}", "{abcdef}"}},
	{name: "timestamp with time zone[]", values: "ARRAY[timestamptz '2026-01-31 10:00+00' + i * interval '1 s']"},
	{name: "jsonb[]", values: "ARRAY[jsonb_build_object('n', i), NULL]"},
	{name: "bytea[]", values: "ARRAY[decode(md5(i::text), 'hex'), '']"},
	{name: "numeric(12,2)[]", values: "ARRAY[i / 7.0, -i]"},
}

// encoderOf returns the encoder of rows with one column of a type.
func encoderOf(t *testing.T, name string) *copybinary.Encoder {
	t.Helper()
	if name == "mood" {
		name = copybinary.Enum
	}
	e := copybinary.New([]string{name})
	if e == nil {
		t.Fatalf("type %s is left to CSV", name)
	}
	return e
}

// TestServer has the server read texts of each type as CSV and as this package writes them. It must come to the same
// values, or refuse both.
func TestServer(t *testing.T) {
	db := testkit.Postgres(t).NewDatabase(t)
	db.Exec(t, `CREATE TYPE mood AS ENUM ('sad', 'very "happy"')`)
	conn, err := pgconn.Connect(t.Context(), db.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	run := func(sql string) [][][]byte {
		t.Helper()
		results, err := conn.Exec(t.Context(), sql).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return results[len(results)-1].Rows
	}
	run("SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET extra_float_digits = 3")
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			texts := slices.Clone(s.texts)
			if s.values != "" {
				for _, row := range run("SELECT (" + s.values + ")::text FROM generate_series(1, 200) AS i") {
					if row[0] != nil {
						texts = append(texts, string(row[0]))
					}
				}
			}
			e, taken := encoderOf(t, s.name), 0
			run("CREATE TEMP TABLE as_csv (v " + s.name + "); CREATE TEMP TABLE as_binary (v " + s.name + ")")
			defer run("DROP TABLE as_csv, as_binary")
			for _, text := range texts {
				line := `"` + strings.ReplaceAll(text, `"`, `""`) + `"` + "\n"
				made, ok := e.AppendText(nil, []byte(line))
				if !ok {
					continue
				}
				taken++
				_, fromCSV := conn.CopyFrom(t.Context(), strings.NewReader(line), "COPY as_csv FROM STDIN (FORMAT csv)")
				_, fromBinary := conn.CopyFrom(t.Context(), binaryOf(made), "COPY as_binary FROM STDIN (FORMAT binary)")
				if (fromCSV == nil) != (fromBinary == nil) {
					t.Errorf("%q: as CSV %v, as binary %v", text, fromCSV, fromBinary)
				}
				if refused, is := errors.AsType[*pgconn.PgError](fromBinary); is && refused.Code == "22P03" {
					t.Errorf("%q: the binary form is wrong: %v", text, fromBinary)
				}
			}
			if taken == 0 || s.values != "" && taken < 60 {
				t.Errorf("%d of %d values are taken", taken, len(texts))
			}
			differ := run(`SELECT a.v::text, b.v::text
				FROM (SELECT v, row_number() OVER (ORDER BY ctid) AS n FROM as_csv) AS a
				FULL JOIN (SELECT v, row_number() OVER (ORDER BY ctid) AS n FROM as_binary) AS b USING (n)
				WHERE a.v::text IS DISTINCT FROM b.v::text`)
			for _, row := range differ {
				t.Errorf("as CSV %q, as binary %q", row[0], row[1])
			}
		})
	}
}

func binaryOf(rows []byte) io.Reader {
	return strings.NewReader(copybinary.Header + string(rows) + copybinary.Trailer)
}

// TestLeft lists types that are left to CSV.
func TestLeft(t *testing.T) {
	for _, name := range []string{
		"point", "hstore", "money", "xml", "tsvector", "integer[][]", "mood[]", `"text"`, "public.text", `"char"`,
		"name",
		"interval day to second", "time with time zone", "", "(enum)[]", "point[]", "bit(3)", "regclass",
	} {
		if copybinary.New([]string{name}) != nil || copybinary.Knows(name) {
			t.Errorf("type %s is not left to CSV", name)
		}
	}
	if copybinary.New(nil) != nil {
		t.Error("rows without columns are not left to CSV")
	}
}

// TestTooLong leaves values to CSV that their type cannot have, since the server shows only text that it refuses.
func TestTooLong(t *testing.T) {
	for _, test := range []struct{ name, fits, tooLong string }{
		{"character varying(3)", "日本é", "abcd"},
		{"character(2)", "é", "ab "},
		{"character varying(1)[]", "{é,b}", "{a,bc}"},
		{"numeric(5,2)", "-00999.999", "1000"},
		{"numeric(5,2)", "NaN", "-1000.5"},
		{"numeric(2)", "99", "100"},
		{"numeric(2,-3)", "99999", "100000"},
		{"numeric(2,3)", "0.01", "1"},
	} {
		e := copybinary.New([]string{test.name})
		if _, ok := e.AppendText(nil, []byte(`"`+test.fits+"\"\n")); !ok {
			t.Errorf("%s of %s is left to CSV", test.fits, test.name)
		}
		if _, ok := e.AppendText(nil, []byte(`"`+test.tooLong+"\"\n")); ok {
			t.Errorf("%s of %s is not left to CSV", test.tooLong, test.name)
		}
	}
}

var manyTypes = []string{"bigint", "text", "numeric(12,2)", "timestamptz", "bool", "jsonb", "varchar(20)"}

// TestRows has the same rows as text and as a batch.
func TestRows(t *testing.T) {
	const text = "1,\"a \"\"b\"\"\",-12.50,2026-01-31 10:00:00+00,t,\"{\"\"n\"\": 1}\",\n" +
		"2,,,,,,\"\"\n3,\"line\nbreak, \",0.05,2026-01-31 10:00:00.5+00,f,[],x\n"
	e := copybinary.New(manyTypes)
	before := []byte("before")
	fromText, ok := e.AppendText(before, []byte(text))
	if !ok || !bytes.HasPrefix(fromText, before) {
		t.Fatalf("the text is left to CSV: %q", fromText)
	}
	fromRows, ok := e.AppendRows([]byte("before"), batchOf(t, text))
	if !ok || !bytes.Equal(fromText, fromRows) {
		t.Errorf("of the text %q, of the rows %q", fromText, fromRows)
	}
	for _, text := range []string{
		"1\n", "1,a,1,2026-01-31 10:00:00+00,t,1,x,y\n", text + "4,a,x,,,,\n", "1,\"a", "1,\"a\"b,,,,,\n",
		"1,a\"b,,,,,\n",
		"1,a,,,,,x\r\n", "1,a\rb,,,,,\n", "1,a,,,,,x", "\n", "1,,,,,,\n,", "1,,,,,,\n1",
	} {
		if got, ok := e.AppendText([]byte("before"), []byte(text)); ok || string(got) != "before" {
			t.Errorf("%q is not left to CSV: %q", text, got)
		}
	}
	one := new(source.Batch)
	one.Reset(1)
	one.Append(source.Bytes, []byte{0, 1})
	one.EndRow()
	got, ok := copybinary.New([]string{"bytea"}).AppendRows(nil, one)
	if !ok || !bytes.HasSuffix(got, []byte{2, 0, 1}) {
		t.Errorf("binary data becomes %q", got)
	}
	if got, ok := copybinary.New([]string{"text"}).AppendRows([]byte("before"), one); ok || string(got) != "before" {
		t.Errorf("binary data in a text becomes %q", got)
	}
}

// TestLarger leaves rows to CSV that would become far larger.
func TestLarger(t *testing.T) {
	e := copybinary.New(manyTypes)
	for _, test := range []struct {
		row  string
		want bool
	}{{"1,a,2,,t,{},b\n", false}, {"1234567,water and stone,12.50,2026-01-31 10:00:00+00,t,{},b\n", true}} {
		text := strings.Repeat(test.row, 1<<20/len(test.row))
		before := []byte("before")
		fromText, ok := e.AppendText(before, []byte(text))
		if ok != test.want || len(fromText) > 2*len(text) || !ok && string(fromText) != "before" {
			t.Errorf("rows of %q: %t, %d bytes of %d", test.row, ok, len(fromText), len(text))
		}
		fromRows, ok := e.AppendRows(before, batchOf(t, text[:5000*len(test.row)]))
		if ok != test.want || !ok && string(fromRows) != "before" {
			t.Errorf("a batch of rows of %q: %t", test.row, ok)
		}
	}
}

func batchOf(t *testing.T, text string) *source.Batch {
	t.Helper()
	fields := make([]format.Field, len(manyTypes))
	for i := range fields {
		fields[i] = format.Field{Name: strconv.Itoa(i), Kind: source.Text}
	}
	decoder, err := format.CSV{}.Decoder(fields)
	if err != nil {
		t.Fatal(err)
	}
	b := new(source.Batch)
	if n, err := decoder.Decode(b, []byte(text)); err != nil || n != len(text) {
		t.Fatalf("%d bytes of %d, %v", n, len(text), err)
	}
	return b
}
