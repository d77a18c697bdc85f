package tablechoice_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/internal/namepattern"
	"culvert/internal/tablechoice"
	"culvert/internal/testkit"
	"culvert/mysql"
	"culvert/postgres"
	"culvert/source"
	"culvert/sqlite"
)

const shop = `
CREATE TABLE customers (id INTEGER PRIMARY KEY, vip INTEGER NOT NULL, note TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers, shop INTEGER);
CREATE TABLE lines (order_id INTEGER NOT NULL, line INTEGER NOT NULL, price INTEGER, PRIMARY KEY (order_id, line),
	FOREIGN KEY (order_id) REFERENCES orders (id));
CREATE TABLE parcels (id INTEGER PRIMARY KEY, order_id INTEGER, line INTEGER,
	FOREIGN KEY (order_id, line) REFERENCES lines (order_id, line));
CREATE TABLE people (id INTEGER PRIMARY KEY, boss INTEGER REFERENCES people (id));
CREATE TABLE shops (id INTEGER PRIMARY KEY, town TEXT);
CREATE TABLE audit_log (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers);
INSERT INTO customers SELECT value, value % 3 = 0, 'x' FROM generate_series(1, 30);
INSERT INTO shops SELECT value, 'town ' || value FROM generate_series(1, 4);
INSERT INTO orders SELECT value, iif(value % 7 = 0, NULL, value % 30 + 1), value % 4 + 1 FROM generate_series(1, 200);
INSERT INTO lines SELECT id, value, value * id FROM orders, generate_series(1, 3);
INSERT INTO audit_log SELECT value, iif(value % 5 = 0, NULL, value) FROM generate_series(1, 20);
INSERT INTO parcels SELECT value, iif(value % 5 = 0, NULL, value % 200 + 1), value % 3 + 1 FROM generate_series(1, 500);
`

// open returns a source of the shop, and a function that returns the only value of a statement in it.
func open(t *testing.T) (source.Source, func(sql string) string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	conn, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	series := `WITH RECURSIVE s(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM s WHERE value < `
	sql := shop
	for {
		before, rest, found := strings.Cut(sql, "generate_series(1, ")
		if !found {
			break
		}
		most, after, _ := strings.Cut(rest, ")")
		sql = before + "(" + series + most + ") SELECT value FROM s)" + after
	}
	if err := conn.Exec(sql); err != nil {
		t.Fatal(err)
	}
	src, err := sqlite.OpenSource(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(src.Close(), conn.Close()); err != nil {
			t.Error(err)
		}
	})
	return src, func(sql string) string {
		stmt, _, err := conn.Prepare(sql)
		if err != nil {
			t.Fatal(sql, err)
		}
		defer stmt.Close()
		if !stmt.Step() {
			t.Fatal(sql, stmt.Err())
		}
		return stmt.ColumnText(0)
	}
}

var all = []string{"customers", "orders", "lines", "parcels", "people", "shops", "audit_log"}

