package source_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"culvert/source"
)

func TestReference(t *testing.T) {
	for _, test := range []struct {
		definition string
		want       source.Reference
	}{
		{
			"FOREIGN KEY (customer) REFERENCES customers(id)",
			source.Reference{Columns: []string{"customer"}, Table: "customers", Key: []string{"id"}},
		},
		{
			`FOREIGN KEY (a, "B""c") REFERENCES "my shop".t2(x, "y z") MATCH FULL ON DELETE SET NULL (a)  `,
			source.Reference{
				Columns: []string{"a", `B"c`}, Schema: "my shop", Table: "t2", Key: []string{"x", "y z"},
				Rest: "MATCH FULL ON DELETE SET NULL (a)",
			},
		},
		{
			"FOREIGN KEY (`a`, `b`) REFERENCES `t``1` (`c`, `d`) ON UPDATE CASCADE",
			source.Reference{
				Columns: []string{"a", "b"}, Table: "t`1", Key: []string{"c", "d"}, Rest: "ON UPDATE CASCADE",
			},
		},
		{"foreign\nkey(`a`)references`s`.`t`", source.Reference{Columns: []string{"a"}, Schema: "s", Table: "t"}},
		{
			"FOREIGN KEY (a$1) REFERENCES t NOT VALID",
			source.Reference{Columns: []string{"a$1"}, Table: "t", Rest: "NOT VALID"},
		},
	} {
		got, ok := source.Constraint{Kind: source.ForeignKey, Definition: test.definition}.Reference()
		if !ok || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s:\n%+v, %v, want\n%+v", test.definition, got, ok, test.want)
		}
		if _, ok := (source.Constraint{Kind: source.Check, Definition: test.definition}).Reference(); ok {
			t.Errorf("%s: a check is taken for a foreign key", test.definition)
		}
	}
	for _, definition := range []string{
		"", "CHECK (a > 0)", "FOREIGN KEY () REFERENCES t", "FOREIGN KEY (a) REFERENCES",
		"FOREIGN KEY (a) REFERENCES t.",
		"FOREIGN KEY (a, PERIOD b) REFERENCES t(x, PERIOD y)", "FOREIGN KEY (a) REFERENCES t(x, y)",
		"FOREIGN KEY (a) REFERENCES t(", `FOREIGN KEY (a) REFERENCES "t`, "FOREIGN KEYS (a) REFERENCES t",
		"FOREIGN KEY (a REFERENCES t", "FOREIGN KEY (1a) REFERENCES t", "FOREIGN KEY (a) REFERENCES t()",
	} {
		if r, ok := (source.Constraint{Kind: source.ForeignKey, Definition: definition}).Reference(); ok {
			t.Errorf("%s is read as %+v", definition, r)
		}
	}
}

// FuzzReference checks that what is read of any definition is read again from the same words.
func FuzzReference(f *testing.F) {
	f.Add(`FOREIGN KEY (a, "B""c") REFERENCES s.t(x, y) ON DELETE CASCADE`)
	f.Add("FOREIGN KEY (`a`) REFERENCES `s`.`t` (`x`)")
	f.Fuzz(func(t *testing.T, definition string) {
		c := source.Constraint{Kind: source.ForeignKey, Definition: definition}
		r, ok := c.Reference()
		if !ok {
			return
		}
		quoted := func(names ...string) string {
			for i, name := range names {
				names[i] = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
			}
			return strings.Join(names, ", ")
		}
		c.Definition = "FOREIGN KEY (" + quoted(append([]string(nil), r.Columns...)...) + ") REFERENCES "
		if r.Schema != "" {
			c.Definition += quoted(r.Schema) + "."
		}
		c.Definition += quoted(r.Table)
		if r.Key != nil {
			c.Definition += "(" + quoted(append([]string(nil), r.Key...)...) + ")"
		}
		if c.Definition += " " + r.Rest; strings.HasPrefix(r.Rest, "(") || strings.HasPrefix(r.Rest, ".") {
			return // it would be read as part of the name
		}
		if again, ok := c.Reference(); !ok || !reflect.DeepEqual(again, r) {
			t.Errorf("%q is read as %+v, and %q as %+v", definition, r, c.Definition, again)
		}
	})
}

func ExampleConstraint_Reference() {
	key := source.Constraint{
		Kind:       source.ForeignKey,
		Definition: `FOREIGN KEY (customer) REFERENCES shop."Customers"(id) ON DELETE CASCADE`,
	}
	r, ok := key.Reference()
	fmt.Println(ok, r.Columns, r.Schema, r.Table, r.Key, r.Rest)
	// Output: true [customer] shop Customers [id] ON DELETE CASCADE
}
