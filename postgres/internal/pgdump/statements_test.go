package pgdump_test

import (
	"slices"
	"strings"
	"testing"

	"culvert/postgres/internal/pgdump"
)

func TestSplit(t *testing.T) {
	const dump = `--
-- PostgreSQL database dump
--

\restrict abc

SET row_security = off;
CREATE FUNCTION public.begin() RETURNS integer
    LANGUAGE sql
    AS $$ SELECT 1; $$;
CREATE FUNCTION public.atomic(i integer) RETURNS integer
    LANGUAGE sql
    BEGIN ATOMIC
 SELECT CASE WHEN (i > 0) THEN 1 ELSE 2 END;
 SELECT 'END;' AS "case";
END;
CREATE PROCEDURE public.p() LANGUAGE plpgsql AS $_$ BEGIN END; $_$;
/* one /* in */ ; another */ COMMENT ON TABLE public."a;b" IS E'it''s \' ; a';
CREATE RULE r AS ON UPDATE TO public.t DO ALSO ( SELECT 1; SELECT 2; );
;
ALTER TABLE x$1$ ADD CHECK (a <> '-- no comment'); -- one;
\unrestrict abc
`
	want := []string{
		"SET row_security = off",
		"CREATE FUNCTION public.begin() RETURNS integer\n    LANGUAGE sql\n    AS $$ SELECT 1; $$",
		"CREATE FUNCTION public.atomic(i integer) RETURNS integer\n    LANGUAGE sql\n    BEGIN ATOMIC\n" +
			" SELECT CASE WHEN (i > 0) THEN 1 ELSE 2 END;\n SELECT 'END;' AS \"case\";\nEND",
		"CREATE PROCEDURE public.p() LANGUAGE plpgsql AS $_$ BEGIN END; $_$",
		`COMMENT ON TABLE public."a;b" IS E'it''s \' ; a'`,
		"CREATE RULE r AS ON UPDATE TO public.t DO ALSO ( SELECT 1; SELECT 2; )",
		"ALTER TABLE x$1$ ADD CHECK (a <> '-- no comment')",
	}
	got, err := pgdump.Split(dump)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q\nerror %v", got, want, err)
	}
}

func TestSplitUnfinished(t *testing.T) {
	for _, sql := range []string{
		"SELECT 'a", `SELECT "a`, "SELECT $$a", "/* /* */", "SELECT (1;",
		"CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1;",
	} {
		if got, err := pgdump.Split(sql); err == nil {
			t.Errorf("%s is %q", sql, got)
		}
	}
}

func TestAllowed(t *testing.T) {
	for sql, want := range map[string]bool{
		"CREATE TABLE public.t ()": true, "SELECT pg_catalog.setval('public.s', 1, true)": true,
		"SET default_table_access_method = heap": true, "DROP TABLE t": false, "COPY t TO PROGRAM 'x'": false,
		"CREATE ROLE r": false, "CREATE  ROLE r": false, "CREATE/**/ROLE r": false, "create role r": false,
		"ALTER SYSTEM SET port = 1": false, "SELECT pg_catalog.setval('s', 1, true), 1": false, "DO $$ $$": false,
		"SET SESSION AUTHORIZATION r": false, "CREATE role r": false,
	} {
		if pgdump.Allowed(sql, true) != want {
			t.Errorf("%s: allowed is %v", sql, !want)
		}
	}
	if !pgdump.Allowed("SET SESSION AUTHORIZATION r", false) {
		t.Error("grants of others are refused")
	}
}

// TestDivide has statements in the order of pg_dump: rights come last, and names contain what other statements begin
// with.
func TestDivide(t *testing.T) {
	before := []string{
		`CREATE TABLE public."a ADD CONSTRAINT b" ( a integer )`,
		`ALTER TABLE ONLY public."a ADD CONSTRAINT b" ALTER COLUMN a SET DEFAULT 1`,
		"ALTER TABLE ONLY public.p ATTACH PARTITION public.q DEFAULT", "COMMENT ON TABLE public.t IS 'CREATE INDEX '",
		"ALTER TABLE ONLY public.t FORCE ROW LEVEL SECURITY", "ALTER TABLE ONLY public.t REPLICA IDENTITY FULL",
	}
	rights := []string{
		"REVOKE ALL ON TABLE public.t FROM a", "SET SESSION AUTHORIZATION a", "GRANT SELECT ON TABLE public.t TO b",
		"RESET SESSION AUTHORIZATION",
	}
	for _, first := range []string{
		`ALTER TABLE ONLY public."a "" b"` + "\n    ADD CONSTRAINT t_pkey PRIMARY KEY (id)",
		"CREATE UNIQUE INDEX i ON public.t USING btree (id)", "CREATE TRIGGER t AFTER INSERT ON public.t",
		"ALTER TABLE public.t ENABLE ROW LEVEL SECURITY",
		"ALTER DOMAIN public.d\n\tADD CONSTRAINT c CHECK (true) NOT VALID",
		"ALTER DEFAULT PRIVILEGES FOR ROLE a GRANT SELECT ON TABLES TO b",
	} {
		after := []string{first, "COMMENT ON INDEX public.i IS 'x'", "CREATE TABLE public.odd ()"}
		got := pgdump.Divide(slices.Concat(before, after, rights))
		for i, want := range slices.Concat(before, rights, after) {
			if got[i].SQL != want || got[i].After != (i >= len(before)+len(rights)) {
				t.Errorf("after %q, statement %d is %+v, want %q", first, i, got[i], want)
			}
		}
	}
}

// FuzzSplit splits what was split again.
func FuzzSplit(f *testing.F) {
	f.Add("CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE 1 WHEN 1 THEN 2 END; END; SELECT $a$;$a$, E'\\';';")
	f.Fuzz(func(t *testing.T, sql string) {
		statements, err := pgdump.Split(sql)
		if err != nil {
			return
		}
		again, err := pgdump.Split(strings.Join(statements, "\n;\n"))
		if err != nil || !slices.Equal(again, statements) {
			t.Errorf("%q is %q, and that %q, error %v", sql, statements, again, err)
		}
	})
}
