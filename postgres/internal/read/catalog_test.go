package read_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

func tables(tb testing.TB, db *read.DB, schema string) []string {
	tb.Helper()
	list, err := db.Tables(context.Background(), schema)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

func TestTables(t *testing.T) {
	db, _ := openNew(t, `
		CREATE SCHEMA s; CREATE SCHEMA "S p"; CREATE SCHEMA empty; CREATE SCHEMA a; CREATE SCHEMA "a.b";
		CREATE TABLE b (); CREATE TABLE "A" (); CREATE UNLOGGED TABLE u (); CREATE TABLE s.b ();
		CREATE TABLE "x.y" (); CREATE TABLE "S p"."sin'gle ""dou" ();
		CREATE TABLE a."b.c" (); CREATE TABLE "a.b".c (); CREATE VIEW "s.b" AS SELECT;
		CREATE VIEW v AS SELECT; CREATE MATERIALIZED VIEW m AS SELECT;
		CREATE FOREIGN DATA WRAPPER w; CREATE SERVER f FOREIGN DATA WRAPPER w; CREATE FOREIGN TABLE f () SERVER f;
		CREATE TEMPORARY TABLE tmp (); CREATE SEQUENCE seq; CREATE TYPE composite AS (i int);
		CREATE EXTENSION IF NOT EXISTS plpgsql; CREATE TABLE member (); ALTER EXTENSION plpgsql ADD TABLE member;
		CREATE TABLE parent (id int) PARTITION BY LIST (id);
		CREATE TABLE part PARTITION OF parent FOR VALUES IN (1);
		CREATE TABLE s.sub PARTITION OF parent FOR VALUES IN (2) PARTITION BY LIST (id);
		CREATE TABLE s.leaf PARTITION OF s.sub FOR VALUES IN (2)`)
	for schema, want := range map[string][]string{
		"": {
			`S p.sin'gle "dou`, `"a"."b.c"`, `"a.b"."c"`,
			"public.A", "public.b", "public.parent", "public.u", "public.x.y", `"s"."b"`,
		},
		"s":                  {`"s"."b"`, "s.sub"},
		"S p":                {`S p.sin'gle "dou`},
		"empty":              nil,
		"pg_catalog":         nil,
		"information_schema": nil,
	} {
		if got := tables(t, db, schema); !slices.Equal(got, want) {
			t.Errorf("Tables(%q) = %q, want %q", schema, got, want)
		}
	}
	for _, schema := range []string{"S", "S P", "nowhere", `"s"`, " "} {
		_, err := db.Tables(context.Background(), schema)
		unknown, ok := errors.AsType[*source.UnknownError](err)
		if !ok || unknown.What != "schema" || unknown.Name != schema ||
			!slices.Equal(unknown.Known, []string{"S p", "a", "a.b", "empty", "public", "s"}) {
			t.Errorf("Tables(%q): %#v", schema, err)
		}
	}
}

// TestTablesOfNamesLikeTheSystems lists schemas that are not of the system, whatever a backslash means.
func TestTablesOfNamesLikeTheSystems(t *testing.T) {
	_, database := openNew(t, `
		CREATE SCHEMA pgx; CREATE TABLE pgx.t (); CREATE SCHEMA "PG_x"; CREATE TABLE "PG_x".t ();
		CREATE SCHEMA information; CREATE TABLE information.t ()`)
	for _, conforming := range []string{"on", "off"} {
		database.Exec(t, "ALTER DATABASE "+database.Name+" SET standard_conforming_strings = "+conforming)
		db := openAgain(t, database.ConnString())
		want := []string{"PG_x.t", "information.t", "pgx.t"}
		if got := tables(t, db, ""); !slices.Equal(got, want) {
			t.Errorf("conforming %s: got %q, want %q", conforming, got, want)
		}
	}
}

// TestTableNamesAreExact finds each table by its name in the list, among others that could be taken for it.
func TestTableNamesAreExact(t *testing.T) {
	long := strings.Repeat("x", 63)
	db, _ := openNew(t, `
		CREATE SCHEMA s; CREATE SCHEMA "S"; CREATE SCHEMA "s.s"; CREATE SCHEMA "Q"; CREATE SCHEMA `+long+`;
		CREATE TABLE s.t AS SELECT 's t' AS id; CREATE TABLE "S".t AS SELECT 'S t' AS id;
		CREATE TABLE s."T" AS SELECT 's T' AS id; CREATE TABLE public."s.t" AS SELECT 'public s.t' AS id;
		CREATE TABLE public."""s"".""t""" AS SELECT 'public quoted' AS id;
		CREATE TABLE public."public.""s"".""t""" AS SELECT 'public public quoted' AS id;
		CREATE TABLE s."s.t" AS SELECT 's s.t' AS id; CREATE TABLE "s.s".t AS SELECT 's.s t' AS id;
		CREATE TABLE "Q"."a "" b" AS SELECT 'Q quote' AS id;
		CREATE TABLE `+long+`.`+long+` AS SELECT 'long' AS id;
		CREATE TABLE public.u AS SELECT 'public u' AS id; CREATE TABLE s.u AS SELECT 's u' AS id`)
	seen := map[string]bool{}
	list := tables(t, db, "")
	for _, name := range list {
		seen[encoded(t, table(t, db, name))] = true
	}
	if len(list) != 12 || len(seen) != 12 {
		t.Errorf("%d names of 12 tables find %d: %q", len(list), len(seen), list)
	}
}

// TestInheritance lists what together has every value.
func TestInheritance(t *testing.T) {
	db, _ := openNew(t, `
		CREATE TABLE parent (a int, gone int); ALTER TABLE parent DROP COLUMN gone;
		CREATE TABLE same () INHERITS (parent);
		CREATE TABLE more (b int) INHERITS (parent);
		CREATE TABLE same_as_more () INHERITS (more);
		CREATE TABLE computed (c int GENERATED ALWAYS AS (1) STORED) INHERITS (parent);
		CREATE TABLE parent2 (b int);
		CREATE TABLE combined () INHERITS (parent, parent2);
		CREATE TABLE gone (gone int) INHERITS (parent);
		CREATE TABLE dropped (d int) INHERITS (parent); ALTER TABLE dropped DROP COLUMN d;
		CREATE FOREIGN DATA WRAPPER w; CREATE SERVER f FOREIGN DATA WRAPPER w;
		CREATE FOREIGN TABLE foreigner (a int) SERVER f; CREATE TABLE child () INHERITS (foreigner)`)
	want := []string{
		"public.child", "public.combined", "public.gone", "public.more", "public.parent", "public.parent2",
	}
	if got := tables(t, db, "public"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestDetachPending lists a partition whose rows the parent gives no more.
func TestDetachPending(t *testing.T) {
	testkit.SincePostgres(t, 14, "partitions that are being detached")
	db, database := openNew(t, `
		CREATE TABLE parent (a int) PARTITION BY LIST (a);
		CREATE TABLE part PARTITION OF parent FOR VALUES IN (1); INSERT INTO parent VALUES (1)`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	// As ALTER TABLE DETACH PARTITION CONCURRENTLY leaves it if it is cut off.
	database.Exec(t, "UPDATE pg_inherits SET inhdetachpending = true")
	db = openAgain(t, database.ConnString())
	if got, want := tables(t, db, ""), []string{"public.parent", "public.part"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	expectCSV(t, func() source.Rows { return table(t, db, "parent") }, "a\n")
	expectCSV(t, func() source.Rows { return table(t, db, "part") }, "a\n1\n")
}
