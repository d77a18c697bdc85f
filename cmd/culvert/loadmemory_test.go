package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"filippo.io/age"
	"github.com/ncruces/go-sqlite3"

	"culvert/internal/testkit"
)

// TestLoadMemory holds the process to the bound of docs/memory.md, with a table in one file and in parts, of text that
// the database reads and of text that is decoded. The long form also loads with one job and with eight.
func TestLoadMemory(t *testing.T) {
	testkit.Long(t)
	if testkit.RaceDetector() {
		t.Skip("skipped: the race detector takes memory of its own")
	}
	program, database := buildPlainly(t), testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `CREATE UNLOGGED TABLE many AS SELECT i, repeat(md5(i::text), 4) AS v, md5((2 * i)::text) AS w
		FROM generate_series(1, 400000) AS i; CREATE UNLOGGED TABLE few AS TABLE many WITH NO DATA`)
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(identity.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	allJobs := []int{4}
	if testkit.Soak() {
		allJobs = []int{1, 4, 8}
	}
	for _, format := range []string{"csv", "jsonl"} {
		for _, parts := range []bool{false, true} {
			backup, table := filepath.Join(t.TempDir(), "many."+format+".zst.age"), "few"
			args := []string{
				"export", "postgres:", "many", "-f", format, "-r", identity.Recipient().String(), "-o", backup,
			}
			if parts {
				args, table = append(args, "--part-size", "12MiB"), "many=few"
			}
			memoryOf(t, program, database, args...)
			for _, jobs := range allJobs {
				database.Exec(t, "TRUNCATE few")
				report := memoryOf(t, program, database,
					"load", "-i", key, "--jobs", strconv.Itoa(jobs), backup, "postgres:", table)
				peak := report.PeakMemory / (1 << 20)
				ceiling := loadCeiling(jobs, parts, format == "jsonl")
				t.Logf("%s, in parts: %v, %d jobs: %.1f MiB of %.1f", format, parts, jobs, peak, ceiling)
				if rows := database.Query(t, "SELECT count(*) FROM few")[0][0]; rows != "400000" || peak > ceiling {
					t.Errorf("%s rows of %s with %d jobs, in parts: %v, take %.1f MiB; the bound is %.1f",
						rows, format, jobs, parts, peak, ceiling)
				}
			}
		}
	}
}

// loadCeiling is the bound in MiB.
func loadCeiling(jobs int, parts, decoded bool) float64 {
	const program = 48
	readers, blocks, block := 1, 2*jobs+2, 3.0
	if parts {
		readers, blocks = jobs, 4*jobs
	}
	if decoded {
		block = 6
	}
	frames := min(runtime.GOMAXPROCS(0)+2, 10)
	return program + float64(readers)*(3*float64(frames)+2.5*float64(jobs)) + float64(blocks)*block
}

// TestLoadMemoryOfTables holds the process to the bound of docs/memory.md for tables that are loaded at the same time:
// they share the jobs, so each has four blocks.
func TestLoadMemoryOfTables(t *testing.T) {
	testkit.Long(t)
	if testkit.RaceDetector() {
		t.Skip("skipped: the race detector takes memory of its own")
	}
	program, database := buildPlainly(t), testkit.Postgres(t).NewDatabase(t)
	const jobs = 6
	database.Exec(t, "CREATE SCHEMA many")
	for i := range jobs {
		database.Exec(t, fmt.Sprintf(`CREATE UNLOGGED TABLE many.t%d AS SELECT i, repeat(md5(i::text), 4) AS v,
			md5((2 * i)::text) AS w FROM generate_series(1, 150000) AS i`, i))
	}
	backup := filepath.Join(t.TempDir(), "many")
	memoryOf(t, program, database, "export", "postgres:", "--schema", "many", "--no-encrypt", "-o", backup)
	for i := range jobs {
		database.Exec(t, fmt.Sprintf("TRUNCATE many.t%d", i))
	}
	report := memoryOf(t, program, database,
		"load", "--from", "anyone", "--jobs", strconv.Itoa(jobs), backup, "postgres:")
	peak, ceiling := report.PeakMemory/(1<<20), 48+jobs*(3+2.5+4*3.0)
	t.Logf("%d tables: %.1f MiB of %.1f", jobs, peak, ceiling)
	if rows := database.Query(t, "SELECT count(*) FROM many.t0")[0][0]; rows != "150000" || peak > ceiling {
		t.Errorf("%d tables, the first with %s rows, take %.1f MiB; the bound is %.1f", jobs, rows, peak, ceiling)
	}
}

