package format_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/source"
)

func TestCSVIsReadAsByPostgreSQL(t *testing.T) {
	for _, test := range []struct {
		text string
		want [][]cell
	}{
		{"a,b\r\nc,\"d\r\ne\"\r\n", [][]cell{{text("a"), text("b")}, {text("c"), text("d\r\ne")}}},
		{`a"b,c"d,"e"f""` + "\n", [][]cell{{text("ab,cd"), text("ef")}}},
		{`"a""b"c"d",""""""""` + "\n", [][]cell{{text(`a"bcd`), text(`"""`)}}},
		{`"",` + "\n", [][]cell{{text(""), null()}}},
		{`\N,\.` + "\n", [][]cell{{text(`\N`), text(`\.`)}}},
	} {
		got, err := decodeAll(decoder(t, format.CSV{}, textFields(2)...), []byte(test.text))
		if err != nil || !slices.EqualFunc(got, test.want, slices.Equal) {
			t.Errorf("%q: %v and error %v, want %v", test.text, got, err, test.want)
		}
	}
}

func TestCSVHeaderIsRead(t *testing.T) {
	for text, want := range map[string][]string{
		"\nrow\n":                {},
		"\"\"\n":                 {""},
		"id\n1\n":                {"id"},
		"id":                     {"id"},
		"a,,\"b\"\"\nc\"\r\n1\n": {"a", "", "b\"\nc"},
	} {
		names, n, err := format.CSV{}.Header([]byte(text))
		if err != nil || !slices.Equal(names, want) || strings.HasPrefix(text[n:], "\n") {
			t.Errorf("%q: %q, %d bytes, error %v, want %q", text, names, n, err, want)
		}
	}
	for _, text := range []string{"a,\"b\n", "a\rb\n"} {
		if _, _, err := (format.CSV{}).Header([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// TestNoColumns reads rows of a table without columns, in which a row is an empty line.
func TestNoColumns(t *testing.T) {
	for name, f := range readable {
		d := decoder(t, f)
		out := encode(t, f, nil, nil, nil)
		_, n, err := f.Header([]byte(out))
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeAll(d, []byte(out)[n:])
		if len(got) != 2 || err != nil {
			t.Errorf("%s %q: %d rows, error %v", name, out, len(got), err)
		}
	}
	if _, err := decodeAll(decoder(t, format.CSV{}), []byte("x\n")); err == nil {
		t.Error("a value without a column is accepted")
	}
}

// parseRows is a model of the dialect: character by character, as PostgreSQL's documentation describes it.
func parseRows(text string) (rows [][]cell, ok bool) {
	var row []cell
	var value []byte
	inside, quoted, begun := false, false, false
	var ending string
	endValue := func() {
		c := cell{source.Text, string(value)}
		if !quoted && len(value) == 0 {
			c = null()
		}
		row, value, quoted = append(row, c), nil, false
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		begun = true
		switch {
		case inside && c == '"' && i+1 < len(text) && text[i+1] == '"':
			value = append(value, '"')
			i++
		case c == '"':
			inside, quoted = !inside, true
		case inside:
			value = append(value, c)
		case c == ',':
			endValue()
		case c == '\n' || c == '\r':
			now := "\n"
			if c == '\r' {
				now = "\r\n"
			}
			if !strings.HasPrefix(text[i:], now) || ending != "" && ending != now {
				return nil, false
			}
			i += len(now) - 1
			ending, begun = now, false
			endValue()
			rows, row = append(rows, row), nil
		default:
			value = append(value, c)
		}
	}
	if begun {
		endValue()
		rows = append(rows, row)
	}
	return rows, !inside
}

var csvSeeds = []string{
	"", "\n", "a,b\n", "a,b", "\"a\"\"b\",\"c\nd\"\r\n,\r\n", "a\"b,c\"d,e\n", "\"\"\"\",\"\"\n", "a,\"b", "a\rb\n",
	"12345678,12345678\n1234567\"8,\"9\n", "a,b\r\nc,d\n", "\xac\xa2\x8a\x8d,\xff\n", "\"a\" ,b\n", "a,b\n\n",
	strings.Repeat("\"x\"\"y\",", 20) + "z\n",
}

func FuzzCSVDecode(f *testing.F) {
	for _, seed := range csvSeeds {
		f.Add(seed, uint8(2))
	}
	f.Fuzz(func(t *testing.T, file string, width uint8) {
		columns := int(width)%4 + 1
		want, ok := parseRows(file)
		sameWidth := !slices.ContainsFunc(want, func(row []cell) bool { return len(row) != columns })
		var b source.Batch
		b.SetLimit(1 << 20)
		n, err := decoder(t, format.CSV{}, textFields(columns)...).Decode(&b, []byte(file))
		if good := ok && sameWidth; (err == nil) != good || good && n != len(file) {
			t.Fatalf("%q: %d bytes, error %v; the model says %v, %v", file, n, err, want, ok)
		} else if got := cells(&b); good && !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%q: %v, want %v", file, got, want)
		}
		if ok && strings.HasSuffix(file, "\n") {
			if n, rows := (format.CSV{}).Cut([]byte(file)); n != len(file) || rows != len(want) {
				t.Fatalf("%q: Cut returns %d, %d, want %d, %d", file, n, rows, len(file), len(want))
			}
		}
		expectAsEncodingCSV(t, file, columns)
	})
}

// expectAsEncodingCSV compares with encoding/csv what that reads: it refuses quotes within a value, skips empty lines,
// turns CR LF into LF, and reads a single CR as a part of a value.
func expectAsEncodingCSV(t *testing.T, file string, columns int) {
	t.Helper()
	if strings.Contains(file, "\r") || strings.HasPrefix(file, "\n") || strings.Contains(file, "\n\n") {
		return
	}
	reader := csv.NewReader(strings.NewReader(file))
	reader.FieldsPerRecord = columns
	records, err := reader.ReadAll()
	if err != nil {
		return
	}
	rows, err := decodeAll(decoder(t, format.CSV{}, textFields(columns)...), []byte(file))
	if err != nil || len(rows) != len(records) {
		t.Fatalf("%q: %v and error %v, encoding/csv has %q", file, rows, err, records)
	}
	for i, record := range records {
		for k, value := range record {
			if rows[i][k].value != value {
				t.Fatalf("%q: %v, encoding/csv has %q", file, rows, records)
			}
		}
	}
}

// standardReaders read text with the packages of the standard library, as far as they do the same.
var standardReaders = map[string]func(text []byte) error{
	"csv": func(text []byte) error {
		r := csv.NewReader(bytes.NewReader(text))
		r.ReuseRecord = true
		for {
			if _, err := r.Read(); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	},
	"jsonl": readStandardJSON,
}

// randomCSV returns a file as nobody writes it, in which most rows have two values.
func randomCSV(r *rand.Rand) string {
	end := []string{"\n", "\r\n"}[r.IntN(2)]
	alphabet := []string{"a", "12345678", `"`, `""`, `"b,c"`, `"d` + end + `e"`, `\N`, " ", "é", `"f""g"`}
	var file strings.Builder
	for range r.IntN(5) {
		for k := range 2 {
			if k > 0 {
				file.WriteString(",")
			}
			for range r.IntN(4) {
				file.WriteString(alphabet[r.IntN(len(alphabet))])
			}
		}
		if r.IntN(40) == 0 {
			file.WriteString([]string{"\r", ",", "\n", "\r\n"}[r.IntN(4)])
		}
		file.WriteString(end)
	}
	return file.String()
}

// TestPostgreSQLReadsTheSame loads files into PostgreSQL, and compares which it accepts, and the values.
func TestPostgreSQLReadsTheSame(t *testing.T) {
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, testkit.Postgres(t).NewDatabase(t).ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	query := func(sql string) [][][]byte {
		results, err := conn.Exec(ctx, sql).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return results[len(results)-1].Rows
	}
	r := rand.New(rand.NewPCG(4, 2))
	const files = 150
	refused := 0
	for i := range files {
		file := randomCSV(r)
		if i < len(csvSeeds) && !strings.Contains(csvSeeds[i], "\xff") {
			file = csvSeeds[i]
		}
		query("CREATE TEMPORARY TABLE t (n serial, a text, b text)")
		_, refusal := conn.CopyFrom(ctx, strings.NewReader(file), "COPY t (a, b) FROM STDIN CSV")
		var want [][]cell
		for _, row := range query("SELECT a, b FROM t ORDER BY n") {
			cells := []cell{null(), null()}
			for i, value := range row {
				if value != nil {
					cells[i] = text(string(value))
				}
			}
			want = append(want, cells)
		}
		query("DROP TABLE t")
		got, err := decodeAll(decoder(t, format.CSV{}, textFields(2)...), []byte(file))
		switch {
		case (err == nil) != (refusal == nil):
			t.Errorf("%q: error %v, PostgreSQL says %v", file, err, refusal)
		case err != nil:
			refused++
		case !slices.EqualFunc(got, want, slices.Equal):
			t.Errorf("%q: %v, PostgreSQL has %v", file, got, want)
		}
	}
	if refused < files/20 || refused > files/2 {
		t.Errorf("PostgreSQL refuses %d of %d files", refused, files)
	}
}
