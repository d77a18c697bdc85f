package format_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/format"
	"culvert/source"
)

func TestTextTemplates(t *testing.T) {
	names := []string{"id", "title", "note", "two words", "a", "a}b", "{", "Größe", `back\`, ""}
	row := []cell{
		number("1"), text("water"), null(), text("WORDS"), text("A"), text("BRACE"), text("OPEN"), text("9"),
		text("BACK"), text("EMPTY"),
	}
	tests := []struct{ line, want string }{
		{"{ID: {id}, Title: {title}, Note: {note}},", "{ID: 1, Title: water, Note: NULL},"},
		{"{id}", "1"},
		{"{{id}}", "{1}"},
		{"{{{id}}}", "{{1}}"},
		{"{id}{id}{title}", "11water"},
		{"no place", "no place"},
		{"{two words}", "WORDS"},
		{"{three words}", "{three words}"},
		{"{a}b}", "BRACE"},
		{"{a}c}", "Ac}"},
		{"{{}", "OPEN"},
		{"{}", "EMPTY"},
		{"{Größe}", "9"},
		{`{back\}`, "BACK"},
		{"{id", "{id"},
		{"id}", "id}"},
		{"{", "{"},
		{"}", "}"},
		{"{ id }", "{ id }"},
		{"{1}", "{1}"},
		{"{1,2}", "{1,2}"},
		{"{id:>5}", "{id:>5}"},
		{`\{id}`, "{id}"},
		{`\{id\}`, "{id}"},
		{`\\{id}`, `\1`},
		{`\\\{id}`, `\{id}`},
		{`\\\\{id}`, `\\1`},
		{`\{nothing}`, "{nothing}"},
		{`C:\dir\name, \n and \\`, `C:\dir\name, \n and \\`},
		{"a\nb{id}", "a\nb1"},
		{"%d %s {title}", "%d %s water"},
		{"ä{id}ü", "ä1ü"},
	}
	for _, test := range tests {
		if got := encode(t, format.Text{Line: test.line}, names, row); got != test.want+"\n" {
			t.Errorf("%q: got %q, want %q", test.line, got, test.want)
		}
	}
}

func TestTextUnknownColumn(t *testing.T) {
	names := []string{"id", "title"}
	for line, want := range map[string]string{
		"{titel}":           "titel",
		"{ID: {ID}}":        "ID",
		"{id} {größe}":      "größe",
		"{_x1}":             "_x1",
		"{orders.id}":       "orders.id",
		"{user-id}":         "user-id",
		`\{id} \\{nothing}`: "nothing",
		"{{nested}}":        "nested",
	} {
		_, err := format.Text{Line: line}.Encoder(columns(names...))
		var unknown *source.UnknownError
		if !errors.As(err, &unknown) {
			t.Errorf("%q: error %v", line, err)
			continue
		}
		if unknown.What != "column" || unknown.Name != want || !slices.Equal(unknown.Known, names) {
			t.Errorf("%q: error %+v", line, *unknown)
		}
	}
}

func TestTextDefault(t *testing.T) {
	tests := []struct {
		names []string
		row   []cell
		want  string
	}{
		{[]string{"id", "title"}, []cell{number("1"), text("water")}, "{id: 1, title: water},\n"},
		{[]string{"id"}, []cell{null()}, "{id: NULL},\n"},
		{[]string{"{id}", "id", "id"}, []cell{number("1"), number("2"), number("3")}, "{{id}: 1, id: 2, id: 3},\n"},
		{nil, nil, "{},\n"},
	}
	for _, test := range tests {
		if got := encode(t, format.Text{}, test.names, test.row); got != test.want {
			t.Errorf("%q: got %q, want %q", test.names, got, test.want)
		}
	}
}

func TestTextValues(t *testing.T) {
	for want, c := range map[string]cell{
		"NULL":         null(),
		"":             text(""),
		"a\nb \"c\",":  text("a\nb \"c\","),
		"{id}":         text("{id}"),
		"\xff":         text("\xff"),
		"12.50":        number("12.50"),
		"t":            boolean("t"),
		`\x00ff`:       binary("\x00\xff"),
		`{"a": "b\n"}`: jsonCell(`{"a": "b\n"}`),
	} {
		if got := encode(t, format.Text{Line: "<{v}>"}, []string{"v"}, []cell{c}); got != "<"+want+">\n" {
			t.Errorf("%v: got %q", c, got)
		}
	}
}

// Any template is either refused because of a word in it, or makes a line that has the value at each place and differs
// otherwise only in backslashes.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"{ID: {id}},", `\{id}`, `\\{id}`, "{{id}}", "{id", "{no}", "ä{id}{id}", "{id id}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e, err := format.Text{Line: line}.Encoder(columns("id"))
		if err != nil {
			var unknown *source.UnknownError
			if !errors.As(err, &unknown) || !strings.Contains(line, "{"+unknown.Name+"}") {
				t.Fatalf("%q: error %v", line, err)
			}
			return
		}
		out, err := e.AppendRows(nil, fill(1, []cell{text("id")}))
		if err != nil {
			t.Fatal(err)
		}
		if line == "" {
			line = "{id: {id}},"
		}
		// A value that equals the column name leaves the line as it was, without the braces of its places.
		strip := strings.NewReplacer("{", "", "}", "", `\`, "")
		if got, want := strip.Replace(strings.TrimSuffix(string(out), "\n")), strip.Replace(line); got != want {
			t.Fatalf("%q: got %q", line, out)
		}
	})
}
