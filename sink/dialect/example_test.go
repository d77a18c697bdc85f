package dialect_test

import (
	"fmt"
	"strings"

	"culvert/sink/dialect"
	"culvert/source"
)

func ExampleTranslate() {
	d := &source.Definition{
		Dialect: source.PostgreSQL, Name: "orders",
		Columns: []source.ColumnDefinition{
			{Name: "id", Type: "bigint", NotNull: true, Identity: source.Always},
			{Name: "price", Type: "numeric(10,2)", Default: "0.00"},
			{Name: "placed", Type: "date", Default: "CURRENT_DATE"},
			{Name: "code", Type: "text", Default: "lower('A'::text)"},
		},
		Constraints: []source.Constraint{{Kind: source.PrimaryKey, Columns: []string{"id"}}},
	}
	made, omitted, err := dialect.Translate(d, source.SQLite, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.ReplaceAll(made.Create, ", ", ",\n"))
	fmt.Println(omitted)
	// Output:
	// CREATE TABLE "orders" ("id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
	// "price" NUMERIC(10,2) DEFAULT 0.00,
	// "placed" DATE DEFAULT (date('now',
	// 'localtime')),
	// "code" TEXT)
	// [the default lower('A'::text) of column "code"]
}
