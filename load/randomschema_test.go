package load_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/source"
	"culvert/source/sourcetest"
)

// eachSchema makes random schemas: a few, or as many as CULVERT_TEST_ROUNDS says. CULVERT_TEST_SEED makes one again.
func eachSchema(t *testing.T, d *sourcetest.SchemaDialect, each func(t *testing.T, s *sourcetest.RandomSchema)) {
	t.Helper()
	for _, seed := range sourcetest.SchemaSeeds(t, 1) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { each(t, sourcetest.NewRandomSchema(seed, d)) })
	}
}

// runStatements runs the statements of a random schema, one after the other in one session.
func runStatements(t *testing.T, database *testkit.PostgresDatabase, statements []string) {
	t.Helper()
	cmd := database.PsqlCommand(t, "-q", "-o", os.DevNull, "-f", "-")
	cmd.Stdin = strings.NewReader(strings.Join(statements, ";\n") + ";\n")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the random schema is wrong: %v: %s", err, said)
	}
}

// expectDumped compares all that pg_dump prints of two databases.
func expectDumped(t *testing.T, from, to *testkit.PostgresDatabase) {
	t.Helper()
	want, got := dumped(t, from), dumped(t, to)
	lacks := func(all, some []string) (lines []string) {
		for _, line := range some {
			if _, is := slices.BinarySearch(all, line); !is {
				lines = append(lines, line)
			}
		}
		return lines
	}
	if !slices.Equal(want, got) {
		t.Errorf("these are lost:\n%s\nthese are new:\n%s", strings.Join(lacks(got, want), "\n"),
			strings.Join(lacks(want, got), "\n"))
	}
}

// TestRandomSchemasPostgres takes databases of PostgreSQL with every clause into an export and back, and copies them.
func TestRandomSchemasPostgres(t *testing.T) {
	t.Parallel()
	server := testkit.Postgres(t)
	eachSchema(t, sourcetest.PostgresSchema(true), func(t *testing.T, s *sourcetest.RandomSchema) {
		from, loaded, copied := server.NewDatabase(t), server.NewDatabase(t), server.NewDatabase(t)
		runStatements(t, from, s.Statements)
		backup := exportDatabase(t, from, int64(s.IntN(2))<<8)
		plan := load.Plan{Loaders: 1 + s.IntN(3), ReadBack: true}
		if _, err := plan.Database(t.Context(), newSink(t, loaded), backup, "a load"); err != nil {
			t.Fatal(err)
		}
		expectDumped(t, from, loaded)

		src := openPostgres(t, from)
		schema, err := src.(source.Schemer).Schema(t.Context(), source.SchemaConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if schema.OwnRows {
			source.Separate(src)
		}
		names, err := src.(source.Lister).Tables(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		var tables []load.Names
		for _, name := range names {
			tables = append(tables, load.Names{From: name, To: name})
		}
		if _, err := plan.CopyDatabase(t.Context(), newSink(t, copied), src, schema, tables); err != nil {
			t.Fatal(err)
		}
		expectDumped(t, from, copied)
	})
}

// TestRandomTablesPostgres takes the tables of databases of PostgreSQL there and back by their definitions and what
// they need, and copies them, into databases that have other things.
func TestRandomTablesPostgres(t *testing.T) {
	t.Parallel()
	server := testkit.Postgres(t)
	eachSchema(t, sourcetest.PostgresSchema(false), func(t *testing.T, s *sourcetest.RandomSchema) {
		from, loaded, copied := server.NewDatabase(t), server.NewDatabase(t), server.NewDatabase(t)
		runStatements(t, from, s.Statements)
		src := openPostgres(t, from)
		names, err := src.(source.Lister).Tables(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		needs, err := source.NeedsOf(t.Context(), src, names)
		if err != nil || needs == nil || len(needs.Lacks) > 0 {
			t.Fatalf("%+v, error %v", needs, err)
		}
		backup := newBackupOf(t, src, export.Plan{Schema: needs}, int64(s.IntN(2))<<8, names...)
		plan := load.Plan{Loaders: 1 + s.IntN(3), Create: true, ReadBack: true}
		if all, err := plan.Directory(t.Context(), newSink(t, loaded), backup.Directory, nil); err != nil {
			t.Fatal(err, failuresOf(all))
		}
		expectDumped(t, from, loaded)

		var tables []load.Names
		for _, name := range names {
			tables = append(tables, load.Names{From: name, To: name})
		}
		if all, err := plan.CopyTables(t.Context(), newSink(t, copied), src, tables); err != nil {
			t.Fatal(err, failuresOf(all))
		}
		expectDumped(t, from, copied)
	})
}

func failuresOf(all []load.Stats) (failures []string) {
	for _, stats := range all {
		if stats.Err != nil {
			failures = append(failures, stats.Table+": "+stats.Err.Error())
		}
	}
	return failures
}
