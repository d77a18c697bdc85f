package format_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"culvert/format"
)

func converted(d format.Dialect, text io.Reader) (string, error) {
	r, err := d.Reader(text)
	if err != nil {
		return "", err
	}
	out, err := io.ReadAll(r)
	return string(out), err
}

func TestDialectsBecomeCSV(t *testing.T) {
	semicolon, backslash := format.Dialect{Delimiter: ";"}, format.Dialect{Escape: '\\'}
	for _, test := range []struct {
		dialect    format.Dialect
		text, want string
	}{
		{format.Dialect{}, "\ufeffa,b\n1,\"x, \"\"y\"\"\nz\"", "a,b\n1,\"x, \"\"y\"\"\nz\"\n"},
		{format.Dialect{}, "a,b\r\n\r\n,\"\"\r\n", "a,b\n,\"\"\n"},
		{format.Dialect{}, "a,b\r1,\"2\r3\"\r", "a,b\n1,\"2\r3\"\n"},
		{format.Dialect{}, "a,b\n5\" x,{\"k\": 1}\n", "a,b\n\"5\"\" x\",\"{\"\"k\"\": 1}\"\n"},
		{format.Dialect{}, "a\n\n\\.\n", "a\n\n\"\\.\"\n"},
		{format.Dialect{}, "a,\n1,", "a,\"\"\n1,\n"},
		{semicolon, "a;b\n1,5;\"x;y\"\n", "a,b\n\"1,5\",x;y\n"},
		{format.Dialect{Delimiter: "||"}, "a||b\n|x||y|||z\n", ""},
		{format.Dialect{Delimiter: "||"}, "a||b\nx|y||\"z||\"\n", "a,b\nx|y,z||\n"},
		{format.Dialect{Delimiter: "§"}, "ä§ö\nü§\"§\"\n", "ä,ö\nü,§\n"},
		{format.Dialect{Null: `\N`}, "a,b\n\\N,\"\\N\"\n,\n", "a,b\n,\\N\n\"\",\"\"\n"},
		{format.Dialect{Quote: '\''}, "a,b\n'it''s',\"x\"\n", "a,b\nit's,\"\"\"x\"\"\"\n"},
		{format.Dialect{Unquoted: true}, "a,b\n\"x,y\"\n", "a,b\n\"\"\"x\",\"y\"\"\"\n"},
		{backslash, `a,b` + "\n" + `"x\"y\\",C:\new\,d` + "\n", "a,b\n\"x\"\"y\\\",\"C:\\new,d\"\n"},
		{
			format.Dialect{Escape: '\\', Escapes: format.EscapeQuoted},
			`a,b` + "\n" + `a\\b,"c\d\""` + "\n",
			"a,b\na\\\\b,\"c\\d\"\"\"\n",
		},
		{format.Dialect{Escape: '"', Escapes: format.EscapeQuoted}, "a,b\n\"\"\"\",1\n", "a,b\n\"\"\"\",1\n"},
		{format.PostgreSQLText, "1\t\\N\t\\\\N\n2\t\tx\\ty\\n\\r\n\\.\n", "1,,\\N\n2,\"\",\"x\ty\n\r\"\n"},
		{format.MySQLText, "1\ta\r\n2\tb\\\nc\\\td\\Z\n", "1,\"a\r\"\n2,\"b\nc\td\x1a\"\n"},
		{format.Dialect{NoHeader: true}, "\\.\n", "\"\\.\"\n"},
		{format.Dialect{Names: []string{"a", "b,c"}, NoHeader: true}, "1,2\n", "a,\"b,c\"\n1,2\n"},
		{format.Dialect{Skip: 2, Comment: "#"}, "x\r\"y\r\n#c\r\na,b\r\n# 1\r\n1,#2", "a,b\n1,#2\n"},
		{format.Dialect{Trim: true}, " a , \"b\" \n 1 2 , \" 3 \" \n , \t\n", "a,b\n1 2, 3 \n,\n"},
		{format.Dialect{LineEnd: "\r\n"}, "a,b\r\nx\ny,z\r\n", "a,b\n\"x\ny\",z\n"},
		{format.Dialect{LineEnd: "\r"}, "a\rx\ny\r\n\r", "a\n\"x\ny\"\n\"\n\"\n"},
	} {
		got, err := converted(test.dialect, strings.NewReader(test.text))
		if test.want == "" {
			if err == nil {
				t.Errorf("%+v %q is accepted: %q", test.dialect, test.text, got)
			}
			continue
		}
		if err != nil || got != test.want {
			t.Errorf("%+v %q:\n%q and error %v, want\n%q", test.dialect, test.text, got, err, test.want)
		}
		slow, err := converted(test.dialect, iotest.OneByteReader(strings.NewReader(test.text)))
		if err != nil || slow != got {
			t.Errorf("%+v %q, byte by byte: %q and error %v", test.dialect, test.text, slow, err)
		}
	}
}

