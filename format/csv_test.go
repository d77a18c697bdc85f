package format_test

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/source"
)

func TestCSVValues(t *testing.T) {
	tests := []struct {
		cell   cell
		want   string // in a row of several columns
		single string // as the only column, if it differs
	}{
		{null(), "", ""},
		{text(""), `""`, ""},
		{text("water"), "water", ""},
		{text(" a b "), " a b ", ""},
		{text("a,b"), `"a,b"`, ""},
		{text(`say "hi"`), `"say ""hi"""`, ""},
		{text(`"`), `""""`, ""},
		{text(`""`), `""""""`, ""},
		{text("a\nb"), "\"a\nb\"", ""},
		{text("a\rb"), "\"a\rb\"", ""},
		{text("12345678,"), `"12345678,"`, ""},
		{text("1234567\n"), "\"1234567\n\"", ""},
		{text("12345678901\r34567890"), "\"12345678901\r34567890\"", ""},
		{text(`\N`), `\N`, ""},
		{text(`\.`), `\.`, `"\."`},
		{text(`\..`), `\..`, ""},
		{text("a\tb;c'd|e"), "a\tb;c'd|e", ""},
		{text("=1+1"), "=1+1", ""},
		{text("Müller 水 😀"), "Müller 水 😀", ""},
		{text("a\x00b"), "a\x00b", ""},
		{text("\xff\xfe"), "\xff\xfe", ""},
		{text("\xac\x8a\x8d\xa2"), "\xac\x8a\x8d\xa2", ""}, // the special characters with their highest bit set
		{text(`{1,NULL,"NULL"}`), `"{1,NULL,""NULL""}"`, ""},
		{number("-12.50"), "-12.50", ""},
		{number("NaN"), "NaN", ""},
		{number("-Infinity"), "-Infinity", ""},
		{boolean("t"), "t", ""},
		{boolean("f"), "f", ""},
		{binary(""), `\x`, ""},
		{binary("\x00\xffA,\""), `\x00ff412c22`, ""},
		{jsonCell(`{"a": [1, 2]}`), `"{""a"": [1, 2]}"`, ""},
		{jsonCell(`17`), `17`, ""},
	}
	for _, test := range tests {
		if got, want := encode(t, format.CSV{}, []string{"a", "b", "c"}, []cell{text("x"), test.cell, number("1")}),
			"a,b,c\nx,"+test.want+",1\n"; got != want {
			t.Errorf("%v in the middle: got %q, want %q", test.cell, got, want)
		}
		want := test.single
		if want == "" {
			want = test.want
		}
		if got, want := encode(t, format.CSV{}, []string{"a"}, []cell{test.cell}), "a\n"+want+"\n"; got != want {
			t.Errorf("%v alone: got %q, want %q", test.cell, got, want)
		}
	}
}

func TestCSVHeader(t *testing.T) {
	tests := map[string][]string{
		"\n":                                    nil,
		"id\n":                                  {"id"},
		"id,id\n":                               {"id", "id"},
		"\"a,b\",\"say \"\"hi\"\"\",\"x\ny\"\n": {"a,b", `say "hi"`, "x\ny"},
		"\"\\.\"\n":                             {`\.`},
		"\\.,b\n":                               {`\.`, "b"},
	}
	for want, names := range tests {
		if got := encode(t, format.CSV{}, names); got != want {
			t.Errorf("%q: got %q, want %q", names, got, want)
		}
	}
}

func TestCSVWithoutColumns(t *testing.T) {
	if got, want := encode(t, format.CSV{}, nil, nil, nil, nil), "\n\n\n\n"; got != want {
		t.Errorf("a header and three rows: got %q, want %q", got, want)
	}
}