func pattern(t *testing.T, text string) *namepattern.Pattern {
	t.Helper()
	p, err := namepattern.Parse(text, 2)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFollow compares the rows of conditions that follow from others with those of statements written by hand.
func TestFollow(t *testing.T) {
	src, value := open(t)
	rules := tablechoice.Rules{Tables: []tablechoice.Rule{
		{Pattern: pattern(t, "customers"), Where: "vip -- they matter"},
		{Pattern: pattern(t, "shops"), Where: "town = 'town 2'"},
		{
			Pattern: pattern(t, "main.orders"), Where: "id > 10 OR id < 3",
			References: []tablechoice.Reference{
				{Columns: []string{"shop"}, Table: pattern(t, "shops"), Key: []string{"id"}},
			},
		},
	}}
	result, err := rules.Choose(t.Context(), src, all)
	if err != nil {
		t.Fatal(err)
	}
	const (
		orders = `(SELECT id FROM orders WHERE (id > 10 OR id < 3) AND shop IN (SELECT id FROM shops
			WHERE town = 'town 2') AND (customer IS NULL OR customer IN (SELECT id FROM customers WHERE vip)))`
		lines = `order_id IN ` + orders
	)
	for table, want := range map[string]string{
		"customers": "vip", "shops": "town = 'town 2'", "orders": "id IN " + orders, "lines": lines,
		"parcels":   "order_id IS NULL OR line IS NULL OR " + lines,
		"audit_log": "customer IS NULL OR customer IN (SELECT id FROM customers WHERE vip)",
	} {
		got := result.Choices[table].Selection.Where
		const ids = "SELECT coalesce(group_concat(rowid), 'none') FROM "
		if is, want := value(ids+table+" WHERE "+got), value(ids+table+" WHERE "+want); is != want || is == "none" {
			t.Errorf("the rows of %s WHERE %s are %s, want %s", table, got, is, want)
		}
		rows, err := src.(source.Selector).Select(t.Context(), table, result.Choices[table].Selection)
		if err != nil {
			t.Error(table, err)
			continue
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, is := result.Choices["people"]; is || len(result.LeftOut) > 0 {
		t.Errorf("people has %+v, and these are left out: %q", result.Choices["people"], result.LeftOut)
	}
}

func TestChoose(t *testing.T) {
	src, _ := open(t)
	set := func(texts ...string) namepattern.Set {
		s, err := namepattern.ParseSet(texts, 2)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, test := range map[string]struct {
		rules   tablechoice.Rules
		names   []string
		leftOut int
		failure string
	}{
		"include and exclude": {
			rules: tablechoice.Rules{Include: set("*s", "audit_log"), Exclude: set("main.cust*", "people")},
			names: []string{"orders", "lines", "parcels", "shops", "audit_log"}, leftOut: 2,
		},
		"without rows": {
			rules: tablechoice.Rules{NoRows: set("orders")}, names: all, leftOut: 1,
		},
		"columns": {
			rules: tablechoice.Rules{Tables: []tablechoice.Rule{
				{Pattern: pattern(t, "customers"), WithoutColumns: []string{"note"}},
			}},
			names: all,
		},
		"not followed": {
			rules: tablechoice.Rules{NoFollow: true, Tables: []tablechoice.Rule{
				{Pattern: pattern(t, "customers"), Where: "vip"},
			}},
			names: all, leftOut: 2,
		},
		"not followed by one": {
			rules: tablechoice.Rules{Tables: []tablechoice.Rule{
				{Pattern: pattern(t, "customers"), Where: "vip"}, {Pattern: pattern(t, "orders"), NoFollow: true},
			}},
			names: all, leftOut: 1,
		},
		"a circle": {
			rules: tablechoice.Rules{Tables: []tablechoice.Rule{{Pattern: pattern(t, "people"), Where: "id < 9"}}},
			failure: "tablechoice: a condition restricts tables that refer to each other in a circle: " +
				"main.people → main.people",
		},
		"a circle that is cut": {
			rules: tablechoice.Rules{Tables: []tablechoice.Rule{
				{Pattern: pattern(t, "people"), Where: "id < 9", Cut: []string{"boss"}},
			}},
			names: all, leftOut: 1,
		},
		"no table": {
			rules: tablechoice.Rules{Exclude: set("ordrs")}, failure: `tablechoice: no table matches "ordrs"`,
		},
		"no table, which is allowed": {
			rules: tablechoice.Rules{Exclude: set("ordrs"), Optional: true}, names: all,
		},
		"no column": {
			rules: tablechoice.Rules{Tables: []tablechoice.Rule{
				{Pattern: pattern(t, "orders"), WithoutColumns: []string{"ID"}},
			}},
			failure: `tablechoice: no column matches "ID"`,
		},
		"two rules": {
			rules: tablechoice.Rules{Tables: []tablechoice.Rule{
				{Pattern: pattern(t, "orders"), Where: "1"}, {Pattern: pattern(t, "o*"), Where: "2"},
			}},
			failure: `tablechoice: both "orders" and "o*" match the table "main.orders", and one of them ` +
				"has to say all",
		},
	} {
		result, err := test.rules.Choose(t.Context(), src, all)
		if err != nil || test.failure != "" {
			if err == nil || err.Error() != test.failure {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if !reflect.DeepEqual(result.Names, test.names) || len(result.LeftOut) != test.leftOut {
			t.Errorf("%s: %q without %q", name, result.Names, result.LeftOut)
		}
	}
}

// TestConditionsAlone shows that a condition that would end its parentheses is refused before another one is made of
// it, whatever the server would say of the latter.
func TestConditionsAlone(t *testing.T) {
	const sql = `CREATE TABLE customers (id int PRIMARY KEY);
		CREATE TABLE orders (id int PRIMARY KEY, customer int, FOREIGN KEY (customer) REFERENCES customers (id))`
	lite, _ := open(t)
	sources := map[string]source.Source{"sqlite": lite}
	db := testkit.Postgres(t).NewDatabase(t)
	db.Exec(t, sql)
	maria := testkit.MariaDB(t).NewDatabase(t)
	maria.Exec(t, sql)
	var err error
	if sources["postgres"], err = postgres.OpenSource(t.Context(), db.ConnString()); err != nil {
		t.Fatal(err)
	}
	if sources["mariadb"], err = mysql.OpenSource(t.Context(), maria.URL()); err != nil {
		t.Fatal(err)
	}
	for name, src := range sources {
		rules := tablechoice.Rules{Tables: []tablechoice.Rule{
			{Pattern: pattern(t, "customers"), Where: "Id=1) or (1=1"},
		}}
		_, err := rules.Choose(t.Context(), src, []string{"customers", "orders"})
		const want = `the condition of table "customers": dialect: a parenthesis is closed that was not opened`
		if err == nil || err.Error() != "tablechoice: "+want {
			t.Errorf("%s: %v", name, err)
		}
		if name != "sqlite" {
			if err := src.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
