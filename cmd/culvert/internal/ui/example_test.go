package ui_test

import (
	"fmt"
	"os"
	"time"

	"culvert/cmd/culvert/internal/ui"
)

func ExampleFigures_Summary() {
	figures := ui.Figures{Rows: 1_000_000, In: 120_000_000, Out: 24_500_000}
	fmt.Println(figures.Summary(1500*time.Millisecond, 31<<20))
	// Output: 1,000,000 rows, 120.0 MB in, 24.5 MB out, 80.0 MB/s, 1.50 s, peak memory 31.0 MiB
}

func ExampleConsole() {
	console := ui.NewConsole(os.Stdout)
	console.Error(`table "order" does not exist`)
	console.Hint(`did you mean "orders"?`)
	// Output:
	// culvert: error: table "order" does not exist
	// culvert: hint: did you mean "orders"?
}

func ExampleProgress() {
	progress := ui.Progress{
		Console: ui.NewConsole(os.Stdout),
		Style:   ui.Periodic,
		Read:    func() ui.Status { return ui.Status{} },
	}
	stop := progress.Start()
	// Here the work is done, for as long as it takes.
	stop()
	// Output:
}

func ExampleNearest() {
	fmt.Println(ui.Nearest("oders", []string{"customers", "orders"}))
	// Output: orders
}
