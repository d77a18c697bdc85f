package read_test

import (
	"io"
	"testing"

	"culvert/source"
)

const benchmarkRows = 1_000_000

// benchmarkSQL makes a table of eight small columns, 125 MB as CSV.
const benchmarkSQL = `CREATE TABLE t AS SELECT
	i::bigint AS id, (i % 1000)::int AS n, 'title of row ' || i AS title, (i * 1.37)::numeric(20,4) AS price,
	timestamptz '2024-01-01' + i * interval '1 s' AS created, i % 2 = 0 AS done, jsonb_build_object('k', i) AS meta,
	CASE WHEN i % 3 > 0 THEN repeat('note ', (i % 20)::int) END AS note
	FROM generate_series(1, 1000000) AS i`

// BenchmarkRead reads a table of a million rows by both ways, and by psql. The server is the limit of all; what a way
// costs in the client shows in the processor time.
func BenchmarkRead(b *testing.B) {
	db, database := openNew(b, benchmarkSQL)
	var size countingWriter
	if _, err := table(b, db, "t").(source.CSVWriter).WriteCSV(&size); err != nil {
		b.Fatal(err)
	}
	for _, way := range []struct {
		name string
		read func()
	}{
		{"WriteCSV", func() {
			if n, err := table(b, db, "t").(source.CSVWriter).WriteCSV(io.Discard); n != benchmarkRows || err != nil {
				b.Fatal(n, err)
			}
		}},
		{"Next", func() {
			if n, err := drain(table(b, db, "t")); n != benchmarkRows || err != io.EOF {
				b.Fatal(n, err)
			}
		}},
		{"psql", func() {
			if err := database.PsqlCommand(b, "-c", "COPY t TO STDOUT (FORMAT csv)").Run(); err != nil {
				b.Fatal(err)
			}
		}},
	} {
		b.Run("way="+way.name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				way.read()
			}
		})
	}
}

// countingWriter counts bytes.
type countingWriter int64

func (w *countingWriter) Write(p []byte) (int, error) {
	*w += countingWriter(len(p))
	return len(p), nil
}
