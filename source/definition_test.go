package source_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"culvert/source"
)

func TestDefinitionAsJSON(t *testing.T) {
	last := int64(7)
	for _, want := range []source.Definition{
		{Dialect: source.SQLite, Name: "empty"},
		{
			Dialect: source.PostgreSQL, Schema: "public", Name: "orders", Comment: "a\nb", Create: "CREATE …",
			Columns: []source.ColumnDefinition{
				{Name: "id", Type: "bigint", NotNull: true, Identity: source.Always},
				{Name: "title", Type: "text", Default: "'<none>'::text", Collation: `pg_catalog."C"`},
				{Name: "twice", Type: "bigint", Generated: source.Stored, Expression: "(id * 2)"},
			},
			Constraints: []source.Constraint{
				{Name: "c", Kind: source.Check, Definition: "CHECK (id > 0)"},
				{Name: "k", Kind: source.PrimaryKey, Columns: []string{"id", "title"}, Definition: "PRIMARY KEY …"},
			},
			Indexes:   []source.Index{{Name: "i", Unique: true, Columns: []string{"title"}, Definition: "CREATE …"}},
			Sequences: []source.Sequence{{Column: "id", Name: "public.s", Type: "bigint", Options: "…", Last: &last}},
		},
	} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got source.Definition
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s becomes %+v, error %v", text, got, err)
		}
		key := want.PrimaryKey()
		if isKeyed := len(want.Constraints) > 0; isKeyed != slices.Equal(key, []string{"id", "title"}) {
			t.Errorf("the primary key of %s is %q", want.Name, key)
		}
	}
}

// Define is how countdown says what its only table is.
func (countdown) Define(_ context.Context, table string) (*source.Definition, error) {
	if table != "ten" {
		return nil, &source.UnknownError{What: "table", Name: table, Known: []string{"ten"}}
	}
	return &source.Definition{
		Dialect: source.SQLite, Name: "ten",
		Columns:     []source.ColumnDefinition{{Name: "left", Type: "integer", NotNull: true}, {Name: "word"}},
		Constraints: []source.Constraint{{Kind: source.PrimaryKey, Columns: []string{"left"}}},
		Create:      "CREATE TABLE ten (left integer NOT NULL PRIMARY KEY, word)",
	}, nil
}

// A definition is what makes the table again. A source that has none is no Definer.
func ExampleDefine() {
	definition, err := source.Define(context.Background(), countdown{}, "ten")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(definition.Create)
	for _, column := range definition.Columns {
		fmt.Println(column.Name, column.Type, column.NotNull)
	}
	fmt.Println("key:", definition.PrimaryKey())
	// Output:
	// CREATE TABLE ten (left integer NOT NULL PRIMARY KEY, word)
	// left integer true
	// word  false
	// key: [left]
}

// large is a source whose definitions are too large.
type large struct{ countdown }

func (large) Define(context.Context, string) (*source.Definition, error) {
	return &source.Definition{Create: string(make([]byte, source.MaxDefinition))}, nil
}

// plain is a source that is no Definer.
type plain struct{ source.Source }

func TestDefineNothing(t *testing.T) {
	for _, src := range []source.Source{large{}, plain{countdown{}}} {
		if d, err := source.Define(t.Context(), src, "ten"); d != nil || err != nil {
			t.Errorf("%T: %v, error %v", src, d, err)
		}
	}
}

// broken is a source with a definition that is not UTF-8, which JSON would change.
type broken struct {
	countdown
	text string
}

func (b broken) Define(context.Context, string) (*source.Definition, error) {
	return &source.Definition{Name: "ten", Create: b.text}, nil
}

func TestDefineBytes(t *testing.T) {
	if d, err := source.Define(t.Context(), broken{text: "CREATE TABLE ten (\xff)"}, "ten"); err == nil {
		t.Errorf("a definition that is not UTF-8 becomes %+v", d)
	}
	for _, text := range []string{"CREATE TABLE ten (\ufffd)", `CREATE TABLE ten (\ufffd)`} {
		if d, err := source.Define(t.Context(), broken{text: text}, "ten"); err != nil || d.Create != text {
			t.Errorf("%q becomes %+v, %v", text, d, err)
		}
	}
}