// TestLoadMemoryOfLargeRows holds the process to the bound of docs/memory.md for rows of megabytes that are decoded,
// whatever the number of jobs.
func TestLoadMemoryOfLargeRows(t *testing.T) {
	testkit.Long(t)
	if testkit.RaceDetector() {
		t.Skip("skipped: the race detector takes memory of its own")
	}
	program, database := buildPlainly(t), testkit.Postgres(t).NewDatabase(t)
	const row, times = 32 << 20, 10.5
	database.Exec(t, `CREATE UNLOGGED TABLE large AS SELECT i, repeat(E'a "quoted", \\line' || chr(10), 1677721) AS v
		FROM generate_series(1, 4) AS i; CREATE UNLOGGED TABLE few AS TABLE large WITH NO DATA`)
	backup := filepath.Join(t.TempDir(), "large.jsonl")
	memoryOf(t, program, database, "export", "postgres:", "large", "-f", "jsonl", "-c", "none", "--no-encrypt",
		"-o", backup)
	report := memoryOf(t, program, database, "load", "--jobs", "4", backup, "postgres:", "few")
	got := report.PeakMemory / row
	t.Logf("%.1f times a row of %d MiB", got, row>>20)
	if rows := database.Query(t, "SELECT count(*) FROM few")[0][0]; rows != "4" || got > times {
		t.Errorf("%s rows take %.1f times a row; the bound is %.1f", rows, got, times)
	}
}

// TestMemoryOfLargeRowsOfSQLite holds the process to the bounds of docs/memory.md for rows of megabytes that are copied
// from SQLite, and loaded into SQLite.
func TestMemoryOfLargeRowsOfSQLite(t *testing.T) {
	testkit.Long(t)
	if testkit.RaceDetector() {
		t.Skip("skipped: the race detector takes memory of its own")
	}
	program, database := buildPlainly(t), testkit.Postgres(t).NewDatabase(t)
	const row = 32 << 20
	directory := t.TempDir()
	from, to := filepath.Join(directory, "from.db"), filepath.Join(directory, "to.db")
	db, err := sqlite3.Open(from)
	if err == nil {
		err = errors.Join(db.Exec(`CREATE TABLE texts (v TEXT); CREATE TABLE blobs (v BLOB);
			WITH n (i) AS (VALUES (1), (2), (3), (4)) INSERT INTO texts
				SELECT replace(hex(zeroblob(1677721)), '00', 'a "quoted", \line' || char(10)) FROM n;
			WITH n (i) AS (VALUES (1), (2), (3), (4)) INSERT INTO blobs SELECT randomblob(1 << 25) FROM n`), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(directory, "backup")
	memoryOf(t, program, database, "export", from, "texts", "--part-size", "1GiB", "-f", "jsonl", "--no-encrypt",
		"-o", backup)
	for _, test := range []struct {
		times float64
		args  []string
	}{
		{10.5, []string{"copy", "--create", from, "blobs", "postgres:"}},
		{10.5, []string{"copy", "--create", from, "blobs", to}},
		{10.5, []string{"load", "--create", "--from", "anyone", backup, to}},
	} {
		report := memoryOf(t, program, database, test.args...)
		got := report.PeakMemory / row
		t.Logf("%v: %.1f times a row of %d MiB", test.args, got, row>>20)
		if report.Rows != 4 || got > test.times {
			t.Errorf("%v: %v rows take %.1f times a row; the bound is %v", test.args, report.Rows, got, test.times)
		}
	}
}
