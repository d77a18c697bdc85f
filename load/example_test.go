package load_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"culvert/export"
	"culvert/format"
	"culvert/load"
	"culvert/sink"
)

// The database of the examples has the tables items and archive, and reads CSV.
func newDatabase() (sink.Sink, *memory) {
	db := newMemory("items", "archive")
	return asText{db, format.CSV{}}, db
}

// A file of another program, whose columns have other names.
func ExamplePlan_Text() {
	db, rows := newDatabase()
	file := strings.NewReader("number,title\n1,water\n2,stone\n")
	plan := load.Plan{Rename: map[string]string{"number": "id"}}
	stats, err := plan.Text(context.Background(), db, file, "items.csv", format.CSV{}, "items")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stats.Rows, stats.Sum)
	fmt.Printf("%q\n", rows.sorted("items"))
	// Output:
	// 2 b24b4402b6fbef8add51c000ced7ac76
	// ["1,water\n" "2,stone\n"]
}

// A table of an export, with three connections, under another name.
func ExamplePlan_Directory() {
	db, _ := newDatabase()
	backup, err := export.OpenDirectory(os.DirFS("testdata/backup"))
	if err != nil {
		fmt.Println(err)
		return
	}
	plan := load.Plan{Loaders: 3, ReadBack: true, Progress: new(load.Progress)}
	stats, err := plan.Directory(context.Background(), db, backup, map[string]string{"items": "archive"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stats[0].Name, "is in", stats[0].Table, "with", stats[0].Rows, "rows")
	fmt.Println(plan.Progress.Done())
	// Output:
	// items is in archive with 2 rows
	// 1
}

// What a load would do.
func ExamplePlan_Preview() {
	db, _ := newDatabase()
	backup, err := export.OpenDirectory(os.DirFS("testdata/backup"))
	if err != nil {
		fmt.Println(err)
		return
	}
	plans, err := new(load.Plan).Preview(context.Background(), db, backup, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plans[0].Table, plans[0].Columns[0].Name, plans[0].Columns[1].Name, plans[0].Loaders)
	// Output: items id title 1
}

// What loading a file would do. Its rows are not read.
func ExamplePlan_PreviewText() {
	db, _ := newDatabase()
	file := strings.NewReader("title,id\nwater,1\n")
	plan, err := new(load.Plan).PreviewText(context.Background(), db, file, "items.csv", format.CSV{}, "items")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Table, plan.Columns[0].Name, plan.Columns[1].Name)
	// Output: items title id
}

// The format of a file follows from its name.
func ExampleFormatOf() {
	readable, err := load.FormatOf("orders.jsonl.zst.age")
	fmt.Printf("%T %v\n", readable, err)
	_, err = load.FormatOf("orders.txt")
	fmt.Println(err)
	// Output:
	// format.JSONL <nil>
	// load orders.txt: its name does not say what it is: csv or jsonl
}
