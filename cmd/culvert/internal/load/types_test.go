package load

import (
	"testing"

	"culvert/load"
)

func TestParseType(t *testing.T) {
	for text, want := range map[string]load.ColumnType{
		"orders.id=bigint":                 {Table: "orders", Column: "id", Type: "bigint"},
		"app.orders.price= numeric(10, 2)": {Table: "app.orders", Column: "price", Type: "numeric(10, 2)"},
		`"a.b"."c=""d".e=enum('x=y')`:      {Table: `a.b.c="d`, Column: "e", Type: "enum('x=y')"},
		`o."x y"=text`:                     {Table: "o", Column: "x y", Type: "text"},
		"id=bigint":                        {},
		"orders.id":                        {},
		"orders.id=":                       {},
		"orders.id= ":                      {},
		".id=int":                          {},
		"orders..id=int":                   {},
		`"orders.id=int`:                   {},
		`"orders"x.id=int`:                 {},
		`"".id=int`:                        {},
		"":                                 {},
	} {
		got, err := parseType(text)
		if got != want || (err != nil) != (want == load.ColumnType{}) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}
