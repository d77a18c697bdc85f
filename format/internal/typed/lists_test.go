package typed_test

import (
	"slices"
	"testing"

	"culvert/format/internal/typed"
	"culvert/format/internal/untyped"
	"culvert/source"
)

// element is an element of an array.
type element struct {
	kind source.Kind
	text string
}

// elements returns those of an array, and reports whether it is a list.
func elements(c *typed.Column, kind source.Kind, text []byte) (all []element, is bool) {
	var r typed.Elements
	why := r.Begin(c, kind, text)
	for why == "" && r.More() {
		var kind source.Kind
		var value []byte
		kind, value, why = r.Next()
		all = append(all, element{kind, string(value)})
	}
	return all, why == ""
}

// TestElementsOfJSON reads lists as drivers of other systems return them.
func TestElementsOfJSON(t *testing.T) {
	null := element{source.Null, ""}
	for _, test := range []struct {
		class source.Class
		text  string
		want  []element // nil if it is no list
	}{
		{source.IntClass, "[1,null,-3]", []element{{source.Number, "1"}, null, {source.Number, "-3"}}},
		{source.IntClass, " []", nil},
		{source.IntClass, "[]", []element{}},
		{source.IntClass, "[[1],[2]]", nil},
		{source.IntClass, `{"a":1}`, nil},
		{source.IntClass, "[1", nil},
		{source.BoolClass, "[true,false]", []element{{source.Bool, "t"}, {source.Bool, "f"}}},
		{source.StringClass, `["a, b","null"]`, []element{{source.Text, "a, b"}, {source.Text, "null"}}},
		{source.StringClass, "[\"\xff\"]", nil},
		{source.BytesClass, `["\\x00ff",null]`, []element{{source.Bytes, "\x00\xff"}, null}},
		{source.BytesClass, "[1]", []element{{source.Number, "1"}}}, // which does not fit
		{source.JSONClass, `[{"a":[1]},"b",null]`, []element{{source.JSON, `{"a":[1]}`}, {source.JSON, `"b"`}, null}},
	} {
		of := source.Type{Class: test.class, Bits: 64, List: true}
		columns, err := typed.Columns([]source.Column{{Name: "a", Logical: of}})
		if err != nil {
			t.Fatal(err)
		}
		got, is := elements(&columns[0], source.JSON, []byte(test.text))
		if is != (test.want != nil) || is && !slices.Equal(got, test.want) {
			t.Errorf("%v %s: %v %v", test.class, test.text, is, got)
		}
	}
}

// FuzzElements reads any text as an array. What is one becomes the same elements again, as the readers print them.
func FuzzElements(f *testing.F) {
	for _, text := range []string{
		"{}", "{1,2,NULL}", `{"a, b","\"\\","null"}`, `{"\\x00ff",NULL}`, "{{1},{2}}", "[0:1]={1,2}",
		"{,}", `{"`, "{", "", "{abcd}", `{"abcd"}`,
	} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, binary bool) {
		of := source.Type{Class: source.StringClass, List: true}
		if binary {
			of.Class = source.BytesClass
		}
		columns, err := typed.Columns([]source.Column{{Name: "a", Logical: of}})
		if err != nil {
			t.Fatal(err)
		}
		all, is := elements(&columns[0], source.Text, []byte(text))
		if !is {
			return
		}
		again := untyped.Nested{Text: []byte("{")}
		for i, one := range all {
			if i > 0 {
				again.Text = append(again.Text, ',')
			}
			if one.kind == source.Null {
				again.Text = append(again.Text, "NULL"...)
				continue
			}
			begin := len(again.Text)
			again.Text = append(again.Text, one.text...)
			again.EndItem(begin, one.kind)
		}
		if got, is := elements(&columns[0], source.Text, append(again.Text, '}')); !is || !slices.Equal(got, all) {
			t.Errorf("%q: %v becomes %v", text, all, got)
		}
	})
}
