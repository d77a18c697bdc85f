package fill_test

import (
	"testing"

	"culvert/sqlite/internal/fill"
)

// TestTypeIn finds types in statements as people write them.
func TestTypeIn(t *testing.T) {
	const create = "CREATE /* (a */ TABLE \"t (a int\" (\n\ta, -- the first (one), a\n\t" +
		"[b c] VARYING  CHARACTER ( 5 ) NOT NULL, 'd' decimal(10, 2)DEFAULT 'b c, e',\n\tE,f INT PRIMARY KEY," +
		" `g``h` text COLLATE nocase, é /* no type */ , last int)"
	for column, want := range map[string]string{
		"a":    "",
		"b c":  " VARYING  CHARACTER ( 5 )",
		"d":    " decimal(10, 2)",
		"e":    "",
		"F":    " INT",
		"g`h":  " text",
		"é":    "",
		"last": " int",
	} {
		begin, end, found := fill.TypeIn(create, column)
		if !found || create[begin:end] != want {
			t.Errorf("the type of %s is %q, %t; want %q", column, create[begin:max(begin, end)], found, want)
		}
	}
	for _, none := range []string{"b", "5", "int", "t (a int", "PRIMARY"} {
		if begin, end, found := fill.TypeIn(create, none); found {
			t.Errorf("%s has the type %q", none, create[begin:end])
		}
	}
}
