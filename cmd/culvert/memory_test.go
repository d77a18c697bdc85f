package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"filippo.io/age"

	"culvert/internal/testkit"
)

// TestExportMemory holds the process to the bound of docs/memory.md with rows of all sizes that cannot be compressed,
// read by one connection and by several. In the long form these are all sizes.
func TestExportMemory(t *testing.T) {
	testkit.Long(t)
	if testkit.RaceDetector() {
		t.Skip("skipped: the race detector takes memory of its own")
	}
	program, database := buildPlainly(t), testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, `CREATE UNLOGGED TABLE base AS
		SELECT string_agg(uuid_send(gen_random_uuid()), '') AS v FROM generate_series(1, 65536)`)
	sizes, jobs := []int{7_600_000}, []int{2, 8}
	if testkit.Soak() {
		sizes, jobs = []int{1 << 20, 2 << 20, 4 << 20, 7_600_000, 9 << 20, 64 << 20}, []int{1, 2, 4, 8}
	}
	for i, size := range sizes {
		// Rows of a page each let the table be divided.
		table, count := fmt.Sprint("rows_", size), max(3, 24<<20/size)
		database.Exec(t, fmt.Sprintf(`CREATE UNLOGGED TABLE %[1]s (pad text, v bytea);
			ALTER TABLE %[1]s ALTER v SET STORAGE external, ALTER pad SET STORAGE plain;
			INSERT INTO %[1]s SELECT repeat('p', 5000), CASE WHEN i %% (1200 / %[3]d) = 0 THEN
				(SELECT substring(string_agg(v, '') FROM 1 FOR %[2]d) FROM base, generate_series(0, %[2]d >> 20))
			END FROM generate_series(1, 1200) AS i`, table, size, count))
		for _, jobs := range jobs {
			for f, format := range []string{"csv", "jsonl"} {
				if jobs > 1 && f != (i+jobs/2)%2 {
					continue // they differ only with one job
				}
				peak := exportPeak(t, program, database, table, jobs, format)
				ceiling := exportCeiling(jobs, size, format)
				t.Logf("%d bytes, %d jobs, %s: %.1f MiB of %.1f", size, jobs, format, peak, ceiling)
				if peak > ceiling {
					t.Errorf("rows of %d bytes with %d jobs as %s take %.1f MiB, above the bound of %.1f",
						size, jobs, format, peak, ceiling)
				}
			}
		}
	}
}

// exportCeiling is the bound in MiB. With one job PostgreSQL prints the CSV, two digits for a byte.
func exportCeiling(jobs, size int, format string) float64 {
	row, readers, j := float64(size)/(1<<20), float64(jobs), float64(jobs)
	if jobs == 1 {
		readers = 0
		if format == "csv" {
			row *= 2
		}
	}
	const program = 24
	return program + (j+2)*3.5 + readers*4 + j*7.5 + math.Max(32, 2*row)
}

// exportPeak is the highest memory of an export of a table, in MiB, as the process itself has seen it.
func exportPeak(
	t *testing.T, program string, database *testkit.PostgresDatabase, table string, jobs int, format string,
) float64 {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	report := memoryOf(t, program, database, "export", "postgres:", table, "-j", strconv.Itoa(jobs), "-f", format,
		"-r", identity.Recipient().String(), "-o", filepath.Join(t.TempDir(), "out"))
	if report.Rows != 1200 || (report.Readers > 1) != (jobs > 1) {
		t.Fatalf("%+v", report)
	}
	return report.PeakMemory / (1 << 20)
}

// buildPlainly builds the program. The one of scripts has the tests in it, which take memory.
func buildPlainly(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "culvert")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v: %s", err, out)
	}
	return program
}

// memoryReport is what a command reports of itself.
type memoryReport struct {
	Rows       int64   `json:"rows"`
	Readers    int     `json:"readers"`
	PeakMemory float64 `json:"peak_memory_bytes"`
}

// memoryOf runs a command of the program on a database.
func memoryOf(t *testing.T, program string, database *testkit.PostgresDatabase, args ...string) (report memoryReport) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append(args, "--json")...)
	socket := database.Server.SocketPath() // in a directory, with the port at its end
	cmd.Env = append(os.Environ(), "PGHOST="+filepath.Dir(socket),
		"PGPORT="+strings.TrimPrefix(filepath.Ext(socket), "."), "PGUSER=postgres", "PGDATABASE="+database.Name)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &report)
	}
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, stderr.String())
	}
	return report
}
