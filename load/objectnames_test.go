package load_test

import (
	"fmt"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/postgres"
	"culvert/sink"
)

// TestObjectNames loads names of objects into a database whose search path would find others by them.
func TestObjectNames(t *testing.T) {
	t.Parallel()
	server := testkit.Postgres(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	const schema = `CREATE SCHEMA a; CREATE TABLE a.things (); CREATE TABLE public.things ();
		CREATE FUNCTION a.f(int) RETURNS int LANGUAGE sql RETURN 1;
		CREATE FUNCTION public.f(int) RETURNS int LANGUAGE sql RETURN 2;
		CREATE DOMAIN public.class AS regclass; CREATE TYPE public.pair AS (class regclass, n int);
		CREATE TABLE public.names (id int PRIMARY KEY, class regclass, classes regclass[], domain public.class,
			domains public.class[], pair public.pair, procedure regprocedure, type regtype, own regclass);
		DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I SET search_path = %s', current_database()); END $$`
	from.Exec(t, fmt.Sprintf(schema, "a, public"))
	to.Exec(t, fmt.Sprintf(schema, "public, a"))
	from.Exec(t, `INSERT INTO public.names SELECT i, 'a.things', '{a.things,public.things}', 'a.things',
		'{public.things,a.things}', '(a.things,1)', 'a.f(int)', 'a.things', 'pg_class'
		FROM generate_series(1, 20) i`)
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

	const counts = `SELECT count(*), count(*) FILTER (WHERE class <> 'a.things'::regclass
		OR classes <> ARRAY['a.things', 'public.things']::regclass[] OR domain <> 'a.things'::regclass
		OR domains <> ARRAY['public.things', 'a.things']::public.class[] OR (pair).class <> 'a.things'::regclass
		OR procedure <> 'a.f(int)'::regprocedure OR type <> 'a.things'::regtype OR own <> 'pg_class'::regclass)
		FROM public.names`
	expect := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		found := to.Query(t, counts)[0]
		if all, other := found[0], found[1]; all != "20" || other != "0" {
			t.Errorf("of %s rows, %s have other objects", all, other)
		}
	}
	for _, form := range []format.Format{format.CSV{}, format.JSONL{}} {
		for name, filling := range map[string]sink.Filling{
			"truncate": {Existing: sink.Truncate},
			"update":   {Existing: sink.Append, Conflict: sink.Update, Key: []string{"id"}},
		} {
			t.Run(form.Extension()+" "+name, func(t *testing.T) {
				to.Exec(t, "UPDATE public.names SET class = NULL WHERE id > 3")
				made := newBackupOf(t, src, export.Plan{Format: form}, 0, "public.names")
				plan := load.Plan{ReadBack: true, Filling: filling}
				_, err := plan.Directory(t.Context(), dst, made.Directory, nil)
				expect(t, err)
				read, err := postgres.OpenSource(t.Context(), to.ConnString())
				if err != nil {
					t.Fatal(err)
				}
				defer closing(t, read)
				if err := made.Compare(t.Context(), read, 1, nil, nil, nil); err != nil {
					t.Errorf("compared with the other database: %v", err)
				}
			})
		}
	}
	t.Run("copy", func(t *testing.T) {
		plan := load.Plan{ReadBack: true, Filling: sink.Filling{Existing: sink.Truncate}}
		_, err := plan.Copy(t.Context(), dst, src, "public.names", "public.names")
		expect(t, err)
	})
	if found := to.Query(t, "SELECT current_setting('search_path')"); found[0][0] != "public, a" {
		t.Errorf("the search path is %q", found)
	}
}
