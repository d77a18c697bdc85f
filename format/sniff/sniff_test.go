package sniff_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"

	"culvert/format"
	"culvert/format/charset"
	"culvert/format/sniff"
)

// TestCSV guesses texts as programs write them, and those that are hard to tell.
func TestCSV(t *testing.T) {
	const bom = "\ufeff"
	for _, test := range []struct{ name, text, settings, columns string }{
		// What is usual.
		{"simple", "a,b,c\n1,2,3\n", "", "a integer, b integer, c integer"},
		{"CR LF", "a,b,c\r\n1,2,3\r\n4,5,6\r\n", "", "a integer, b integer, c integer"},
		{"CR", "a,b,c\r1,2,3\r4,5,6", "csv", "a integer, b integer, c integer"},
		{"an empty line", "a,b\n1,2\n\n3,4\n", "csv", "a integer, b integer"},
		{"inches", "id,size\n1,5\" pipe\n2,6\" pipe\n", "csv", "id integer, size text"},
		{"no line end", "a,b\n1,x", "", "a integer, b text"},
		{
			"delimiter in quotes", "first,city,zip\nJohn,\"Springfield, East\",08075\n", "",
			"first text, city text, zip text",
		},
		{"empty values", "a,b,c\n1,\"\",\"\"\n2,3,4\n", "", "a integer, b text, c text"},
		{"nulls", "a,b,c\n1,,\n2,3,4.5\n", "", "a integer, b integer, c decimal"},
		{"quotes", "a,b\n1,\"ha \"\"ha\"\" ha\"\n3,4\n", "", "a integer, b text"},
		{"newlines in quotes", "a,b\n\"once\nupon\r\na time\",5\n7,8\n", "", "a text, b integer"},
		{
			"as many delimiters in each line of a cell as in a row",
			"id,address\n1,\"Main street\nVienna, Austria\"\n2,\"Side street\nGraz, Austria\"\n", "",
			"id integer, address text",
		},
		{
			"the same, with quotes at the ends of lines", "id|note\n1|\"5 € a 5 € two\nlines |\"\n2|\"x \"\"\"\n3|y\n",
			"delimiter=|", "id integer, note text",
		},
		{
			"JSON", "key,val\n1,\"{\"\"type\"\": \"\"Point\"\", \"\"at\"\": [102.0, 0.5]}\"\n", "",
			"key integer, val json",
		},
		{"UTF-8", "a,b\n1,ʤ\n2,é\n", "", "a integer, b text"},
		{
			"types", "i,d,f,b,day,at,clock,u\n1,1.5,2e9,true,2026-11-29,2026-11-29 08:05:00+01,08:05," +
				"00112233-4455-6677-8899-aabbccddeeff\n-2,3,NaN,false,1999-01-01,2026-11-29T08:05:00.25Z,23:59:59," +
				"00112233-4455-6677-8899-AABBCCDDEEFF\n", "",
			"i integer, d decimal, f float, b boolean, day date, at timestamp, clock time, u uuid",
		},
		{"one column", "name\nwater\nstone\n", "", "name text"},
		{"one column of times", "at\n12:30:15\n12:31:15\n", "", "at time"},
		{"one column of prices", "price\n1,50\n2,75\n", "delimiter=;", "price text"},
		{"no header", "1,water,2026-01-02\n2,stone,2026-01-03\n", "header=no", " integer,  text,  date"},
		{"a row that repeats", "x,y\nz,w\nx,q\n", "header=no", " text,  text"},

		// What spreadsheets write.
		{
			"Excel, UTF-8", bom + "Nr;Name;Betrag\r\n1;Müller;1,50\r\n2;\"a;b\";2.000,75\r\n", "delimiter=;",
			"Nr integer, Name text, Betrag text",
		},
		{"Excel, sep=", "sep=;\r\nid;name\r\n1;a,b\r\n2;c,d\r\n", "delimiter=;,skip=1", "id integer, name text"},
		{"Excel, lines in a cell", "id;note\r\n1;\"one\ntwo\"\r\n2;x\r\n", "delimiter=;", "id integer, note text"},
		{"LibreOffice", "\"id\",\"name\"\n1,\"a, b\"\n2,\"c\"\n", "", "id integer, name text"},
		{
			"Google Sheets", "id,name,day\r\n1,\"a, b\",11/29/2026\r\n2,,1/2/2026\r\n", "",
			"id integer, name text, day text",
		},
		{"a report", "Orders of November\n\nid,name,n\n1,a,5\n2,b,6\n", "skip=1", "id integer, name text, n integer"},

		// What databases write.
		{"MySQL, INTO OUTFILE", "1\ta\\tb\t\\N\n2\tc:\\\\d\t2026-01-02\n", "postgres", " integer,  text,  date"},
		{
			"mysql -B", "id\tnote\tn\n1\ta\\tb\\\\c\tNULL\n2\tx\t5\n", "postgres,null=NULL,header=yes",
			"id integer, note text, n integer",
		},
		{
			"MySQL, enclosed", "1,\"a \\\"b\\\" c\",\\N\n2,\"d,e\",5\n", `escape=\,escapes=quoted,null=\N,header=no`,
			" integer,  text,  integer",
		},
		{"PostgreSQL, csv", "id,note\n1,\"\"\n2,\n3,\"a,b\"\n", "", "id integer, note text"},
		{
			"Redshift, UNLOAD", "1|a\\|b|2026-01-02\n2|c|2026-01-03\n", `delimiter=|,escape=\,header=no`,
			" integer,  text,  date",
		},
		{
			"Snowflake", "\\N,\"a\",1\n\"2026-01-02 00:00:00.000\",\\N,2\n", `null=\N,header=no`,
			" timestamp,  text,  integer",
		},
		{
			"BigQuery", "id,ok,at\n1,true,2026-01-02 03:04:05 UTC\n2,,\n", "",
			"id integer, ok boolean, at timestamp",
		},
		{
			"Hive", "1\x01water\x01\\N\n2\x01stone\x012\n", `delimiter=\x01,null=\N,header=no`,
			" integer,  text,  integer",
		},

		// Other dialects.
		{"tabs", "a\tb\n1\tx y\n", "tsv", "a integer, b text"},
		{"pipes", "a|b\n1|x, y\n2|z, w\n", "delimiter=|", "a integer, b text"},
		{"quotes of texts", "a\tb\n1\t\"so\" he said\n2\t\"x\n3\ty z\n", "tsv,quote=none", "a integer, b text"},
		{"two pipes", "a||b\n1||x|y\n2||z\n", "delimiter=||", "a integer, b text"},
		{"single quotes", "a,b\n1,'x, y'\n2,'z'\n", "quote='", "a integer, b text"},
		{"escapes in quotes", "a,b\n1,\"x \\\"y\\\", z\"\n2,w\n", `escape=\,escapes=quoted`, "a integer, b text"},
		{
			"escapes in quotes and lines", "a,b\n1,\"x \\\"y\\\"\nz, w\"\n2,\"v\nu, t\"\n", `escape=\,escapes=quoted`,
			"a integer, b text",
		},
		{"escapes", "a,b\n1,x\\, y\n2,z\n", `escape=\`, "a integer, b text"},
		{"spaces", "a, b, c\n1, 2, \"x, y\"\n3, 4, z\n", "trim", "a integer, b integer, c text"},
		{"comments", "# by hand\nid,n\n1,2\n# more\n3,4\n", "comment=#", "id integer, n integer"},
		{"a header with #", "#id,n\n1,2\n3,4\n", "", "#id integer, n integer"},
		{"NULL", "id,n\n1,NULL\n2,5\n3,NULL\n", "null=NULL", "id integer, n integer"},
		{"NULL in quotes", "id,n\n1,\"NULL\"\n2,x\n", "", "id integer, n text"},
		{"NA", "id,n,note\n1,NA,NA\n2,5,x\n", "null=NA", "id integer, n integer, note text"},
		{"a note NA", "id,note\n1,NA\n2,x\n", "", "id integer, note text"},
		{"dates with a time", "d;t\n29.11.2026;08:05\n30.11.2026;09:00\n", "delimiter=;", "d text, t time"},
		{"semicolons in commas", "a,b\n\"x;y\",1\n\"z;w\",2\n", "", "a text, b integer"},
		{"spaces in texts", "id;note\n1;\"a ; \"\"b\"\" \"\n2;x \n3; y\n", "delimiter=;", "id integer, note text"},
		{"backslashes", "id;note\n1;\"C:\\temp\\new\"\n2;\"a \\ b; c\"\n", "delimiter=;", "id integer, note text"},
		{"escaped backslashes", "id;note\n1;a \\\\ b\n2;c \\\\ d\n", `delimiter=;,escape=\`, "id integer, note text"},
		{"Windows paths", "id\tpath\n1\tC:\\temp\\new\n2\tC:\\x\n", "tsv", "id integer, path text"},
	} {
		guess, err := sniff.CSV([]byte(test.text), true)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var columns []string
		for _, one := range guess.Columns {
			columns = append(columns, one.Name+" "+string(one.Type))
		}
		if got := strings.Join(columns, ", "); guess.Settings() != test.settings || got != test.columns ||
			guess.Problem != nil {
			t.Errorf("%s: %q: %s: %v", test.name, guess.Settings(), got, guess.Problem)
		}
	}
}

// TestEncodings guesses the encoding of a text that each of them writes.
func TestEncodings(t *testing.T) {
	const text = "id\tname\r\n1\tMüller – Söhne\r\n2\tÉmile\r\n"
	units := utf16.Encode([]rune(text))
	var little, big []byte
	for _, unit := range units {
		little, big = append(little, byte(unit), byte(unit>>8)), append(big, byte(unit>>8), byte(unit))
	}
	windows, err := charmap.Windows1252.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		text     []byte
		encoding string
	}{
		{[]byte(text), ""},
		{[]byte("\ufeff" + text), ""},
		{append([]byte{0xff, 0xfe}, little...), "utf-16le"},
		{append([]byte{0xfe, 0xff}, big...), "utf-16be"},
		{little, "utf-16le"},
		{big, "utf-16be"},
		{windows, "windows-1252"},
		{[]byte("id\tname\n1\t\x81\xe9\n"), "latin1"},
	} {
		for _, isWhole := range []bool{false, true} {
			guess, err := sniff.CSV(test.text, isWhole)
			if err != nil {
				t.Errorf("%s: %v", test.encoding, err)
			} else if guess.Encoding != test.encoding || len(guess.Columns) != 2 || guess.Problem != nil {
				t.Errorf("%q is %s: %v", test.text, guess.Settings(), guess.Problem)
			}
		}
	}
	for _, text := range []string{"PK\x03\x04\x00\x00\x00\x00\x00\x01", "", " \r\n\n"} {
		if guess, err := sniff.CSV([]byte(text), true); err == nil {
			t.Errorf("%q is %+v", text, guess)
		}
	}
}

// TestProblem finds the row that would end a load, and not one that the sample cuts.
func TestProblem(t *testing.T) {
	var text strings.Builder
	text.WriteString("id;name\n")
	for i := range 100 {
		fmt.Fprintf(&text, "%d;\"a;b\"\n", i)
	}
	whole := text.String()
	for cut := len(whole) / 2; cut < len(whole); cut++ {
		guess, err := sniff.CSV([]byte(whole[:cut]), false)
		if err != nil || guess.Settings() != "delimiter=;" || guess.Problem != nil {
			t.Fatalf("%d bytes: %v, %+v", cut, err, guess)
		}
	}
	guess, err := sniff.CSV([]byte(whole+"100;c;d\n"), true)
	if err != nil {
		t.Fatal(err)
	}
	row, is := errors.AsType[*format.RowError](guess.Problem)
	if guess.Settings() != "delimiter=;" || !is || row.Line != 102 {
		t.Errorf("a row with more values: %q, %v", guess.Settings(), guess.Problem)
	}
}

// FuzzCSV guesses any bytes. What a guess says without a problem must be what a reader of its settings finds.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{
		"a,b\n1,2\n", "a\xe9,b\n", "\ufeffa;b\r\n1;\"x\ny\"\r\n", "1\ta\\tb\t\\N\n", "sep=|\na|b\n",
		"# x\na, b\n1, \"2\"\n",
		"\xff\xfea\x00,\x00b\x00\n\x00", "a,a\n,\n", "a b\n'c d' e\n", "\\.\n", "\"", "'\\", "a||b\n\n\n1||2",
	} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, isWhole bool) {
		guess, err := sniff.CSV(text, isWhole)
		if err != nil || guess.Problem != nil || !isWhole {
			return
		}
		d, encoding, err := format.ParseDialect(guess.Settings())
		if err != nil || encoding != guess.Encoding {
			t.Fatalf("%q: %v", guess.Settings(), err)
		}
		r := io.Reader(bytes.NewReader(text))
		if encoding != "" {
			if r, err = charset.NewReader(r, encoding); err != nil {
				t.Fatal(err)
			}
		}
		if r, err = d.Reader(r); err != nil {
			t.Fatalf("%q: %v", guess.Settings(), err)
		}
		rows, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("%q: %v", guess.Settings(), err)
		}
		_, count := format.CSV{}.Cut(rows)
		if !d.NoHeader {
			count--
		}
		if int64(count) != guess.Rows {
			t.Fatalf("%q: %d rows instead of %d", guess.Settings(), count, guess.Rows)
		}
	})
}
