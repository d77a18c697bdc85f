package sink_test

import (
	"errors"
	"fmt"

	"culvert/sink"
)

// A row that the database refuses is an error with its place.
func ExampleRowError() {
	err := fmt.Errorf("loading orders.csv: %w", &sink.RowError{
		Table: "orders", Line: 7, Column: "placed", Value: "31.02.2026", Code: "22008",
		Err: errors.New("date out of range"),
	})
	if row, ok := errors.AsType[*sink.RowError](err); ok {
		fmt.Println(row.Line, row.Column, row.Value)
	}
	fmt.Println(err)
	// Output:
	// 7 placed 31.02.2026
	// loading orders.csv: sink: table orders, line 7, column "placed": date out of range: "31.02.2026"
}
