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
func elements(c *typed.Column, text []byte) (all []element, is bool) {
	var r typed.Elements
	why := r.Begin(c, source.Text, text)
	for why == "" && r.More() {
		var kind source.Kind
		var value []byte
		kind, value, why = r.Next()
		all = append(all, element{kind, string(value)})
	}
	return all, why == ""
}

// FuzzElements reads any text as an array. What is one becomes the same elements again, as the readers print them.
func FuzzElements(f *testing.F) {
	for _, text := range []string{
		"{}", "{1,2,NULL}", `{"a, b","\"\\","null"}`, `{"\\x00ff",NULL}`, "{{1},{2}}", "[0:1]={1,2}",
		"{,}", `{"`, "{", "",
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
		all, is := elements(&columns[0], []byte(text))
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
		if got, is := elements(&columns[0], append(again.Text, '}')); !is || !slices.Equal(got, all) {
			t.Errorf("%q: %v becomes %v", text, all, got)
		}
	})
}
