package read_test

import (
	"io"
	"path/filepath"
	"testing"

	"culvert/source"
	"culvert/sqlite/internal/read"
)

// BenchmarkTable reads a table of eight small columns; an operation is a table of 100,000 rows.
func BenchmarkTable(b *testing.B) {
	const count = 100_000
	path := filepath.Join(b.TempDir(), "bench.db")
	execute(b, openWriter(b, path),
		`CREATE TABLE t (id INTEGER PRIMARY KEY, n INT, title TEXT, price REAL, created TEXT, done INT, meta TEXT,
			note TEXT)`,
		`INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000)
			SELECT i, i * 7919 % 100000, 'todo item ' || i || hex(i * 7919), i * 31 % 100000 / 100.0,
			datetime(1700000000 + i * 13, 'unixepoch'), i % 2, '{"a":' || i || ',"tags":["x","y"]}',
			CASE WHEN i % 3 THEN 'note, "' || hex(i * 104729) || '"' END FROM n`)
	db, err := read.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer closing(b, db)
	var batch source.Batch
	b.ReportAllocs()
	for b.Loop() {
		rows, err := db.Table(b.Context(), "t")
		if err != nil {
			b.Fatal(err)
		}
		total, size := 0, 0
		for {
			err := rows.Next(&batch)
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			total += batch.Rows()
			size += batch.Size()
		}
		if err := rows.Close(); err != nil {
			b.Fatal(err)
		}
		if total != count {
			b.Fatalf("read %d rows, want %d", total, count)
		}
		b.SetBytes(int64(size))
	}
	b.ReportMetric(float64(b.N)*count/b.Elapsed().Seconds(), "rows/s")
}
