package read_test

import (
	"io"
	"os/exec"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/source"
)

// benchmarkSQL makes a table of eight small columns.
const benchmarkSQL = `CREATE TABLE t AS SELECT
	CAST(seq AS signed) AS id, CAST(seq % 1000 AS int) AS n, CONCAT('title of row ', seq) AS title,
	CAST(seq * 1.37 AS decimal(20,4)) AS price, TIMESTAMPADD(SECOND, seq, '2024-01-01') AS created, seq % 2 = 0 AS done,
	CONCAT('{"k": ', seq, '}') AS meta, IF(seq % 3 > 0, REPEAT('note ', seq % 20), NULL) AS note
	FROM seq_1_to_500000`

const benchmarkRows = 500_000

// BenchmarkRead reads a table of half a million rows, and has the client of the server read it. The server is the limit
// of both; what the client costs shows in the processor time.
func BenchmarkRead(b *testing.B) {
	db, database := openNew(b, benchmarkSQL)
	for _, way := range []struct {
		name string
		read func()
	}{
		{"Next", func() {
			if n, err := drain(table(b, db, "t")); n != benchmarkRows || err != io.EOF {
				b.Fatal(n, err)
			}
		}},
		{"mariadb", func() {
			cmd := exec.Command("mariadb", "--no-defaults", "--socket="+database.Server.SocketPath(), "--user=root",
				"--quick", "--batch", database.Name, "-e", "SELECT * FROM t")
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}},
	} {
		b.Run("way="+way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				way.read()
			}
			b.ReportMetric(float64(benchmarkRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// TestAllocations holds the driver to what it costs: an allocation for a value, a second one for a time, and none for
// NULL and small integers.
func TestAllocations(t *testing.T) {
	db, _ := openNew(t, strings.Replace(benchmarkSQL, "500000", "100000", 1))
	rows := table(t, db, "t")
	var b source.Batch
	b.SetLimit(32 << 10)
	next := func() {
		if err := rows.Next(&b); err != nil {
			t.Fatal(err)
		}
	}
	next()
	const perRow = 7
	testkit.Allocs(t, perRow*float64(b.Rows()), next)
}

// TestMemory reads far more than may be held.
func TestMemory(t *testing.T) {
	db, _ := openNew(t, "CREATE TABLE t (a int); INSERT INTO t SELECT seq FROM seq_1_to_1000")
	testkit.MemoryCeiling(t, 64<<20, func() {
		n, err := drain(query(t, db, "SELECT a.a, REPEAT('x', 300) FROM t a, t b"))
		if n != 1_000_000 || err != io.EOF {
			t.Errorf("%d rows, %v", n, err)
		}
	})
}