// nastyText returns random text with many characters that are special in CSV.
func nastyText(r *rand.Rand) string {
	alphabet := []string{
		",", `"`, "\n", "\r", `\`, ".", "N", " ", "\t", "a", "Z", "0", "'", ";", "|", "=", "\x01", "\x1f", "\x7f",
		"ü", "水", "😀", "\u00a0", "\u2028", "\ufeff", `\.`, "\r\n", `""`, "NULL", "lorem ipsum dolor",
	}
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func TestCSVIsThatOfPostgreSQL(t *testing.T) {
	db := testkit.Postgres(t).NewDatabase(t)
	r := rand.New(rand.NewPCG(7, 7))

	const rows = 4000
	names := []string{"n", "the text", `say "hi"`, "a,b", "line\nbreak", "bin", "doc", "numeric", "flag"}
	var all, single [][]cell
	var values, singleValues []string
	for i := range rows {
		texts := []cell{text(nastyText(r)), text(nastyText(r)), null(), text(`\.`)}
		bin := make([]byte, r.IntN(9))
		for j := range bin {
			bin[j] = byte(r.Uint32())
		}
		doc := fmt.Sprintf(`{"a": %q}`, strings.Repeat(`"`, r.IntN(3)))
		numeric := fmt.Sprintf("%d.%03d", r.IntN(1000)-500, r.IntN(1000))
		row := []cell{
			number(fmt.Sprint(i)), texts[0], texts[r.IntN(4)], texts[1], texts[r.IntN(4)],
			binary(string(bin)), jsonCell(doc), number(numeric), boolean("tf"[i%2 : i%2+1]),
		}
		all = append(all, row)
		var sql []string
		for _, c := range row {
			switch c.kind {
			case source.Null:
				sql = append(sql, "NULL")
			case source.Bytes:
				sql = append(sql, literal(`\x`+hex.EncodeToString([]byte(c.value)))+"::bytea")
			case source.JSON:
				sql = append(sql, literal(c.value)+"::json")
			case source.Number:
				sql = append(sql, c.value)
			case source.Bool:
				sql = append(sql, literal(c.value)+"::bool")
			default:
				sql = append(sql, literal(c.value))
			}
		}
		values = append(values, "("+strings.Join(sql, ",")+")")

		only := row[1+r.IntN(4)]
		single = append(single, []cell{only})
		if only.kind == source.Null {
			singleValues = append(singleValues, fmt.Sprintf("(%d, NULL)", i))
		} else {
			singleValues = append(singleValues, fmt.Sprintf("(%d, %s)", i, literal(only.value)))
		}
	}
	var quotedNames []string
	for _, name := range names {
		quotedNames = append(quotedNames, quoted(name))
	}
	db.Exec(t, fmt.Sprintf("CREATE TABLE wide AS SELECT * FROM (VALUES %s) AS v(%s)",
		strings.Join(values, ",\n"), strings.Join(quotedNames, ",")))
	db.Exec(t, fmt.Sprintf(`CREATE TABLE narrow AS SELECT * FROM (VALUES %s) AS v(n, "\.")`,
		strings.Join(singleValues, ",\n")))
	db.Exec(t, "CREATE TABLE bare (); INSERT INTO bare DEFAULT VALUES; INSERT INTO bare DEFAULT VALUES")

	tests := []struct {
		query string
		names []string
		rows  [][]cell
	}{
		{"SELECT * FROM wide ORDER BY n", names, all},
		{`SELECT "\." FROM narrow ORDER BY n`, []string{`\.`}, single},
		{"SELECT * FROM bare", nil, [][]cell{nil, nil}},
		{"SELECT * FROM wide WHERE false", names, nil},
	}
	for _, test := range tests {
		got := encode(t, format.CSV{}, test.names, test.rows...)
		for _, command := range []string{
			fmt.Sprintf(`COPY (%s) TO STDOUT (FORMAT csv, HEADER)`, test.query),
			fmt.Sprintf(`\copy (%s) to stdout csv header`, test.query),
		} {
			want := string(db.Psql(t, "-c", command))
			if got == want {
				continue
			}
			same := 0
			for same < min(len(got), len(want)) && got[same] == want[same] {
				same++
			}
			t.Errorf("%s\n differs at byte %d of %d:\n got %.80q\nwant %.80q",
				command, same, len(want), got[max(0, same-20):], want[max(0, same-20):])
		}
	}
}

