package parquet_test

import (
	"bytes"
	"context"
	"fmt"
	"io"

	pq "github.com/parquet-go/parquet-go"

	"culvert/export"
	"culvert/format/parquet"
	"culvert/source"
)

// lakes are rows in memory, in place of those of a database.
type lakes struct{ read bool }

func (*lakes) Columns() []source.Column {
	return []source.Column{
		{Name: "name", Logical: source.Type{Class: source.StringClass}},
		{Name: "km2", Logical: source.Type{Class: source.DecimalClass, Precision: 7, Scale: 1}},
	}
}

func (l *lakes) Next(b *source.Batch) error {
	b.Reset(2)
	if l.read {
		return io.EOF
	}
	l.read = true
	for _, row := range [][2]string{{"Ladoga", "17700"}, {"Vänern", "5519.0"}} {
		b.Append(source.Text, []byte(row[0]))
		b.Append(source.Number, []byte(row[1]))
		b.EndRow()
	}
	return nil
}

func (*lakes) Close() error { return nil }

func ExampleFormat() {
	plan := export.Plan{Format: parquet.Format{}, Compression: export.None, Unencrypted: true}
	var file bytes.Buffer
	_, err := plan.Rows(context.Background(), &file, func(context.Context) (source.Rows, error) {
		return new(lakes), nil // or postgres, sqlite, gormdb, …
	})
	if err != nil {
		panic(err)
	}
	read, err := pq.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		panic(err)
	}
	fmt.Println(read.NumRows(), "rows")
	fmt.Println(read.Schema())
	// Output:
	// 2 rows
	// message schema {
	// 	optional binary name (STRING);
	// 	optional int32 km2 (DECIMAL(7,1));
	// }
}
