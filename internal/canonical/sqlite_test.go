package canonical_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"culvert/internal/canonical"
	"culvert/source"
)

// BenchmarkSQLite adds different rows of SQLite, with both sums and with that of the text alone.
func BenchmarkSQLite(b *testing.B) {
	columns := []source.Column{
		{Name: "id", Type: "INTEGER", Logical: typeOf(b, "int64")},
		{Name: "customer", Type: "INTEGER", Logical: typeOf(b, "int64")},
		{Name: "title", Type: "TEXT", Logical: typeOf(b, "string")},
		{Name: "amount", Type: "REAL", Logical: typeOf(b, "float64")},
		{Name: "created", Type: "TEXT", Logical: typeOf(b, "string")},
		{Name: "done", Type: "INTEGER", Logical: typeOf(b, "int64")},
		{Name: "attributes", Type: "TEXT", Logical: typeOf(b, "string")},
		{Name: "note", Type: "TEXT", Logical: typeOf(b, "string")},
	}
	declared := append([]source.Column(nil), columns...)
	declared[3] = source.Column{Name: "amount", Type: "DECIMAL(12,2)", Logical: typeOf(b, "decimal(12,2)")}
	declared[4] = source.Column{Name: "created", Type: "TIMESTAMP", Logical: typeOf(b, "timestamp")}
	declared[5] = source.Column{Name: "done", Type: "BOOLEAN", Logical: typeOf(b, "bool")}
	declared[6] = source.Column{Name: "attributes", Type: "JSON", Logical: typeOf(b, "json")}
	for _, name := range []string{"plain", "declared"} {
		r := rand.New(rand.NewPCG(35, 0))
		var rows source.Batch
		rows.Reset(len(columns))
		for i := range 4096 {
			text := func(format string, values ...any) { rows.Append(source.Text, fmt.Appendf(nil, format, values...)) }
			rows.AppendInt(int64(100000 + i*7))
			rows.AppendInt(r.Int64N(100000))
			text(`paper market, river "%08x" %016x%016x`, r.Uint32(), r.Uint64(), r.Uint64())
			hundredths := r.IntN(10000000)
			switch {
			case hundredths%100 == 0:
				text("%d.0", hundredths/100)
			case hundredths%10 == 0:
				text("%d.%d", hundredths/100, hundredths/10%10)
			default:
				text("%d.%02d", hundredths/100, hundredths%100)
			}
			text("2023-09-%02d %02d:%02d:%02d.%03d", 1+r.IntN(30), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000))
			text("%d", i%2)
			text(`{"n": %d, "tag": "copper"}`, r.IntN(1000))
			text("window stone")
			rows.EndRow()
		}
		of := columns
		if name == "declared" {
			of = declared
		}
		benchmarkLines(b, name+" text", of, &rows, nil)
		benchmarkLines(b, name+" both", of, &rows, canonical.TypesOf(of, source.SQLite))
	}
}
