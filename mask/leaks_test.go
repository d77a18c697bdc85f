package mask_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"culvert/mask"
	"culvert/source"
)

// TestBeyondType masks numbers that are larger than their type says, and the smallest ones.
func TestBeyondType(t *testing.T) {
	for _, test := range []struct{ typ, logical, value string }{
		{"SMALLINT", "int16", "70000"},
		{"DECIMAL(5)", "decimal(5,0)", "123456789"},
		{"DECIMAL(10,2)", "decimal(10,2)", "0.123456789"},
		{"smallint", "int16", "-32768"},
		{"integer", "int32", "-2147483648"},
		{"bigint", "int64", "-9223372036854775808"},
		{"numeric", "decimal", "1.5"},
		{"", "", "18446744073709551615"},
		{"", "", "9223372036854775808"},
	} {
		got := mustMask(t, column(t, test.typ, test.logical), "hash", source.Number, test.value)[0]
		if got == test.value {
			t.Errorf("%s of type %s stays", test.value, test.typ)
		}
		if bits := map[string]int{"smallint": 16, "integer": 32, "bigint": 64}[test.typ]; bits > 0 {
			if _, err := strconv.ParseInt(got, 10, bits); err != nil {
				t.Errorf("%s becomes %s, which is no %s", test.value, got, test.typ)
			}
		}
	}
	rounded := source.Column{Name: "c", Type: "numeric(5,-2)", Logical: source.Type{
		Class: source.DecimalClass, Precision: 5, Scale: -2,
	}}
	if got := mustMask(t, rounded, "hash", source.Number, "1234500")[0]; got == "1234500" || got[len(got)-2:] != "00" ||
		len(got) > 7 {
		t.Errorf("1234500 of type %s becomes %s", rounded.Type, got)
	}
	document := `{"n": 12345678901234567890}`
	if got := mustMask(t, column(t, "json", "json"), "json $.n: hash", source.JSON, document)[0]; got == document {
		t.Errorf("%s stays", document)
	}
}

// TestBeyondBits masks numbers of types that do not have all numbers of their bits.
func TestBeyondBits(t *testing.T) {
	for _, test := range []struct {
		typ, logical string
		least, most  uint64
	}{
		{"year(4)", "int16", 1901, 2155},
		{"bit(8)", "int16", 1, 255},
		{"oid", "int64", 1, 1<<32 - 1},
	} {
		var values []string
		for i := range min(test.most-test.least, 1000) {
			values = append(values, fmt.Sprint(test.most-i))
		}
		seen := map[string]bool{}
		for i, got := range mustMask(t, column(t, test.typ, test.logical), "hash", source.Number, values...) {
			n, err := strconv.ParseUint(got, 10, 64)
			if err != nil || n < test.least || n > test.most || seen[got] {
				t.Fatalf("%s of type %s becomes %s", values[i], test.typ, got)
			}
			seen[got] = true
		}
	}
}

// TestDecimalsStayDifferent masks numbers with different digits after the point.
func TestDecimalsStayDifferent(t *testing.T) {
	var values []string
	for i := 1; i < 30_000; i++ {
		values = append(values, strconv.FormatFloat(float64(i)/100, 'f', -1, 64))
	}
	seen := map[float64]string{}
	for i, got := range mustMask(t, column(t, "numeric", "decimal"), "hash", source.Number, values...) {
		n, err := strconv.ParseFloat(got, 64)
		if other, is := seen[n]; is || err != nil {
			t.Fatalf("%s and %s become %s", other, values[i], got)
		}
		seen[n] = values[i]
	}
}

