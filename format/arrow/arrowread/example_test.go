package arrowread_test

import (
	"fmt"
	"os"

	"culvert/format"
	"culvert/format/arrow/arrowread"
	"culvert/source"
)

func ExampleFormat() {
	f, err := os.Open("testdata/zstd.arrow")
	if err != nil {
		panic(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		panic(err)
	}
	file, err := arrowread.Format{}.Open(f, info.Size())
	if err != nil {
		panic(err)
	}
	fields := make([]format.Field, len(file.Columns()))
	for i, c := range file.Columns() {
		fields[i].Skip = c.Name != "u8" && c.Name != "dec"
	}
	var batch source.Batch
	for group := range file.Groups() {
		rows, err := file.Rows(group, fields)
		if err != nil {
			panic(err)
		}
		for err = rows.Next(&batch); err == nil; err = rows.Next(&batch) {
			for row := range batch.Rows() {
				_, id := batch.Value(row, 0)
				_, price := batch.Value(row, 1)
				fmt.Printf("%s|%s\n", id, price)
			}
		}
		if err := rows.Close(); err != nil {
			panic(err)
		}
	}
	// Output:
	// 1|1.50
	// 255|-0.01
	// |
	// 0|12345678.90
}
