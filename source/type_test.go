package source_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"culvert/source"
)

func TestType(t *testing.T) {
	for text, want := range map[string]source.Type{
		"unknown":       {},
		"bool":          {Class: source.BoolClass},
		"int16":         {Class: source.IntClass, Bits: 16},
		"int64":         {Class: source.IntClass, Bits: 64},
		"float32":       {Class: source.FloatClass, Bits: 32},
		"decimal":       {Class: source.DecimalClass},
		"decimal(10,2)": {Class: source.DecimalClass, Precision: 10, Scale: 2},
		"decimal(2,-3)": {Class: source.DecimalClass, Precision: 2, Scale: -3},
		"string":        {Class: source.StringClass},
		"string(80)":    {Class: source.StringClass, Length: 80},
		"char(3)":       {Class: source.CharClass, Length: 3},
		"bytes":         {Class: source.BytesClass},
		"date":          {Class: source.DateClass},
		"time":          {Class: source.TimeClass, Precision: 6},
		"timestamp(0)":  {Class: source.TimestampClass},
		"instant(3)":    {Class: source.InstantClass, Precision: 3},
		"interval":      {Class: source.IntervalClass},
		"uuid":          {Class: source.UUIDClass},
		"json":          {Class: source.JSONClass},
		"enum":          {Class: source.EnumClass},
		"list(int32)":   {Class: source.IntClass, Bits: 32, List: true},
		"list(unknown)": {List: true},
	} {
		if got, err := source.ParseType(text); got != want || err != nil {
			t.Errorf("ParseType(%q) returns %+v, %v instead of %+v", text, got, err, want)
		}
		if got := want.String(); got != text {
			t.Errorf("%+v is %q instead of %q", want, got, text)
		}
	}
}

func TestTypeRefused(t *testing.T) {
	for _, text := range []string{
		"", "int", "int8", "int99999999999999999999", "int32(3)", "bool1", "decimal(10)",
		"decimal(0,0)", "string(-1)", "string(0)", "Bool",
		"time(6)", "time(10)", "time(-1)", "list(int32", "list(list(int32))",
		"list()", "decimal(1,2)x", "class(77)", "string(08)",
	} {
		if got, err := source.ParseType(text); err == nil {
			t.Errorf("ParseType(%q) returns %+v", text, got)
		}
	}
}

func FuzzType(f *testing.F) {
	f.Add("decimal(10,2)")
	f.Add("list(instant(3))")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := source.ParseType(text); err == nil && got.String() != text {
			t.Errorf("ParseType(%q) returns %v", text, got)
		}
	})
}

func ExampleType() {
	column := source.Column{
		Name: "price", Type: "numeric(10,2)",
		Logical: source.Type{Class: source.DecimalClass, Precision: 10, Scale: 2},
	}
	fmt.Println(column.Logical)
	text, _ := json.Marshal(column)
	fmt.Println(string(text))
	// Output:
	// decimal(10,2)
	// {"name":"price","type":"numeric(10,2)","logical":"decimal(10,2)"}
}