// TestNothingBehind masks values with more than their rule is about.
func TestNothingBehind(t *testing.T) {
	kept := mustMask(t, column(t, "char(10)", "char(10)"), "keep first 4", source.Text, "ab        ", "abcde     ")
	if kept[0] != "**        " || kept[1] != "abcd*     " {
		t.Errorf("kept %q", kept)
	}
	for _, value := range []string{
		"1980-05-17, Anna Meier", "0000-00-00 secret", "1980-05-17 12:30 Anna", "1980-05-17 Anna BC",
		"1980-05-17T12:30:00.4111111111111111", "1980-05-174111", "1980-05-17 12:30:00+02 MEIER",
	} {
		for _, text := range []string{"year", "month", "shift 30"} {
			_, err := masked(t, testKey(t, keyText), column(t, "text", "string"), text, source.Text, value)
			if err == nil || !strings.Contains(err.Error(), "no date") {
				t.Errorf("%s of %q: the error is %v", text, value, err)
			}
		}
	}
	for _, value := range []string{
		"1980-05-17", "1980-05-17 12:30", "1980-05-17T12:30:00Z", "1980-05-17 12:30:00.123456+05:30",
		"1980-05-17 12:30:00+0200", "1980-05-17 12:30:00 +0000 UTC", "1980-05-17 12:30:00+00:19:32 BC",
	} {
		mustMask(t, column(t, "text", "string"), "year", source.Text, value)
	}
	for _, text := range []string{"text", "digits"} {
		_, err := masked(t, testKey(t, keyText), column(t, "text", "string"), text, source.Text, "a\xff")
		if err == nil || !strings.Contains(err.Error(), "not UTF-8") {
			t.Errorf("%s of a text that is not UTF-8: the error is %v", text, err)
		}
	}
}

// TestShiftMoves shifts days, of which none may stay.
func TestShiftMoves(t *testing.T) {
	values := []string{"0001-01-01", "9999-12-31"}
	for year := 1900; year < 2100; year++ {
		values = append(values, fmt.Sprintf("%d-05-17", year))
	}
	for _, text := range []string{"shift 1", "shift 3", "shift 36500"} {
		for i, got := range mustMask(t, column(t, "date", "date"), text, source.Text, values...) {
			if got == values[i] {
				t.Fatalf("%s: %s stays", text, got)
			}
		}
	}
}

// TestOtherTable refuses rules for columns that are not there: they may have another name.
func TestOtherTable(t *testing.T) {
	people := table(t, "people", nil, [3]string{"id", "integer", "int32"}, [3]string{"mail", "text", "string"})
	for _, rules := range []map[string]string{
		{"people.email": "email"}, {"people.email": "email", "people.id": "hash"}, {"people.email": "drop"},
	} {
		_, err := policy(t, rules).Check([]mask.Table{people})
		if err == nil || !strings.Contains(err.Error(), `no column "email"`) {
			t.Errorf("%v: the error is %v", rules, err)
		}
	}
	if _, err := policy(t, map[string]string{"people.email": "email"}).Masker("people", people.Columns); err == nil {
		t.Error("rows without the column that is masked are not refused")
	}
}

// TestTypesOfDatabases refuses values that a column cannot have.
func TestTypesOfDatabases(t *testing.T) {
	things := table(t, "things", []source.Constraint{{Kind: source.Unique, Columns: []string{"name"}}},
		[3]string{"address", "inet", ""}, [3]string{"mood", "mood", "enum"}, [3]string{"name", "citext", "string"},
		[3]string{"born", "date", "date"}, [3]string{"tag", "uuid", "uuid"}, [3]string{
			"price", "numeric(10,2)",
			"decimal(10,2)",
		})
	things.Definition.Columns[1].Values = []string{"glad", "sad"}
	for _, test := range []struct{ column, rule, notice, want string }{
		{"address", "hash", "", "cannot mask the type inet"},
		{"address", "fixed 127.0.0.1", "", ""},
		{"mood", "fixed angry", "", "none of the values"},
		{"mood", "fixed sad", "", ""},
		{"name", "text", "may ignore case", ""},
		{"born", "fixed today", "", "no date"},
		{"born", "fixed 2000-01-01", "", ""},
		{"tag", "fixed x", "", "no UUID"},
	} {
		notices, err := policy(t, map[string]string{"things." + test.column: test.rule}).Check([]mask.Table{things})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s for %s: the error is %v, want %q", test.rule, test.column, err, test.want)
		}
		all := strings.Join(notices, "\n")
		if (all == "") != (test.notice == "") || !strings.Contains(all, test.notice) {
			t.Errorf("%s for %s: the notices are %q", test.rule, test.column, all)
		}
	}
}
