package load_test

import (
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/place/dir"
	"culvert/source"
)

// largeObjects are some that are empty, have holes, were cut, or span many pages, with rights and comments.
const largeObjects = `
SELECT lo_from_bytea(1001, convert_to(string_agg(i::text, ','), 'UTF8')) FROM generate_series(1, 20000) i;
SELECT lo_create(1002);
SELECT lo_from_bytea(1003, 'short'), lo_put(1003, 9000, 'after a hole');
SELECT lo_from_bytea(1004, convert_to(repeat('cut', 3000), 'UTF8')), lo_truncate(lo_open(1004, 131072), 4096);
SELECT lo_from_bytea(1005, 'gone'), lo_truncate(lo_open(1005, 131072), 0);
SELECT lo_create(1006), lo_truncate(lo_open(1006, 131072), 6144);
SELECT lo_from_bytea(i::oid, convert_to('number ' || i, 'UTF8')) FROM generate_series(2001, 3500) i;
COMMENT ON LARGE OBJECT 1003 IS 'it''s a \ picture'`

// exportLargeObjects exports a database with its large objects.
func exportLargeObjects(
	t *testing.T, database *testkit.PostgresDatabase, grants bool,
) (*export.Directory, *source.Schema) {
	t.Helper()
	to, err := dir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := to.Close(); err != nil {
			t.Error(err)
		}
	})
	src := openPostgres(t, database)
	config := source.SchemaConfig{Grants: grants, LargeObjects: true}
	schema, err := src.(source.Schemer).Schema(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	names, err := src.(source.Lister).Tables(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	plan := export.Plan{Unencrypted: true, Schema: schema}
	for _, one := range schema.Staged {
		names = append(names, one.Table)
	}
	if _, err := plan.Tables(t.Context(), to, src, names); err != nil {
		t.Fatal(err)
	}
	from, err := export.OpenDirectory(to)
	if err != nil {
		t.Fatal(err)
	}
	return from, schema
}

// TestLargeObjects makes large objects again, with their numbers, and copies them.
func TestLargeObjects(t *testing.T) {
	t.Parallel()
	server := testkit.Postgres(t)
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (picture oid); INSERT INTO t VALUES (1001)")
	database.Exec(t, largeObjects)
	from, schema := exportLargeObjects(t, database, false)
	if len(from.Manifest.Schema.Lacks) > 0 {
		t.Errorf("it lacks %q", from.Manifest.Schema.Lacks)
	}
	want := dumped(t, database)
	if !slices.Contains(want, "SELECT pg_catalog.lo_create('3500');") {
		t.Fatal("pg_dump prints no large objects")
	}
	loaded, copied := server.NewDatabase(t), server.NewDatabase(t)
	plan := load.Plan{Loaders: 2, ReadBack: true}
	if _, err := plan.Database(t.Context(), newSink(t, loaded), from, "a load"); err != nil {
		t.Fatal(err)
	}
	if err := from.Compare(t.Context(), openPostgres(t, loaded), 1, nil, nil, nil); err != nil {
		t.Error("the database is not that of the export:", err)
	}
	names := []load.Names{{From: "public.t", To: "public.t"}}
	for _, one := range schema.Staged {
		names = append(names, load.Names{From: one.Table, To: one.Into})
	}
	src := openPostgres(t, database)
	if _, err := plan.CopyDatabase(t.Context(), newSink(t, copied), src, schema, names); err != nil {
		t.Fatal(err)
	}
	for _, is := range []*testkit.PostgresDatabase{loaded, copied} {
		if got := dumped(t, is); !slices.Equal(got, want) {
			t.Errorf("the database becomes another one, of %d lines in place of %d", len(got), len(want))
		}
	}
	// Into a database that exists, they cannot be loaded.
	if all, err := plan.Directory(t.Context(), newSink(t, loaded), from, nil); err == nil ||
		!strings.Contains(all[1].Err.Error(), "is one of the system") {
		t.Errorf("rows of large objects without their schema: %v, %v", all, err)
	}
}

// TestLargeObjectsGrants takes owners and rights along.
func TestLargeObjectsGrants(t *testing.T) {
	server := testkit.Postgres(t)
	database := server.NewDatabase(t)
	owner, other := database.NewRole(t, "owner", ""), database.NewRole(t, "other", "")
	database.Exec(t, `SELECT lo_from_bytea(7, 'a'), lo_from_bytea(8, 'b'), lo_from_bytea(9, 'c');
		ALTER LARGE OBJECT 7 OWNER TO `+owner+`; GRANT SELECT, UPDATE ON LARGE OBJECT 7 TO `+other+`;
		GRANT SELECT ON LARGE OBJECT 7 TO PUBLIC; GRANT SELECT ON LARGE OBJECT 8 TO `+other+` WITH GRANT OPTION;
		ALTER LARGE OBJECT 9 OWNER TO `+owner+`; REVOKE UPDATE ON LARGE OBJECT 9 FROM `+owner)
	again := server.NewDatabase(t)
	t.Cleanup(func() { // before the roles are dropped
		for _, database := range []*testkit.PostgresDatabase{database, again} {
			database.Exec(t, `DROP OWNED BY `+owner+` CASCADE; DROP OWNED BY `+other+` CASCADE`)
		}
	})
	want := dumped(t, database)
	from, _ := exportLargeObjects(t, database, true)
	if _, err := new(load.Plan).Database(t.Context(), newSink(t, again), from, "a load"); err != nil {
		t.Fatal(err)
	}
	if got := dumped(t, again); !slices.Equal(got, want) {
		t.Errorf("the database becomes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
