package read_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/mysql/internal/read"
	"culvert/source"
)

// nastyColumns and nastyRows are a table of values that get lost on the way elsewhere.
const nastyColumns = `(
	id int PRIMARY KEY, big bigint unsigned, price decimal(65,30), f float, d double, flag bool, bits bit(12), y year,
	day date, at datetime(6), stamp timestamp(6) NULL, span time(3), title text, code varchar(20) COLLATE utf8mb4_bin,
	old varchar(20) CHARACTER SET latin1, choice enum('a','b''c',''), flags set('x','y'), doc json, raw varbinary(20),
	picture longblob, place point)`

const nastyRows = `
	(1, 18446744073709551615, -12345678901234567890123456789012345.000000000000000000000000000001, 0.1,
		0.30000000000000004, TRUE, b'101000000001', 2026, '2026-01-02', '2026-01-02 03:04:05.000001',
		FROM_UNIXTIME(86400.5), '-838:59:59', 'say "hi", or\nnot\r\n\\N \\. \t;', 'Binary',
		'äö€', 'b''c', 'x,y', '{"a": 1e400, "a": "\\u0000"}', x'000aff22',
		x'00', ST_GeomFromText('POINT(1 -2)', 7)),
	(2, 9223372036854775808, 0.000000000000000000000000000001, 3.4028234663852886e38, 5e-324, -128, 0, 0, '0000-00-00',
		'0000-00-00', NULL, '838:59:59.999', '', '', '', '', '', '{}', '', '', NULL),
	(3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
		NULL, NULL),
	(4, 9007199254740993, 1, 16777217, -1.7976931348623157e308, FALSE, b'1', 1901, '2026-00-00',
		'9999-12-31 23:59:59.999999', FROM_UNIXTIME(2147483647.999999), '-00:00:00.001', '😀 NULL', 'null', ' x', 'a',
		'y', 'null', '\\', x'ff', ST_GeomFromText('POINT(1e300 0)'))`

const nastyCSV = `id,big,price,f,d,flag,bits,y,day,at,stamp,span,title,code,old,choice,flags,doc,raw,picture,place
1,18446744073709551615,-12345678901234567890123456789012345.000000000000000000000000000001,0.1,0.30000000000000004,` +
	`1,2561,2026,2026-01-02,2026-01-02 03:04:05.000001,1970-01-02 00:00:00.500000,-838:59:59.000,` +
	"\"say \"\"hi\"\", or\nnot\r\n\\N \\. \t;\"," + `Binary,äö€,b'c,"x,y","{""a"": 1e400, ""a"": ""\u0000""}",` +
	`\x000aff22,\x00,\x070000000101000000000000000000f03f00000000000000c0
2,9223372036854775808,0.000000000000000000000000000001,3.4028235e+38,5e-324,-128,0,0000,0000-00-00,` +
	`0000-00-00 00:00:00.000000,,838:59:59.999,"","","","","",{},\x,\x,
3,,,,,,,,,,,,,,,,,,,,
4,9007199254740993,1.000000000000000000000000000000,1.6777216e+07,-1.7976931348623157e+308,0,1,1901,2026-00-00,` +
	`9999-12-31 23:59:59.999999,2038-01-19 03:14:07.999999,-00:00:00.001,😀 NULL,null, x,a,y,null,\x5c,\xff,` +
	`\x0000000001010000009c7500883ce4377e0000000000000000
`

const nastyJSONL = `{"id":1,"big":18446744073709551615,` +
	`"price":-12345678901234567890123456789012345.000000000000000000000000000001,"f":0.1,"d":0.30000000000000004,` +
	`"flag":1,"bits":2561,"y":2026,"day":"2026-01-02","at":"2026-01-02 03:04:05.000001",` +
	`"stamp":"1970-01-02 00:00:00.500000","span":"-838:59:59.000",` +
	`"title":"say \"hi\", or\nnot\r\n\\N \\. \t;","code":"Binary","old":"äö€","choice":"b'c","flags":"x,y",` +
	`"doc":{"a": 1e400, "a": "\u0000"},"raw":"\\x000aff22","picture":"\\x00",` +
	`"place":"\\x070000000101000000000000000000f03f00000000000000c0"}
{"id":2,"big":9223372036854775808,"price":0.000000000000000000000000000001,"f":3.4028235e+38,"d":5e-324,"flag":-128,` +
	`"bits":0,"y":"0000","day":"0000-00-00","at":"0000-00-00 00:00:00.000000","stamp":null,"span":"838:59:59.999",` +
	`"title":"","code":"","old":"","choice":"","flags":"","doc":{},"raw":"\\x","picture":"\\x","place":null}
{"id":3,"big":null,"price":null,"f":null,"d":null,"flag":null,"bits":null,"y":null,"day":null,"at":null,"stamp":null,` +
	`"span":null,"title":null,"code":null,"old":null,"choice":null,"flags":null,"doc":null,"raw":null,"picture":null,` +
	`"place":null}
{"id":4,"big":9007199254740993,"price":1.000000000000000000000000000000,"f":1.6777216e+07,` +
	`"d":-1.7976931348623157e+308,"flag":0,"bits":1,"y":1901,"day":"2026-00-00","at":"9999-12-31 23:59:59.999999",` +
	`"stamp":"2038-01-19 03:14:07.999999","span":"-00:00:00.001","title":"😀 NULL","code":"null","old":" x",` +
	`"choice":"a","flags":"y","doc":{"json_text":"null"},"raw":"\\x5c","picture":"\\xff",` +
	`"place":"\\x0000000001010000009c7500883ce4377e0000000000000000"}
`

