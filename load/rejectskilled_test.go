package load_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/mysql"
	"culvert/place"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
	"culvert/sqlite"
)

// dying ends this process at one of the events of the files of rejected rows, as a crash would.
type dying struct{ left int }

func (d *dying) event() {
	if d.left--; d.left != 0 {
		return
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}

// of has it die when files are begun, written, and before and after they are committed or removed.
func (d *dying) of(r *load.Rejects) *load.Rejects {
	return &load.Rejects{
		Create: func(ctx context.Context, name, into string) (place.File, error) {
			d.event()
			f, err := r.Create(ctx, name, into)
			return dyingFile{f, d}, err
		},
		Remove: func(ctx context.Context, name, into string) error {
			d.event()
			defer d.event()
			return r.Remove(ctx, name, into)
		},
	}
}

type dyingFile struct {
	place.File
	d *dying
}

func (f dyingFile) Write(p []byte) (int, error) {
	f.d.event()
	return f.File.Write(p)
}

func (f dyingFile) Commit() error {
	f.d.event()
	defer f.d.event()
	return f.File.Commit()
}

// openAt opens a database by what it has as an address.
func openAt(ctx context.Context, at string) (sink.Sink, error) {
	switch {
	case strings.HasPrefix(at, "mysql:"):
		return mysql.OpenSink(ctx, at)
	case strings.HasSuffix(at, ".db"):
		return sqlite.OpenSink(at)
	}
	return postgres.OpenSink(ctx, at)
}

// loadParts loads the export in a directory, whose parts a ledger records, into the table t.
func loadParts(ctx context.Context, at, from string, rejects *load.Rejects) ([]load.Stats, error) {
	dst, err := openAt(ctx, at)
	if err != nil {
		return nil, err
	}
	files, err := export.OpenDirectory(os.DirFS(from))
	if err != nil {
		return nil, err
	}
	plan := load.Plan{
		Rejects: rejects,
		Filling: sink.Filling{Ledger: &sink.Ledger{Table: "ledger", Load: "load"}, EachPart: true},
	}
	stats, err := plan.Directory(ctx, dst, files, map[string]string{"t": ""})
	if closed := dst.Close(); err == nil {
		err = closed
	}
	return stats, err
}

// TestRejectsDies is the process that [TestRejectsKilled] starts.
func TestRejectsDies(t *testing.T) {
	words := strings.Split(os.Getenv("CULVERT_TEST_DIES"), "\n")
	if len(words) != 4 {
		t.Skip("it is a process of another test")
	}
	event, err := strconv.Atoi(words[3])
	if err != nil {
		t.Fatal(err)
	}
	d := &dying{event}
	if _, err := loadParts(t.Context(), words[0], words[1], d.of(rejectsIn(t, words[2]))); err != nil {
		t.Fatal(err)
	}
}

// TestRejectsKilled kills a load with a ledger at every event of the files of rejected rows, and loads again. Then each
// row is in the table or in the file of its part, once. The rows that are rejected have the keys of others.
func TestRejectsKilled(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	from, texts := dirtyExport(t)
	for name, open := range map[string]func(*testing.T) (at string, s killedSide){
		"PostgreSQL": func(t *testing.T) (string, killedSide) {
			db := testkit.Postgres(t).NewDatabase(t)
			exec := db.Try
			idle := func() bool {
				return db.Query(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"+
					" AND backend_type = 'client backend'")[0][0] == "1"
			}
			again := func() source.Source { return openPostgres(t, db) }
			return db.ConnString(), killedSide{side{nil, exec, again}, idle}
		},
		"MariaDB": func(t *testing.T) (string, killedSide) {
			db := testkit.MariaDB(t).NewDatabase(t)
			idle := func() bool {
				sessions := "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE()"
				return db.Query(t, sessions)[0][0] == "1"
			}
			return db.URL(), killedSide{side{nil, db.Try, func() source.Source { return openMySQL(t, db) }}, idle}
		},
		"SQLite": func(t *testing.T) (string, killedSide) {
			s := sqliteSide(t)
			path := filepath.Join(t.TempDir(), "killed.db")
			made, err := sqlite.CreateSink(path)
			if err != nil {
				t.Fatal(err)
			}
			closing(t, made)
			s.try = func(sql string) error {
				execSQLite(t, path, sql)
				return nil
			}
			s.open = func() source.Source { return openSQLite(t, path) }
			return path, killedSide{side: s}
		},
	} {
		t.Run(name, func(t *testing.T) {
			at, s := open(t)
			for event := 1; ; event++ {
				for _, sql := range []string{
					"DROP TABLE IF EXISTS t", "DROP TABLE IF EXISTS ledger",
					"CREATE TABLE t (id int PRIMARY KEY, title text)",
				} {
					if err := s.try(sql); err != nil {
						t.Fatal(err)
					}
				}
				if killedAt(t, at, from, s, event, texts) {
					continue
				}
				if event < 10 {
					t.Errorf("there were only %d events", event)
				}
				break
			}
		})
	}
}

// killedSide is a side whose loads are killed.
type killedSide struct {
	side
	idle func() bool // reports whether the server has no other session in it; nil without a server
}

// killedAt reports whether the load was killed, and finds that nothing is lost after it is run again.
func killedAt(t *testing.T, at, from string, s killedSide, event int, texts []string) bool {
	t.Helper()
	rejects := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRejectsDies$")
	child.Env = append(os.Environ(), fmt.Sprintf("CULVERT_TEST_DIES=%s\n%s\n%s\n%d", at, from, rejects, event))
	out, err := child.CombinedOutput()
	killed := child.ProcessState.ExitCode() == -1
	if err != nil && !killed {
		t.Fatalf("event %d: %v: %s", event, err, out)
	}
	if s.idle != nil { // until then, the table is locked
		testkit.WaitFor(t, "the server to end the session of the load", s.idle)
	}
	if _, err := loadParts(t.Context(), at, from, rejectsIn(t, rejects)); err != nil {
		t.Fatalf("event %d: %v", event, err)
	}
	if found := takenOrRejected(t, s.side, rejects); !slices.Equal(found, texts) {
		t.Errorf("event %d: %d rows are in the table and the files, want %d", event, len(found), len(texts))
	}
	return killed
}

// takenOrRejected returns the rows of the table t, and those in the files of its parts, in order.
func takenOrRejected(t *testing.T, s side, rejects string) []string {
	t.Helper()
	return takenOrRejectedOf(t, s, "t", rejects)
}

// takenOrRejectedOf does the same for a table that the table t of an export has filled.
func takenOrRejectedOf(t *testing.T, s side, table, rejects string) []string {
	t.Helper()
	src := s.open()
	found := csvOf(t, src, table)
	closing(t, src)
	files, err := filepath.Glob(filepath.Join(rejects, "t", "*.csv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range files {
		_, rows := readRejects(t, one, "id,title\n")
		found = append(found, rows...)
	}
	slices.Sort(found)
	return found
}

// dirtyExport exports a table in several parts, some rows of which have the keys of others, and returns all rows. One
// of the parts has none of these.
func dirtyExport(t *testing.T) (path string, texts []string) {
	t.Helper()
	source, _ := newSQLite(t)
	var sql strings.Builder
	sql.WriteString("CREATE TABLE t (id INTEGER, title TEXT); INSERT INTO t VALUES (0, 'first')")
	for i := range 1200 {
		id := i
		if i%450 == 0 {
			id = i / 2
		}
		fmt.Fprintf(&sql, ", (%d, 'row %d %s')", id, i, strings.Repeat("x", i%150))
	}
	execSQLite(t, source, sql.String())
	src := openSQLite(t, source)
	as := export.Plan{Unencrypted: true, Compression: export.None, Format: format.CSV{}}
	b := newBackupOf(t, src, as, 40_000, "t")
	texts = csvOf(t, src, "t")
	slices.Sort(texts)
	return b.path, texts
}
