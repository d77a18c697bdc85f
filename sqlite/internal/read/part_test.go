package read_test

import "culvert/source/sourcetest"

// keys are tables whose rowid is hard to find, or unusual.
var keys = []sourcetest.Key{
	{Name: "Hidden", Columns: "a text, rowid text, OID text", Rows: []string{
		"'a', 3, 'x'", "'b', 2, 'x'", "'c', 1, NULL", "'d', 1, NULL",
	}},
	{Name: "Alias", Columns: "k integer PRIMARY KEY, a text", Rows: []string{
		"-9223372036854775808, 'xxxxx'", "9223372036854775807, 'xxxxxx'", "0, 'xxxxxx'", "-1, 'x'", "1, ''",
	}},
	{Name: "TextKey", Columns: "k text COLLATE NOCASE PRIMARY KEY, a", Rows: []string{
		"'b', 1", "'A', 'x'", "NULL, 'x'", "NULL, x'00'", "'''', 1.5",
	}},
	{Name: "Generated", Columns: "k text, g text AS (k || 'x') STORED, v text AS (k || 'y')", Rows: []string{
		"'a'", "'b'", "'c'", "'d'",
	}},
}
