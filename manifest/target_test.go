package manifest_test

import (
	"testing"

	"culvert/manifest"
	"culvert/source"
)

// TestNameIn leaves schemas out in databases of other systems.
func TestNameIn(t *testing.T) {
	defined := func(schema, name string) *source.Definition { return &source.Definition{Schema: schema, Name: name} }
	for _, test := range []struct {
		system, table string
		definition    *source.Definition
		in            source.Dialect
		want          string
	}{
		{"PostgreSQL 15.1", "app.orders", defined("app", "orders"), source.PostgreSQL, "app.orders"},
		{"PostgreSQL 15.1", "app.orders", defined("app", "orders"), source.MariaDB, "orders"},
		{"PostgreSQL 15.1", "app.orders", nil, source.SQLite, "app.orders"},
		{"PostgreSQL 15.1", "public.orders", nil, source.SQLite, "orders"},
		{"PostgreSQL 15.1", "a.b.c", defined("a.b", "c"), source.MySQL, "c"},
		{"PostgreSQL 15.1", "orders", defined("public", "orders"), source.MySQL, "orders"},
		{"PostgreSQL 15.1", "public.orders", nil, "", "public.orders"},
		{"MariaDB 10.11", "shop.orders", defined("shop", "orders"), source.MySQL, "shop.orders"},
		{"MariaDB 10.11", "shop.orders", defined("shop", "orders"), source.PostgreSQL, "orders"},
		{"", "public.orders", nil, source.SQLite, "public.orders"},
	} {
		m := &manifest.Manifest{System: test.system}
		table := &manifest.Table{Name: test.table, Definition: test.definition}
		if got := m.NameIn(test.in, table); got != test.want {
			t.Errorf("%s of %s is %q in %s, want %q", test.table, test.system, got, test.in, test.want)
		}
	}
}