func TestTextThatIsNotInTheDialect(t *testing.T) {
	for _, test := range []struct {
		dialect    format.Dialect
		text, want string
	}{
		{format.Dialect{}, "a,b\n\"1\n2\",3\n1\n", "row 2 (line 4): it has 1 value, and there are 2 columns"},
		{format.Dialect{}, "a,b\n1,2,3\n", "row 1 (line 2): it has more values than the 2 columns"},
		{format.Dialect{}, "a,b\n1,\"2\n\n", `row 1 (line 2), column "b": a quote is not closed`},
		{format.Dialect{}, "a,b\n\"1\"2,3\n", `row 1 (line 2), column "a": after the quote that closes it is '2' ` +
			`instead of the delimiter "," or the end of the row`},
		{
			format.Dialect{},
			"a,b\r\n1,2\n",
			`row 1 (line 2), column "b": the row ends in LF, those before it in CR LF`,
		},
		{
			format.Dialect{},
			"a,b\n1,2\r3,4\n",
			`row 1 (line 2), column "b": the row ends in CR, those before it in LF`,
		},
		{format.Dialect{}, "\xff\xfea\x00", "header (line 1): the text begins as UTF-16 does, and not as UTF-8"},
		{format.MySQLText, "1\t\\q\n", `row 1 (line 1): 'q' after the escape has no meaning`},
		{format.PostgreSQLText, "1\n\\.\n2\n", `row 2 (line 3): more follows the line \., which ends the rows`},
		{format.Dialect{Escape: '\\'}, "a\nx\\", `row 1 (line 2), column "a": the text ends after an escape`},
	} {
		_, err := converted(test.dialect, strings.NewReader(test.text))
		if row, is := errors.AsType[*format.RowError](err); !is || row.Error() != "format: "+test.want {
			t.Errorf("%q: error %v, want %s", test.text, err, test.want)
		}
	}
	lost := errors.New("lost")
	_, err := converted(format.Dialect{}, io.MultiReader(strings.NewReader("a,b\n1"), iotest.ErrReader(lost)))
	if err != lost {
		t.Errorf("the error of a reader is %v", err)
	}
}

func TestDialectsThatCannotBe(t *testing.T) {
	for _, d := range []format.Dialect{
		{Delimiter: "\n"},
		{Delimiter: strings.Repeat("x", 17)},
		{Delimiter: `"`},
		{Quote: ','},
		{Quote: 0xe4},
		{Unquoted: true, Quote: '"'},
		{Escape: ','},
		{Escape: '"'},
		{Escapes: format.EscapeLetters},
		{LineEnd: "\n\r"},
		{Null: "a,b"},
		{Null: `"x"`},
		{Null: " ", Trim: true},
		{Comment: "\n"},
		{Skip: -1},
	} {
		if _, err := d.Reader(nil); err == nil {
			t.Errorf("%+v is accepted", d)
		}
	}
}

// dialectOf makes a dialect of any text.
func dialectOf(s string) format.Dialect {
	s += "\x00\x00\x00\x00\x00\x00"
	pick := func(i int, from ...string) string { return from[int(s[i])%len(from)] }
	d := format.Dialect{
		Delimiter: pick(0, "", ";", "\t", "||", "§"), Null: pick(1, "", `\N`, "NULL"),
		LineEnd: pick(2, "", "\n", "\r\n", "\r"), Comment: pick(3, "", "#", "--"),
		NoHeader: s[4]&1 != 0, Trim: s[4]&2 != 0, Unquoted: s[4]&4 != 0, Skip: int(s[4] >> 6),
	}
	if s[5]%4 > 0 {
		d.Escape, d.Escapes = '\\', format.Escapes(s[5]%4-1)
	}
	return d
}

func FuzzDialect(f *testing.F) {
	f.Add("", "a,b\n1,\"x\"\"\n\"\n")
	f.Add("\x01\x01\x00\x01\x02\x01", "a;b\r\n \"1\\\"\" ;\\N\r\n#\r\n")
	f.Add("\x02\x01\x01\x00\x05\x03", "1\t\\N\n\\.\n")
	f.Add("\x03\x02\x03\x02\x40\x02", "x\ra||b\r|||1\r")
	f.Fuzz(func(t *testing.T, settings, text string) {
		d := dialectOf(settings)
		out, err := converted(d, strings.NewReader(text))
		slow, slowErr := converted(d, iotest.OneByteReader(strings.NewReader(text)))
		if out != slow || (err == nil) != (slowErr == nil) || err != nil && err.Error() != slowErr.Error() {
			t.Fatalf("%q and error %v; byte by byte %q and error %v", out, err, slow, slowErr)
		}
		if err != nil || out == "" {
			return
		}
		// What is written is CSV, and the same as when it is read and written again.
		names, n, err := format.CSV{}.Header([]byte(out))
		if err != nil || d.NoHeader && names == nil {
			return // a NULL alone
		}
		if d.NoHeader {
			n = 0
		}
		rows, err := decodeAll(decoder(t, format.CSV{}, textFields(len(names))...), []byte(out[n:]))
		if err != nil {
			t.Fatalf("%q cannot be read: %v", out, err)
		}
		again, err := converted(format.Dialect{NoHeader: d.NoHeader}, strings.NewReader(out))
		if err != nil && len(names) > 1 || err == nil && again != out {
			t.Fatalf("%q of %d rows becomes %q and error %v", out, len(rows), again, err)
		}
	})
}
