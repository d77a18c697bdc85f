package convert_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"culvert/convert"
	"culvert/source"
)

func Example() {
	conversion, err := convert.ParseText("*.made=epoch seconds")
	if err != nil {
		fmt.Println(err)
		return
	}
	converter := convert.New([]convert.Conversion{conversion}, []string{"", "orders"}, []string{"id", "made"})
	var batch, converted source.Batch
	batch.Reset(2)
	batch.AppendInt(7)
	batch.AppendInt(1700000000)
	batch.EndRow()
	if err := converter.Convert(&converted, &batch); err != nil {
		fmt.Println(err)
		return
	}
	_, value := converted.Value(0, 1)
	fmt.Printf("%s", value)
	// Output: 2023-11-14 22:13:20
}

// newConverter has some rules for the one column v, whose table has a type for it.
func newConverter(t *testing.T, column string, rules ...string) *convert.Converter {
	t.Helper()
	var all []convert.Conversion
	for _, rule := range rules {
		one, err := convert.Parse("t.v", rule)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return convert.New(all, []string{"s", "t"}, []string{"a", "v"}).For([]source.Column{{}, {Type: column}})
}

// TestRules has values converted, copied and lent. An exclamation mark in front of what is wanted says that it is an
// error.
func TestRules(t *testing.T) {
	const null = "<NULL>"
	for _, test := range []struct{ rules, column, value, want string }{
		{"zero-date null", "", "0000-00-00", null},
		{"zero-date null", "", "0000-00-00 00:00:00.000", null},
		{"zero-date null", "", "2020-00-15", null},
		{"zero-date null", "", "2020-01-15", "2020-01-15"},
		{"nul strip", "", "\x00a\x00\x00b\x00", "ab"},
		{"nul error", "", "ab", "ab"},
		{"nul error", "", "a\x00b", "!NUL"},
		{"empty null", "", "", null},
		{"empty null", "", " ", " "},
		{"trim", "", " \ta b\u00a0\n", "a b"},
		{"trim,empty null,default none of it", "", " ", "none of it"},
		{"default 0", "", null, "0"},
		{"trim", "", null, null},
		{"epoch seconds", "", null, null},
		{"epoch seconds", "", "0", "1970-01-01 00:00:00"},
		{"epoch seconds", "", "1700000000.25", "2023-11-14 22:13:20.25"},
		{"epoch seconds", "datetime(3)", "1700000000.25", "2023-11-14 22:13:20.250"},
		{"epoch seconds", "timestamp(3) with time zone", "1700000000.5", "2023-11-14 22:13:20.5+00"},
		{"epoch seconds", "", "-0.5", "1969-12-31 23:59:59.5"},
		{"epoch seconds", "", "-62135596801", "!years"},
		{"epoch seconds", "", "253402300800", "!years"},
		{"epoch seconds", "", "1700000000.1234567", "!microsecond"},
		{"epoch seconds", "", "1.7e9", "!decimal"},
		{"epoch seconds", "", "now", "!decimal"},
		{"epoch seconds", "", "1.", "!decimal"},
		{"epoch seconds", "", "", "!decimal"},
		{"epoch seconds", "", strings.Repeat("9", 100), "!years"},
		{"epoch millis", "", "1700000000123", "2023-11-14 22:13:20.123"},
		{"epoch millis", "", "-1.25", "1969-12-31 23:59:59.99875"},
		{"epoch julian", "", "2440587.5", "1970-01-01 00:00:00"},
		{"epoch julian", "", "2460263.426", "2023-11-14 22:13:26.4"},
		{"epoch julian", "", "NaN", "!decimal"},
		{"cast integer", "", " +007 ", "7"},
		{"cast integer", "", "-0", "0"},
		{"cast integer", "", "-12.00", "-12"},
		{"cast integer", "", "99999999999999999999", "99999999999999999999"},
		{"cast integer", "", "1.5", "!integer"},
		{"cast integer", "", "1e3", "!integer"},
		{"cast integer", "", "", "!integer"},
		{"cast integer", "", "-", "!integer"},
		{"cast decimal", "", "+.50", "0.50"},
		{"cast decimal", "", "-00.5", "-0.5"},
		{"cast decimal", "", "-0.00", "0.00"},
		{"cast decimal", "", "5.", "5"},
		{"cast decimal", "", "1,5", "!number"},
		{"cast decimal", "", ".", "!number"},
		{"cast boolean", "", " Yes ", "t"},
		{"cast boolean", "", "OFF", "f"},
		{"cast boolean", "", "0", "f"},
		{"cast boolean", "", "2", "!none of true"},
		{"cast boolean", "", "falsehood", "!none of true"},
		{"cast timestamp", "", "2026-01-31T10:00:00Z", "2026-01-31 10:00:00"},
		{"cast timestamp", "", "2026-01-31T10:00:00.25+02:00", "2026-01-31 08:00:00.25"},
		{"cast timestamp", "timestamp(3) with time zone", "2026-01-31 10:00", "2026-01-31 10:00:00+00"},
		{"cast timestamp", "datetime(3)", "31.01.2026 10:00:00,5", "2026-01-31 10:00:00.500"},
		{"cast timestamp", "", "2026-01-31T10:00Z", "2026-01-31 10:00:00"},
		{"cast timestamp", "", "2026-01-31 10:00+02", "2026-01-31 08:00:00"},
		{"cast timestamp", "", "2026-01-31 10:00:00.5 -0130", "2026-01-31 11:30:00.5"},
		{"cast timestamp", "", "2026-01-31 10:00:00 UTC", "2026-01-31 10:00:00"},
		{"cast timestamp", "", "20260131T1000", "2026-01-31 10:00:00"},
		{"cast timestamp", "", "2026-01-31T10:00:00+2", "!date and time"},
		{"cast timestamp", "", "2026-01-31T", "!date and time"},
		{"cast timestamp", "", "2026-01-31x10:00", "!date and time"},
		{"cast timestamp", "", "10:00", "!date and time"},
		{"cast timestamp", "", "20260131T100000", "2026-01-31 10:00:00"},
		{"cast timestamp", "", "20260131", "2026-01-31 00:00:00"},
		{"cast timestamp", "", "2026-02-30", "!date and time"},
		{"cast timestamp", "", "01/02/2026", "!date and time"},
		{"cast timestamp", "", "2026-01-31 10:00:00.1234567", "!microsecond"},
		{"cast timestamp", "", "0001-01-01T00:00:00+02:00", "!years"},
		{"cast timestamp", "", null, null},
		{"epoch julian", "", "1e300", "!years"},
	} {
		converter := newConverter(t, test.column, strings.Split(test.rules, ",")...)
		for _, lend := range []bool{false, true} {
			var batch, got source.Batch
			batch.SetLending(lend)
			got.SetLending(lend)
			batch.Reset(2)
			kind := source.Text
			if test.value == null {
				kind = source.Null
			}
			if lend {
				batch.Lend(source.Text, []byte("x"))
				batch.Lend(kind, []byte(test.value))
			} else {
				batch.Append(source.Text, []byte("x"))
				batch.Append(kind, []byte(strings.TrimPrefix(test.value, null)))
			}
			batch.EndRow()
			err := converter.Convert(&got, &batch)
			if reason, fails := strings.CutPrefix(test.want, "!"); fails {
				wrong, is := errors.AsType[*convert.ValueError](err)
				if !is || wrong.Row != 1 || wrong.Column != "v" || !strings.Contains(err.Error(), reason) {
					t.Errorf("%s of %q: %v, want %q", test.rules, test.value, err, reason)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s of %q: %v", test.rules, test.value, err)
				continue
			}
			gotKind, value := got.AnyValue(0, 1)
			text := string(value)
			if gotKind == source.Null {
				text = null
			}
			if _, first := got.AnyValue(0, 0); text != test.want || string(first) != "x" || got.HasLent() != lend {
				t.Errorf("%s of %q: got %q beside %q, want %q", test.rules, test.value, text, first, test.want)
			}
		}
	}
}

// TestParse refuses what is no rule, and rules for no column.
func TestParse(t *testing.T) {
	for _, text := range []string{
		"a", "a=", "a=nul", "a=epoch", "a=epoch hours", "a=default", "a.b.c.d=trim", "=", "a=cast", "a=cast text",
	} {
		if got, err := convert.ParseText(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	one, err := convert.ParseText("a= epoch   millis ")
	if err != nil || one.String() != "a=epoch millis" {
		t.Errorf("got %v, %v", one, err)
	}
	none := convert.New([]convert.Conversion{one}, []string{"", "t"}, []string{"b"})
	if none != nil || none.Columns() != nil || none.For(nil) != nil {
		t.Errorf("a converter for no column is %v", none)
	}
}

// TestDefaultSQL has NULL become what a database makes of an expression, with its kind, and is refused without one.
func TestDefaultSQL(t *testing.T) {
	asked := ""
	parser := convert.Parser{SQL: func(expression string) (source.Kind, []byte, error) {
		if asked = expression; expression == "NULL" {
			return source.Null, nil, nil
		}
		return source.Number, []byte("7"), nil
	}}
	one, err := parser.ParseText("a=default-sql 3 + 4")
	if err != nil || asked != "3 + 4" || one.String() != "a=default-sql 3 + 4" {
		t.Fatal(one, asked, err)
	}
	var src, dst source.Batch
	src.Reset(1)
	src.AppendNull()
	src.EndRow()
	src.Append(source.Text, nil)
	src.EndRow()
	if err := convert.New([]convert.Conversion{one}, []string{"", "t"}, []string{"a"}).Convert(&dst, &src); err != nil {
		t.Fatal(err)
	}
	if kind, value := dst.AnyValue(0, 0); kind != source.Number || string(value) != "7" {
		t.Errorf("NULL becomes %v %q", kind, value)
	}
	if kind, value := dst.AnyValue(1, 0); kind != source.Text || len(value) > 0 {
		t.Errorf("an empty text becomes %v %q", kind, value)
	}
	if one, err := parser.ParseText("a=default-sql NULL"); err == nil {
		t.Errorf("NULL is %v", one)
	}
	if one, err := convert.ParseText("a=default-sql 1"); err == nil {
		t.Errorf("without a database it is %v", one)
	}
}
