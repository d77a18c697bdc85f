package manifest_test

import (
	"bytes"
	"fmt"
	"strings"

	"culvert/manifest"
	"culvert/source"
)

// What an export writes at its end, and whatever reads it begins with.
func Example() {
	m := manifest.New(source.Description{System: "SQLite 3.50", Database: "shop.db", Snapshot: "1"})
	m.Format, m.Compression = "csv", "none"
	orders := manifest.NewTable("orders", []source.Column{{Name: "id", Type: "INTEGER"}})
	orders.HeaderBytes = int64(len("id\n"))
	orders.Parts = []manifest.Part{
		{
			File: manifest.PartFile("orders", 1, 1, ".csv"), Range: &source.Range{By: "rowid", To: "3"}, Rows: 2,
			TextBytes: 7, FileBytes: 7, SHA256: strings.Repeat("1a", 32), Sum: strings.Repeat("1", 32),
		},
		{
			File: manifest.PartFile("orders", 2, 1, ".csv"), Range: &source.Range{By: "rowid", From: "3"}, Rows: 1,
			TextBytes: 5, FileBytes: 5, SHA256: strings.Repeat("2b", 32), Sum: strings.Repeat("2", 32),
		},
	}
	if err := orders.AddUp(); err != nil {
		fmt.Println(err)
	}
	m.Tables = append(m.Tables, orders)

	var file bytes.Buffer
	if _, err := m.WriteTo(&file); err != nil {
		fmt.Println(err)
	}
	written, err := manifest.Read(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range written.Tables {
		fmt.Println(t.Name, "is in", t.File(), "with", t.Rows, "rows in", t.TextBytes, "bytes of text, sum", t.Sum)
	}
	// Output:
	// orders is in orders with 3 rows in 9 bytes of text, sum 33333333333333333333333333333333
}

// A manifest of another version is not read.
func ExampleRead() {
	_, err := manifest.Read(strings.NewReader(`{"version": 9}`))
	fmt.Println(err)
	// Output: manifest: not a valid manifest: it has version 9, and only 1 to 3 are known: try a newer culvert
}

// The names of files differ, also where letter case does not count.
func ExampleFileNames() {
	fmt.Println(manifest.FileNames([]string{"orders", "Orders", "a/b"}, ".csv.zst.age"))
	// Output: [orders.csv.zst.age Orders-2.csv.zst.age a_b.csv.zst.age]
}