func openNasty(t *testing.T) (*read.DB, *testkit.MariaDBDatabase) {
	t.Helper()
	return openNew(t, "SET sql_mode = ''; SET time_zone = '+00:00'; CREATE TABLE nasty "+nastyColumns+
		"; INSERT INTO nasty VALUES "+nastyRows)
}

// TestNastyFormats compares the text that is made of the nasty table.
func TestNastyFormats(t *testing.T) {
	db, _ := openNasty(t)
	for _, test := range []struct {
		format format.Format
		want   string
	}{{format.CSV{}, nastyCSV}, {format.JSONL{}, nastyJSONL}} {
		if got := encoded(t, test.format, table(t, db, "nasty")); got != test.want {
			t.Errorf("%T gives\n%s\nwant\n%s", test.format, got, test.want)
		}
	}
}

// TestNastyValues compares each value with what the server's own client prints of it in hexadecimal.
func TestNastyValues(t *testing.T) {
	db, database := openNasty(t)
	rows := table(t, db, "nasty")
	// Text by its bytes in UTF-8, numbers as they are printed; a FLOAT with all its digits.
	expressions := map[string]string{"f": "CAST(f AS double)", "bits": "CAST(bits AS unsigned)"}
	var list []string
	for _, c := range rows.Columns() {
		expression := quote(c.Name)
		if other, found := expressions[c.Name]; found {
			expression = other
		}
		switch c.Name {
		case "raw", "picture", "place":
			list = append(list, "HEX("+expression+")")
		default:
			list = append(list, "HEX(CONVERT(CAST("+expression+" AS char) USING utf8mb4))")
		}
	}
	output := database.Client(t, "--batch", "--raw", "--skip-column-names",
		"-e", "SET time_zone = '+00:00'; SELECT "+strings.Join(list, ", ")+" FROM nasty ORDER BY id")
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(output), "\n"), "\n")
	if len(lines) != b.Rows() {
		t.Fatalf("%d rows, and the client has %d", b.Rows(), len(lines))
	}
	for row, line := range lines {
		for column, field := range strings.Split(line, "\t") {
			name := rows.Columns()[column].Name
			kind, got := b.Value(row, column)
			if field == "NULL" || kind == source.Null {
				if field != "NULL" || kind != source.Null {
					t.Errorf("row %d, column %s: %v %q, the client has %s", row, name, kind, got, field)
				}
				continue
			}
			want, err := hex.DecodeString(field)
			if err != nil {
				t.Fatal(err)
			}
			if kind == source.Number && sameNumber(string(got), string(want)) {
				continue
			}
			if !bytes.Equal(got, want) {
				t.Errorf("row %d, column %s: %q, the client has %q", row, name, got, want)
			}
		}
	}
	expectRows(t, rows, 0)
}

// sameNumber compares numbers that are written in different ways: as text, or else as a float32 or float64 that one of
// them has as its shortest form.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.ContainsAny(a, ".e") {
		return false
	}
	var x, y float64
	var f, g float32
	if _, err := fmt.Sscan(a, &x); err != nil {
		return false
	}
	if _, err := fmt.Sscan(b, &y); err != nil {
		return false
	}
	if x == y {
		return true
	}
	_, errF := fmt.Sscan(a, &f)
	_, errG := fmt.Sscan(b, &g)
	return errF == nil && errG == nil && f == g && float64(g) == y
}

// TestCSVLoadsBack loads a CSV with LOAD DATA, for which NULL has no text of its own in a column of text.
func TestCSVLoadsBack(t *testing.T) {
	db, database := openNew(t, "CREATE TABLE t (id int PRIMARY KEY, n decimal(65,30), f float, at datetime(6), s text,"+
		" b bit(9), raw varbinary(9)); CREATE TABLE copy LIKE t; INSERT INTO t VALUES"+
		` (1, -1.000000000000000000000000000001, 0.1, '2026-01-02 03:04:05.000001', 'a "b",\r\n\\N\\', b'101',`+
		` x'00ff22'),`+
		" (2, NULL, NULL, NULL, '', NULL, '')")
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(encoded(t, format.CSV{}, table(t, db, "t"))), 0o600); err != nil {
		t.Fatal(err)
	}
	database.Client(t, "--local-infile=1", "-e", "LOAD DATA LOCAL INFILE '"+path+"' INTO TABLE copy"+
		` CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"' ESCAPED BY ''`+
		` LINES TERMINATED BY '\n' IGNORE 1 LINES`+
		" (id, @n, @f, @at, s, @b, @raw) SET n = NULLIF(@n, ''), f = NULLIF(@f, ''), at = NULLIF(@at, ''),"+
		" b = CAST(NULLIF(@b, '') AS unsigned), raw = UNHEX(SUBSTR(@raw, 3))")
	sums := database.Query(t, "CHECKSUM TABLE t, copy EXTENDED")
	if sum := sums[0][1]; sum != sums[1][1] || sum == "" || sum == "0" {
		t.Errorf("the tables differ: %q and %q",
			database.Query(t, "SELECT * FROM t"), database.Query(t, "SELECT * FROM copy"))
	}
}

// encoded is the text that a format makes of rows.
func encoded(tb testing.TB, f format.Format, rows source.Rows) string {
	tb.Helper()
	encoder, err := f.Encoder(rows.Columns())
	if err != nil {
		tb.Fatal(err)
	}
	out := encoder.AppendHeader(nil)
	var b source.Batch
	for {
		err := rows.Next(&b)
		if err == io.EOF {
			break
		}
		if err == nil {
			out, err = encoder.AppendRows(out, &b)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := rows.Close(); err != nil {
		tb.Fatal(err)
	}
	return string(slices.Clip(out))
}
