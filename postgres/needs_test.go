package postgres_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
)

// needsOf returns what tables of a database need.
func needsOf(t *testing.T, database *testkit.PostgresDatabase, tables ...string) *source.Schema {
	t.Helper()
	src, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	needs, err := source.NeedsOf(t.Context(), src, tables)
	if err := errors.Join(err, src.Close()); err != nil {
		t.Fatal(err)
	}
	return needs
}

// provide makes what tables need, and returns the objects.
func provide(t *testing.T, to *testkit.PostgresDatabase, needs *source.Schema) ([]string, error) {
	t.Helper()
	dst, err := postgres.OpenSink(t.Context(), to.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := dst.Close(); err != nil {
			t.Error(err)
		}
	}()
	missing, missingErr := dst.Missing(t.Context(), needs, sink.Filling{})
	made, err := dst.Provide(t.Context(), needs, sink.Filling{})
	if _, failed := errors.AsType[*sink.StatementsError](err); !failed && len(made) != len(missing) {
		t.Errorf("%d statements are missing, and %d are run; %v", len(missing), len(made), missingErr)
	}
	return objectsOf(made), err
}

func objectsOf(statements []source.Statement) (objects []string) {
	for _, one := range statements {
		objects = append(objects, one.Object)
	}
	return slices.Compact(objects)
}

// TestNeeds asks what some tables need, and makes it where some of it is there.
func TestNeeds(t *testing.T) {
	server := testkit.Postgres(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	from.Exec(t, `CREATE SCHEMA s; CREATE TYPE s.mood AS ENUM ('sad'); CREATE TYPE s.unused AS ENUM ('a');
		CREATE DOMAIN price AS numeric CHECK (VALUE > 0); COMMENT ON DOMAIN price IS 'it''s';
		CREATE TYPE pair AS (a price, b s.mood[]); CREATE SEQUENCE numbers START 5 INCREMENT 5;
		SELECT nextval('numbers'), nextval('numbers');
		CREATE FUNCTION twice(price) RETURNS price IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 * 2; END';
		CREATE EXTENSION hstore WITH SCHEMA s;
		CREATE TABLE a (id int DEFAULT nextval('numbers'), pairs pair[], h s.hstore);
		CREATE TABLE b (p price, q price GENERATED ALWAYS AS (twice(p)) STORED, n serial, x a);
		CREATE TABLE c (id int); CREATE VIEW v AS SELECT * FROM b`)
	if needs := needsOf(t, from, "c"); needs != nil {
		t.Errorf("a table needs %+v", needs)
	}
	needs := needsOf(t, from, "a", "b", "c")
	want := []string{
		"schema s", "extension hstore", "type public.price", "type s.mood", "type public.pair",
		"sequence public.numbers",
		"schema public", "extension plpgsql", "function public.twice(public.price)",
	}
	got := objectsOf(needs.Statements)
	slices.Sort(want)
	if sorted := slices.Sorted(slices.Values(got)); !slices.Equal(sorted, want) || needs.Lacks != nil {
		t.Errorf("the tables need %q, want %q, and lack %q", sorted, want, needs.Lacks)
	}
	if of := objectsOf(needs.NeededBy([]string{"b"}).Statements); slices.Contains(of, "type public.pair") ||
		!slices.Contains(of, "type public.price") {
		t.Errorf("the table b needs %q", of)
	}
	if of := needs.NeededBy([]string{"c"}).Statements; len(of) > 0 {
		t.Errorf("the table c needs %+v", of)
	}
	to.Exec(t, "CREATE SCHEMA s; CREATE TYPE s.mood AS ENUM ('sad'); CREATE TABLE other (a int)")
	made, err := provide(t, to, needs)
	if err != nil || slices.Contains(made, "type s.mood") || !slices.Contains(made, "type public.pair") {
		t.Errorf("made are %q, error %v", made, err)
	}
	if made, err = provide(t, to, needs); err != nil || made != nil {
		t.Errorf("made again are %q, error %v", made, err)
	}
	to.Exec(t, "SELECT (NULL::pair).a, NULL::s.hstore")
	if next := to.Query(t,
		"SELECT nextval('numbers'), obj_description('price'::regtype, 'pg_type')")[0]; next[0] != "15" ||
		next[1] != "it's" {
		t.Errorf("the next number and the comment are %q", next)
	}
}

// TestNeedsDiffer has other objects of the same names, which stay as they are.
func TestNeedsDiffer(t *testing.T) {
	server := testkit.Postgres(t)
	from := server.NewDatabase(t)
	from.Exec(t, `CREATE TYPE e AS ENUM ('a', 'b'); CREATE SEQUENCE s; CREATE DOMAIN d AS int CHECK (VALUE > 1);
		CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE TYPE p AS (a int);
		CREATE TABLE t (e e, i int DEFAULT nextval('s'), d d, f int DEFAULT f(), p p)`)
	needs := needsOf(t, from, "t")
	for object, sql := range map[string]string{
		"type public.e":       "CREATE TYPE e AS ENUM ('b', 'a')",
		"sequence public.s":   "CREATE SEQUENCE s CYCLE",
		"type public.d":       "CREATE DOMAIN d AS int",
		"function public.f()": "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 2'",
		"type public.p":       "CREATE TABLE p (a int)",
	} {
		to := server.NewDatabase(t)
		to.Exec(t, sql)
		made, err := provide(t, to, needs)
		different, is := errors.AsType[*sink.DifferentError](err)
		if !is || different.Object != object || made != nil {
			t.Errorf("%s: made are %q, error %v", sql, made, err)
		}
		if n := to.Query(t,
			"SELECT count(*) FROM pg_type WHERE typname IN ('e', 'd') AND typtype IN ('e', 'd')")[0][0]; n > "1" {
			t.Errorf("%s: something else is made", sql)
		}
	}
	to := server.NewDatabase(t)
	to.Exec(t, "CREATE TABLE s (a int)")
	_, err := provide(t, to, needs)
	if failed, is := errors.AsType[*sink.StatementsError](err); !is || !strings.HasPrefix(failed.Failed[0].SQL,
		"CREATE SEQUENCE") {
		t.Errorf("with a table that has the name of a sequence: %v", err)
	}
	if n := to.Query(t, "SELECT count(*) FROM pg_type WHERE typname = 'e'")[0][0]; n != "0" {
		t.Error("some of it is made")
	}
}

// TestNeedsLack has needs that no statement makes, which are named, with what needs them.
func TestNeedsLack(t *testing.T) {
	testkit.SincePostgres(t, 14, "functions with a body of the standard")
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `CREATE OPERATOR === (leftarg = int, rightarg = int, function = int4eq);
		CREATE FUNCTION c(int) RETURNS int IMMUTABLE LANGUAGE internal AS 'int4abs';
		CREATE FUNCTION calls(i int) RETURNS int IMMUTABLE LANGUAGE sql BEGIN ATOMIC SELECT public.c(i); END;
		CREATE DOMAIN unproved AS int; ALTER DOMAIN unproved ADD CHECK (VALUE > 5) NOT VALID;
		CREATE TABLE other (id serial);
		CREATE FUNCTION of_row(other) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1.id';
		CREATE DOMAIN looped AS int; CREATE FUNCTION loop(looped) RETURNS boolean LANGUAGE sql AS 'SELECT true';
		ALTER DOMAIN looped ADD CHECK (loop(VALUE));
		CREATE TABLE t (a int CHECK (a === 1), b int DEFAULT calls(1), d unproved, l looped,
			n int DEFAULT nextval('other_id_seq'));
		CREATE INDEX ON other (of_row(other))`)
	needs := needsOf(t, database, "t", "other")
	said := strings.Join(needs.Lacks, "\n")
	for _, want := range []string{
		"the operator public.===(integer,integer), which cannot be made by a statement",
		"the function public.c(integer), which cannot be made by a statement",
		"the function public.calls(integer), which needs the function public.c(integer)",
		"the type public.unproved, which cannot", "which needs it",
		"the function public.of_row(public.other), which needs the ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not among what is lacking:\n%s", want, said)
		}
	}
	if strings.Contains(said, "sequence") {
		t.Errorf("a sequence that one of the tables makes is lacking:\n%s", said)
	}
	said = strings.Join(needsOf(t, database, "t").Lacks, "\n")
	if !strings.Contains(said, "the sequence public.other_id_seq, which belongs to a table that is not one of them") {
		t.Errorf("a sequence of another table is not lacking:\n%s", said)
	}
}

