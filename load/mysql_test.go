package load_test

import (
	"os"
	"testing"

	"culvert/internal/testkit"
	"culvert/load"
	tomysql "culvert/sink/mysql"
	topostgres "culvert/sink/postgres"
	"culvert/source/mysql"
	"culvert/source/postgres"
)

// TestThroughMySQL copies a table of PostgreSQL to MariaDB and back: it has the same sum.
func TestThroughMySQL(t *testing.T) {
	t.Setenv("HOME", os.DevNull) // where no option file is
	server := testkit.Postgres(t)
	first, last := server.NewDatabase(t), server.NewDatabase(t)
	between := testkit.MariaDB(t).NewDatabase(t)
	table := `CREATE TABLE orders (id bigint PRIMARY KEY, title text, price numeric(10,2), placed timestamptz,
		day date, done boolean, ratio double precision, part real, data bytea, more json, key uuid, at time)`
	first.Exec(t, table+`; INSERT INTO orders SELECT i, CASE i % 4 WHEN 0 THEN NULL WHEN 1 THEN ''
		WHEN 2 THEN E'a "quoted",\n\tline \\.\\N' ELSE 'wäter ' || i END, i / 8.0, to_timestamp(i + 0.25), '2026-11-23',
		i % 2 = 0, i / 3.0, i / 7.0, decode(repeat('00ff5c0a', i % 20), 'hex'), json_build_object('n', E'\n' || i),
		md5(i::text)::uuid, '10:00:00.5' FROM generate_series(1, 20000) i`)
	last.Exec(t, table)
	between.Exec(t, `CREATE TABLE orders (id bigint PRIMARY KEY, title longtext, price decimal(10,2),
		placed datetime(6), day date, done bool, ratio double, part float, data longblob, more json,
		`+"`key`"+` char(36), at time(6)) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`)

	src, err := postgres.Open(t.Context(), first.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, src)
	there, err := tomysql.Open(t.Context(), between.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, there)
	if _, err := (&load.Plan{}).Copy(t.Context(), there, src, "orders", "orders"); err != nil {
		t.Fatal(err)
	}

	back, err := mysql.Open(t.Context(), between.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, back)
	dst, err := topostgres.Open(t.Context(), last.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, dst)
	if _, err := (&load.Plan{}).Copy(t.Context(), dst, back, "orders", "orders"); err != nil {
		t.Fatal(err)
	}
	if got, want := sumOf(t, last), sumOf(t, first); got != want {
		t.Errorf("the sum is %s, want %s", got, want)
	}
}
