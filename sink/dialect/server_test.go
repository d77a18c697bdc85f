package dialect_test

import (
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/mysql"
	"culvert/sink/dialect"
	"culvert/source"
)

// TestMariaDB has a server make translated tables, and say how they are made.
func TestMariaDB(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	lite := &source.Definition{
		Dialect: source.SQLite, Name: "odd `\"name",
		Columns: []source.ColumnDefinition{
			{Name: "id", Type: "INTEGER", Identity: source.ByDefault},
			{Name: "title", Type: "TEXT", NotNull: true, Default: "'it''s'"},
			{Name: "price", Type: "DECIMAL(10,2)", Default: "-1.5"},
			{Name: "paid", Type: "BOOLEAN", Default: "TRUE"},
			{Name: "at", Type: "DATETIME"},
			{Name: "zoned", Type: "TIMESTAMPTZ"},
			{Name: "more", Type: "JSON"},
		},
		Constraints: []source.Constraint{
			{Kind: source.PrimaryKey, Columns: []string{"id"}}, {Kind: source.Unique, Columns: []string{"title"}},
		},
		Indexes: []source.Index{
			{Name: "by_at", Columns: []string{"at", "paid"}, Definition: "CREATE INDEX x ON y (at)"},
			{Name: strings.Repeat("x", 65), Columns: []string{"at"}, Definition: "CREATE INDEX x ON y (at)"},
			{Name: "at", Columns: []string{"paid"}, Definition: "CREATE INDEX x ON y (at)"},
			{Name: "AT", Columns: []string{"zoned"}, Definition: "CREATE INDEX x ON y (at)"},
			{Name: "title", Columns: []string{"price"}, Definition: "CREATE INDEX x ON y (at)"},
			{Name: "primary", Columns: []string{"price", "at"}, Definition: "CREATE INDEX x ON y (at)"},
		},
	}
	for _, from := range []*source.Definition{orders, lite} {
		want, _, err := dialect.Translate(from, source.MariaDB, nil)
		if err != nil {
			t.Fatal(err)
		}
		database.Exec(t, want.Create)
		src, err := mysql.OpenSource(t.Context(), database.URL())
		if err != nil {
			t.Fatal(err)
		}
		got, err := src.Define(t.Context(), from.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
		expectMade(t, got, want)
	}
}

// expectMade compares what was made with what was wanted.
func expectMade(t *testing.T, got, want *source.Definition) {
	t.Helper()
	for i, c := range got.Columns {
		w := want.Columns[i]
		if c.Name != w.Name || c.Comment != w.Comment || w.NotNull && !c.NotNull || c.Identity != w.Identity ||
			(c.Default == "") != (w.Default == "") {
			t.Errorf("column %+v of %q, want %+v", c, want.Name, w)
		}
	}
	if !slices.Equal(got.PrimaryKey(), want.PrimaryKey()) || len(got.Constraints) < len(want.Constraints) ||
		len(got.Indexes) != len(want.Indexes) || got.Comment != want.Comment {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	if w := want.Sequences[0].Last; w != nil && *got.Sequences[0].Last != *w {
		t.Errorf("the last number is %d, want %d", *got.Sequences[0].Last, *w)
	}
}
