package load_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
)

// TestPostgres exports, loads and exports again: the sums are equal, and so are those of a copy.
func TestPostgres(t *testing.T) {
	t.Parallel()
	server := testkit.Postgres(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	table := `CREATE TABLE orders (id bigint PRIMARY KEY, title text, price numeric(10,2), placed timestamptz,
		tags text[], data bytea, more jsonb)`
	from.Exec(t, table+`; INSERT INTO orders SELECT i, CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN ''
		WHEN 2 THEN E'a "quoted",\nline \\.' ELSE 'water ' || i END, i / 8.0, to_timestamp(i), ARRAY['a', 'b,"c'],
		decode(repeat('00ff', i % 20), 'hex'), jsonb_build_object('n', i) FROM generate_series(1, 20000) i`)
	to.Exec(t, table)
	src, err := postgres.OpenSource(t.Context(), from.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, src)
	dst, err := postgres.OpenSink(t.Context(), to.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, dst)

	whole := newBackupOf(t, src, export.Plan{}, 0, "orders")
	parts := newBackupOf(t, src, export.Plan{}, 400_000, "orders")
	if len(parts.Manifest.Tables[0].Parts) < 2 {
		t.Fatal("there is only one part")
	}
	want := whole.Manifest.Tables[0].Sum
	for name, test := range map[string]struct {
		plan load.Plan
		from *backup // nil for a copy
	}{
		"one":          {load.Plan{Filling: sink.Filling{Existing: sink.Truncate}, ReadBack: true}, whole},
		"several":      {load.Plan{Loaders: 3, ReadBack: true, Analyze: true}, whole},
		"parts":        {load.Plan{Loaders: 2, ReadBack: true}, parts},
		"copy":         {load.Plan{ReadBack: true}, nil},
		"copy several": {load.Plan{Loaders: 3}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			to.Exec(t, "TRUNCATE orders")
			var stats load.Stats
			var err error
			if test.from != nil {
				var all []load.Stats
				all, err = test.plan.Directory(t.Context(), dst, test.from.Directory, nil)
				stats = all[0]
			} else {
				stats, err = test.plan.Copy(t.Context(), dst, src, "orders", "orders")
			}
			if err != nil {
				t.Fatal(err)
			}
			if found := sumOf(t, to); found != want || stats.Sum.String() != want {
				t.Errorf("the table has the sum %s, the load %s, and the export %s", found, stats.Sum, want)
			}
		})
	}
	refuseSome(t, dst, to, whole)
}

// refuseSome has the database refuse a row, and then a column.
func refuseSome(t *testing.T, dst sink.Sink, to *testkit.PostgresDatabase, from *backup) {
	to.Exec(t, "TRUNCATE orders; ALTER TABLE orders ADD CHECK (id <> 19999)")
	plan := load.Plan{}
	_, err := plan.Directory(t.Context(), dst, from.Directory, nil)
	refused, is := errors.AsType[*sink.RowError](err)
	if !is || refused.Constraint == "" || !strings.Contains(err.Error(), "orders.csv.zst.age") {
		t.Errorf("%v", err)
	}
	if found := fmt.Sprint(to.Query(t, "SELECT count(*) FROM orders")); found != "[[0]]" {
		t.Errorf("%v rows after a load that has failed", found)
	}
	to.Exec(t, "ALTER TABLE orders RENAME COLUMN price TO amount")
	_, err = plan.Directory(t.Context(), dst, from.Directory, nil)
	unknown, is := errors.AsType[*source.UnknownError](err)
	if !is || unknown.Name != "price" {
		t.Errorf("%v", err)
	}
}

// sumOf returns the sum of the table orders as it is now.
func sumOf(t *testing.T, in *testkit.PostgresDatabase) string {
	t.Helper()
	db, err := postgres.OpenSource(t.Context(), in.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, db)
	plan := export.Plan{Unencrypted: true}
	stats, err := plan.Table(t.Context(), io.Discard, db, "orders")
	if err != nil {
		t.Fatal(err)
	}
	return stats.Sum.String()
}

func closing(t *testing.T, db interface{ Close() error }) {
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