// parseCSV reads CSV strictly: it accepts only what CSV writes, and tells NULL from "".
func parseCSV(in string, columns int) (rows [][]cell, err error) {
	for in != "" {
		var row []cell
		for {
			c := null()
			if strings.HasPrefix(in, `"`) {
				in = in[1:]
				c = text("")
				for {
					end := strings.IndexByte(in, '"')
					if end < 0 {
						return nil, errors.New("quote is not closed")
					}
					c.value += in[:end]
					in = in[end+1:]
					if !strings.HasPrefix(in, `"`) {
						break
					}
					c.value += `"`
					in = in[1:]
				}
			} else if end := strings.IndexAny(in, ",\n"); end < 0 {
				return nil, errors.New("no line feed at the end")
			} else if end > 0 {
				c = text(in[:end])
				in = in[end:]
				if strings.ContainsAny(c.value, "\"\r") {
					return nil, fmt.Errorf("not quoted: %q", c.value)
				}
			}
			row = append(row, c)
			if in == "" {
				return nil, errors.New("no line feed at the end")
			}
			end := in[0]
			in = in[1:]
			if end == '\n' {
				break
			}
			if end != ',' {
				return nil, fmt.Errorf("%q after a value", end)
			}
		}
		if len(row) != columns {
			return nil, fmt.Errorf("row of %d columns, want %d", len(row), columns)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// cut makes rows of any bytes: values end at 0xfe, and are NULL after 0xff.
func cut(data []byte, columns int) [][]cell {
	var rows [][]cell
	var row []cell
	for value := range bytes.SplitSeq(data, []byte{0xfe}) {
		c := text(string(value))
		if bytes.HasPrefix(value, []byte{0xff}) {
			c = null()
		}
		if row = append(row, c); len(row) == columns {
			rows, row = append(rows, row), nil
		}
	}
	return rows
}

// TestCSVQuotesAtAnyPlace writes quotes, and bytes that differ by one bit, at every place of words of eight
// bytes, to buffers of every capacity.
func TestCSVQuotesAtAnyPlace(t *testing.T) {
	e := encoder(t, format.CSV{}, "a")
	r := rand.New(rand.NewPCG(3, 4))
	for size := 1; size < 40; size++ {
		for range 200 {
			value := make([]byte, size)
			for i := range value {
				value[i] = "\"\"\"#! \xa2ab,"[r.IntN(10)]
			}
			want := string(value)
			if bytes.ContainsAny(value, `",`) {
				want = `"` + strings.ReplaceAll(want, `"`, `""`) + `"`
			}
			out, err := e.AppendRows(make([]byte, 0, r.IntN(4*size)), fill(1, []cell{text(string(value))}))
			if got := string(out); got != want+"\n" || err != nil {
				t.Fatalf("%q: %q and the error %v", value, got, err)
			}
		}
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("a,b\xfe\xff\xfe\"\xfe\r\n\xfe\\.\xfe"), uint8(3))
	f.Add([]byte("\xfe\xff\xfea"), uint8(1))
	f.Add([]byte("12345678,12345678\xfe1234567\""), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, width uint8) {
		columns := int(width)%5 + 1
		rows := cut(data, columns)
		names := []string{"a", "b", "c", "d", "e"}[:columns]
		out := encode(t, format.CSV{}, names, rows...)
		parsed, err := parseCSV(out, columns)
		if err != nil {
			t.Fatalf("%v in %q", err, out)
		}
		want := [][]cell{nil}
		for _, name := range names {
			want[0] = append(want[0], text(name))
		}
		want = append(want, rows...)
		if !slices.EqualFunc(parsed, want, slices.Equal) {
			t.Fatalf("%q: got %v, want %v", out, parsed, want)
		}
		compareWithEncodingCSV(t, out, want)
	})
}

// compareWithEncodingCSV checks that encoding/csv reads the same values, as far as it can: it does not know NULL, skips
// empty lines, and turns CR LF into LF.
func compareWithEncodingCSV(t *testing.T, out string, want [][]cell) {
	t.Helper()
	if strings.Contains(out, "\r") {
		return
	}
	records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatalf("encoding/csv: %v", err)
	}
	var values [][]string
	for _, row := range want {
		if len(row) == 1 && row[0].kind == source.Null {
			continue
		}
		var record []string
		for _, c := range row {
			record = append(record, c.value)
		}
		values = append(values, record)
	}
	if !slices.EqualFunc(records, values, slices.Equal) {
		t.Fatalf("encoding/csv gives %q, want %q", records, values)
	}
}