// TestNeedsRefused has schemas that are none of this.
func TestNeedsRefused(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (a int)")
	for _, sql := range []string{
		"DROP TABLE t", "CREATE TABLE u (a int)", "CREATE ROLE r", "SELECT pg_sleep(9)",
		"CREATE OR REPLACE FUNCTION f() …",
		"COMMENT ON ROLE postgres IS 'a'", "SELECT pg_catalog.setval('s', 1, true), 1",
	} {
		_, err := provide(t, database, &source.Schema{
			Dialect: source.PostgreSQL, Needs: true, Statements: []source.Statement{{SQL: sql, Object: "type x"}},
		})
		if err == nil || !strings.Contains(err.Error(), "makes nothing") {
			t.Errorf("%s: error %v", sql, err)
		}
	}
	for _, s := range []*source.Schema{{Dialect: source.MySQL, Needs: true}, {Dialect: source.PostgreSQL}} {
		if _, err := provide(t, database, s); err == nil {
			t.Errorf("%+v is made", s)
		}
	}
	src, err := postgres.OpenSource(t.Context(), database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	_, err = src.Needs(t.Context(), []string{"t", "no_such_table"})
	if unknown, is := errors.AsType[*source.UnknownError](err); !is || unknown.Name != "no_such_table" {
		t.Errorf("a table that is not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := src.Needs(ctx, []string{"t"}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a canceled context: %v", err)
	}
	if err := src.Close(); err != nil {
		t.Error(err)
	}
}
