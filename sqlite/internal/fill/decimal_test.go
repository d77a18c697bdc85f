package fill_test

import (
	"slices"
	"strings"
	"testing"

	"culvert/sink"
	"culvert/source"
)

// TestDecimals makes tables of other systems with decimal numbers. A column has numbers only, or text only if numbers
// would lose digits.
func TestDecimals(t *testing.T) {
	for _, test := range []struct {
		dialect  source.Dialect
		declared string
		classes  string
		values   []string
		kept     bool // digit by digit
	}{
		{source.PostgreSQL, "numeric", "text", []string{"1", "1.5", "1.50", "-12345678901234567890.5", "NaN"}, true},
		{source.PostgreSQL, "numeric(20,5)", "text", []string{"1.00000", "1.23456", "123456789012345.67891"}, true},
		{source.PostgreSQL, "numeric(18,0)", "integer", []string{"1", "-999999999999999999"}, true},
		{source.PostgreSQL, "numeric(19,0)", "text", []string{"1", "9999999999999999999"}, true},
		{source.PostgreSQL, "numeric(15,2)", "integer real", []string{"1.00", "1.50", "1234567890123.45"}, false},
		{source.MySQL, "decimal(30,10)", "text", []string{"1.0000000000", "1.0123456789"}, true},
		{source.MariaDB, "decimal(10,1)", "integer real", []string{"1.0", "1.5"}, false},
	} {
		d := &source.Definition{
			Dialect: test.dialect, Schema: "public", Name: "t",
			Columns: []source.ColumnDefinition{{Name: "n", Type: test.declared}},
		}
		path := newFile(t, "PRAGMA synchronous = OFF")
		var rows source.Batch
		rows.Reset(1)
		for _, value := range test.values {
			rows.Append(source.Number, []byte(value))
			rows.EndRow()
		}
		if err := makeTable(t, open(t, path), "public.t", sink.Filling{Create: d}, &rows); err != nil {
			t.Errorf("%s: %v", test.declared, err)
			continue
		}
		classes := ask(t, path, "SELECT DISTINCT typeof(n) FROM t ORDER BY 1")
		if got := strings.Join(classes, " "); got != test.classes {
			t.Errorf("%s of %s is stored as %s, want %s", test.declared, test.dialect, got, test.classes)
		}
		if got := ask(t, path, "SELECT n FROM t ORDER BY rowid"); test.kept && !slices.Equal(got, test.values) {
			t.Errorf("%s of %s: %q become %q", test.declared, test.dialect, test.values, got)
		}
	}
}
