package load_test

import (
	"errors"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/mysql"
	"culvert/postgres"
	"culvert/sink"
)

// TestThroughMySQL copies a table of PostgreSQL to MariaDB and back: it has the same sum.
func TestThroughMySQL(t *testing.T) {
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

	src, err := postgres.OpenSource(t.Context(), first.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, src)
	there, err := mysql.OpenSink(t.Context(), between.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, there)
	if _, err := (&load.Plan{}).Copy(t.Context(), there, src, "orders", "orders"); err != nil {
		t.Fatal(err)
	}

	back, err := mysql.OpenSource(t.Context(), between.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, back)
	dst, err := postgres.OpenSink(t.Context(), last.ConnString())
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

// TestZeroDates loads dates that only MySQL has into PostgreSQL. They are refused by row and column, or become NULL in
// columns that are named.
func TestZeroDates(t *testing.T) {
	from := testkit.MariaDB(t).NewDatabase(t)
	from.Exec(t, `SET sql_mode = ''; CREATE TABLE t (id int, day date, at datetime(3), stamp timestamp NULL);
		INSERT INTO t VALUES (1, '2026-01-02', '2026-01-02 03:04:05.006', '2026-01-02 03:04:05'),
			(2, '0000-00-00', '2017-00-00 00:00:00', '0000-00-00 00:00:00'), (3, '2017-02-00', '2017-00-03', NULL)`)
	src, err := mysql.OpenSource(t.Context(), from.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, src)
	backup := newBackupOf(t, src, export.Plan{}, 0, "t")
	days := func(convert ...string) load.Plan {
		return load.Plan{Filling: sink.Filling{Convert: convert}, Create: true}
	}
	ways := map[string]func(dst sink.Sink, plan load.Plan) error{
		"a load": func(dst sink.Sink, plan load.Plan) error {
			_, err := plan.Directory(t.Context(), dst, backup.Directory, nil)
			return err
		},
		"a copy": func(dst sink.Sink, plan load.Plan) error {
			_, err := plan.Copy(t.Context(), dst, src, "t", "t")
			return err
		},
	}
	const all = "SELECT string_agg(t::text, ' ' ORDER BY id) FROM t"
	const want = `(1,2026-01-02,"2026-01-02 03:04:05.006","2026-01-02 03:04:05+00") (2,,,) (3,,,)`
	for name, way := range ways {
		to, dst := newPostgres(t, "CREATE TABLE unrelated (id int); SET timezone = 'UTC'")
		to.Exec(t, "ALTER DATABASE "+to.Name+" SET timezone = 'UTC'")
		err := way(dst, days("at", "stamp"))
		if row, ok := errors.AsType[*sink.RowError](err); !ok || row.Row != 2 || row.Column != "day" {
			t.Errorf("%s: %v", name, err)
		}
		if err := way(dst, days("day", "at", "stamp")); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := to.Query(t, all)[0][0]; got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	same := testkit.MariaDB(t).NewDatabase(t)
	dst, err := mysql.OpenSink(t.Context(), same.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, dst)
	if err := ways["a load"](dst, days("day")); err != nil {
		t.Error(err)
	} else if got := same.Query(t, "SELECT day FROM t WHERE id = 2")[0][0]; got != "0000-00-00" {
		t.Errorf("MariaDB has %s", got)
	}
}
