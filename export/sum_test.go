package export_test

import (
	"bytes"
	"fmt"
	"io"
	"math/big"
	"testing"

	"github.com/zeebo/xxh3"

	"culvert/export"
	"culvert/format"
	"culvert/format/parquet"
	"culvert/internal/rowsum"
	"culvert/internal/testkit"
	"culvert/postgres"
	"culvert/source"
)

// sumOfLines adds up the hashes of lines one by one.
func sumOfLines(tb testing.TB, lines [][]byte) export.Sum {
	tb.Helper()
	total := new(big.Int)
	for _, line := range lines {
		hash := xxh3.Hash128(line).Bytes()
		total.Add(total, new(big.Int).SetBytes(hash[:]))
	}
	sum, err := rowsum.Parse(fmt.Sprintf("%032x", total.Mod(total, new(big.Int).Lsh(big.NewInt(1), 128))))
	if err != nil {
		tb.Fatal(err)
	}
	return sum
}

// splitCSV cuts CSV without a header into its rows: a line feed ends a row unless it is between quotes.
func splitCSV(text []byte) (lines [][]byte) {
	quoted, begin := false, 0
	for i, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\n' && !quoted:
			lines = append(lines, text[begin:i+1])
			begin = i + 1
		}
	}
	return lines
}

// naiveSum is the sum of a table, row by row.
func naiveSum(tb testing.TB, src source.Source, table string) export.Sum {
	tb.Helper()
	rows, err := src.Table(tb.Context(), table)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			tb.Error(err)
		}
	}()
	encoder, err := format.CSV{}.Encoder(rows.Columns())
	if err != nil {
		tb.Fatal(err)
	}
	var lines [][]byte
	var one, b source.Batch
	for {
		if err := rows.Next(&b); err == io.EOF {
			return sumOfLines(tb, lines)
		} else if err != nil {
			tb.Fatal(err)
		}
		for row := range b.Rows() {
			one.Reset(b.Columns())
			for column := range b.Columns() {
				one.Append(b.Value(row, column))
			}
			one.EndRow()
			line, err := encoder.AppendRows(nil, &one)
			if err != nil {
				tb.Fatal(err)
			}
			lines = append(lines, line)
		}
	}
}

var (
	sumFormats = []format.Format{
		format.CSV{}, format.JSONL{}, format.Text{}, format.Text{Line: "no row"}, parquet.Format{},
	}
	sumCompressions = []export.Compression{export.Zstd, export.Gzip, export.None}
)

// TestSum has the same rows in any format and compression, read in any way, have the same sum.
func TestSum(t *testing.T) {
	formats, compressions, large := sumFormats, sumCompressions, 3
	if testkit.RaceDetector() { // the goroutines are the same for all of them
		formats, compressions = formats[:2], compressions[:1]
	}
	if testkit.Soak() {
		large = 7
	}
	for name, text := range map[string][]byte{
		"short": nil,
		"whole": bytes.Repeat([]byte("\"quoted\",\n"), 6000),
		"large": bytes.Repeat([]byte("text, \"\n"), 300_000),
		"plain": bytes.Repeat([]byte("text"), 600_000),
	} {
		rows := generated{rows: large, text: text}
		if text == nil {
			rows.rows = 50_000
		}
		want := naiveSum(t, &rows, "")
		for _, f := range formats {
			for _, c := range compressions {
				if f != formats[0] && c != compressions[0] && !testkit.Soak() {
					continue // rows are summed before they are compressed
				}
				if f.Extension() == ".parquet" {
					c = export.None
				}
				for jobs, src := range map[int]source.Source{1: &rows, 2: &rows, 3: &divided{generated: rows}} {
					plan := export.Plan{Format: f, Compression: c, Jobs: jobs, Unencrypted: true}
					stats, err := plan.Table(t.Context(), io.Discard, src, "")
					if err != nil || stats.Sum != want {
						t.Errorf("%s rows as %T with %s and %d jobs: sum %s, want %s, error %v", name, f, c, jobs,
							stats.Sum, want, err)
					}
				}
			}
		}
	}
}

// TestSumOfPrinted has the source print the rows.
func TestSumOfPrinted(t *testing.T) {
	for _, size := range []int{0, 10, source.BatchSize - 10, 3*source.BatchSize + 3} {
		src := &printing{generated{rows: 5, text: bytes.Repeat([]byte("x"), size)}}
		var lines [][]byte
		for i := range src.rows {
			lines = append(lines, fmt.Appendf(nil, "%d,%s\n", i, src.text))
		}
		plan := export.Plan{Unencrypted: true, Jobs: 1}
		stats, err := plan.Table(t.Context(), io.Discard, src, "")
		if want := sumOfLines(t, lines); err != nil || stats.Sum != want {
			t.Errorf("rows of %d: sum %s, want %s, error %v", size, stats.Sum, want, err)
		}
	}
}

// TestCanonicalSum has rows whose text is not canonical, of every size, in every format, read in every way.
func TestCanonicalSum(t *testing.T) {
	large := bytes.Repeat([]byte("x"), source.BatchSize/10)
	for name, rows := range map[string]struct {
		logical         source.Type
		text, canonical []byte
	}{
		"decimals": {source.Type{Class: source.DecimalClass}, []byte("1.500"), []byte("1.5")},
		"JSON": {
			source.Type{Class: source.JSONClass},
			fmt.Appendf(nil, `{"b":[1, "%s"],"a":"%s"}`, large, large),
			fmt.Appendf(nil, `{"a": "%s", "b": [1, "%s"]}`, large, large),
		},
		"canonical JSON": {source.Type{Class: source.JSONClass}, []byte(`{"a": 1}`), []byte(`{"a": 1}`)},
		"texts":          {source.Type{}, []byte("1.500"), []byte("1.500")},
	} {
		own := generated{rows: 30, text: rows.text, logical: rows.logical}
		want := naiveSum(t, &generated{rows: own.rows, text: rows.canonical}, "")
		for _, f := range sumFormats {
			for jobs, src := range map[int]source.Source{1: &own, 2: &own, 3: &divided{generated: own}} {
				plan := export.Plan{Format: f, Jobs: jobs, Unencrypted: true}
				if f.Extension() == ".parquet" {
					plan.Compression = export.None
				}
				stats, err := plan.Table(t.Context(), io.Discard, src, "")
				if err != nil || stats.Canonical != want {
					t.Errorf("%s as %T with %d jobs: sum %s, want %s, error %v", name, f, jobs,
						stats.Canonical, want, err)
				}
			}
		}
	}
	printed := &printing{generated{rows: 5, text: []byte("1.500"), logical: source.Type{Class: source.DecimalClass}}}
	plan := export.Plan{Unencrypted: true, Jobs: 1}
	stats, err := plan.Table(t.Context(), io.Discard, printed, "")
	if want := naiveSum(t, &generated{rows: 5, text: []byte("1.5")}, ""); err != nil || stats.Canonical != want {
		t.Errorf("printed: sum %s, want %s, error %v", stats.Canonical, want, err)
	}
}

// TestSumDiffers has rows that are hard to tell apart.
func TestSumDiffers(t *testing.T) {
	sums := map[export.Sum]string{}
	for _, rows := range []string{
		"", "(NULL, NULL)", "('', NULL)", "(NULL, '')", "('a', 'b')", "('b', 'a')", "('a,b', NULL)",
		"('a', 'b'), ('a', 'b')", "('a', 'b'), ('b', 'a')", "('ab', '')", "('', 'ab')", `('"', '')`,
		`('""', '')`, "(x'61', 'b')", "('a ', 'b')",
	} {
		script := "CREATE TABLE t (a, b);"
		if rows != "" {
			script += "INSERT INTO t VALUES " + rows
		}
		src := database(t, script)
		plan := export.Plan{Unencrypted: true, Format: format.JSONL{}}
		stats, err := plan.Table(t.Context(), io.Discard, src, "t")
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := sums[stats.Sum]; ok {
			t.Errorf("%s has the sum of %s", rows, other)
		}
		sums[stats.Sum] = rows
	}
}

// TestSumOfPostgres compares sums with the CSV that PostgreSQL prints.
func TestSumOfPostgres(t *testing.T) {
	t.Parallel()
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `
		CREATE TABLE todos (
			id bigint, title text, price numeric, done boolean, data bytea, tags jsonb, due timestamptz);
		INSERT INTO todos SELECT i, CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'a "b", c' || chr(10) || 'd'
			ELSE 'title ' || i END, i / 7.0, i % 2 = 0, decode(md5(i::text), 'hex'), json_build_object('n', i),
			'2024-01-01'::timestamptz + i * interval '1 hour' FROM generate_series(1, 30000) i;
		INSERT INTO todos SELECT * FROM todos WHERE id < 100;
		INSERT INTO todos SELECT i, repeat(E'large "row"\n', 200000), 1, true, decode(repeat('00ff', 500000), 'hex')
			FROM generate_series(1, 3) i;
		CREATE TABLE singles (a text);
		INSERT INTO singles VALUES (E'\\.'), (NULL), (''), ('x');
		CREATE TABLE empty (a text);
		CREATE TABLE nothing ();
		INSERT INTO nothing SELECT FROM generate_series(1, 3);`)
	src, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for _, table := range []string{"todos", "singles", "empty", "nothing"} {
		want := sumOfLines(t, splitCSV(database.Psql(t, "-c", "COPY "+table+" TO STDOUT (FORMAT csv)")))
		for _, jobs := range []int{1, 2, 4} {
			for _, f := range []format.Format{format.CSV{}, format.JSONL{}} {
				plan := export.Plan{Unencrypted: true, Jobs: jobs, Format: f}
				stats, err := plan.Table(t.Context(), io.Discard, src, table)
				if err != nil || stats.Sum != want {
					t.Errorf("%s as %T with %d jobs: %d rows with the sum %s, want %s, error %v",
						table, f, jobs, stats.Rows, stats.Sum, want, err)
				}
			}
		}
	}
}
