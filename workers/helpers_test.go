package workers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"go.uber.org/goleak"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
	"culvert/manifest"
	"culvert/place"
	"culvert/workers"
)

// TestMain is also the NATS servers, workers and coordinators that the tests kill.
func TestMain(m *testing.M) {
	if natsserver.Main() || participate() {
		return
	}
	testkit.AtOnce(8)
	goleak.VerifyTestMain(m)
}

// fixture is a database, a directory, and a key.
type fixture struct {
	participant
	db       *testkit.PostgresDatabase
	identity *age.X25519Identity
	told     func(workers.Event) // what happens to a job that is resumed
	late     *regexp.Regexp      // files that may exist without being listed
	growing  *growing            // nil if the tables do not change while they are exported
}

// newFixture has tables of several parts, of one, and of none.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOf(t, testkit.Postgres(t))
}

// patient lets a task be silent for so long that only a worker that is dead loses it, however busy the machine is. It
// is for tests in which a task may be given to few.
const patient = 10 * time.Second

// newQuietFixture has a server of its own, in which only this test writes. To others, all snapshots look new after any
// write in any database.
func newQuietFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOf(t, testkit.NewPostgres(t, testkit.PostgresConfig{}))
}

func newFixtureOf(t *testing.T, server *testkit.PostgresServer) *fixture {
	t.Helper()
	f := &fixture{db: server.NewDatabase(t)}
	f.db.Exec(t, `CREATE TABLE orders AS
			SELECT i AS id, repeat(md5(i::text), 20) AS note FROM generate_series(1, 4000) i;
		CREATE TABLE customers AS SELECT i AS id, 'name ' || i AS name FROM generate_series(1, 100) i;
		CREATE TABLE nothing (id int, "a ""b" text)`)
	var err error
	if f.identity, err = age.GenerateX25519Identity(); err != nil {
		t.Fatal(err)
	}
	f.participant = participant{
		Database: f.db.ConnString(), Directory: t.TempDir(), Recipient: f.identity.Recipient().String(),
		Tables: []string{"orders", "customers", "nothing"}, PartSize: 256 << 10, Sessions: 1,
		AckWait: time.Second, MaxDeliver: 20, Heartbeat: heartbeat,
	}
	return f
}

// check compares the files with the manifest and with the database.
func (f *fixture) check(t *testing.T, tables ...string) *manifest.Manifest {
	t.Helper()
	if tables == nil {
		tables = f.Tables
	}
	directory, err := export.OpenDirectory(f.root(t), f.identity)
	if err != nil {
		t.Fatal(err)
	}
	if err := directory.Verify(t.Context(), nil); err != nil && !isPartial(err) {
		t.Error(err)
	}
	found := map[string]bool{}
	listed := []string{f.manifest()}
	for i := range directory.Manifest.Tables {
		table := &directory.Manifest.Tables[i]
		found[table.Name] = true
		for _, part := range table.Parts {
			listed = append(listed, part.File)
		}
		if slices.Contains(tables, table.Name) {
			f.compare(t, directory, table)
		}
	}
	for _, name := range tables {
		if !found[name] {
			t.Errorf("table %s is missing in the manifest", name)
		}
	}
	slices.Sort(listed)
	files := f.files(t)
	if f.late != nil {
		files = slices.DeleteFunc(files, func(name string) bool {
			return f.late.MatchString(name) && !slices.Contains(listed, name)
		})
	}
	if !slices.Equal(files, listed) {
		t.Errorf("the files are %q; the manifest lists %q", files, listed)
	}
	return directory.Manifest
}

func isPartial(err error) bool {
	_, is := errors.AsType[*export.PartialError](err)
	return is
}

func (f *fixture) compare(t *testing.T, directory *export.Directory, table *manifest.Table) {
	t.Helper()
	if d := table.Definition; d == nil || d.Name != table.Name || len(d.Columns) != len(table.Columns) {
		t.Errorf("table %s has the definition %+v", table.Name, d)
	}
	r, err := directory.Open(table)
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
		return
	}
	rows := fmt.Sprintf(`"%s"`, table.Name)
	if f.growing != nil {
		rows = fmt.Sprintf("(SELECT * FROM %s WHERE id <= %d)", rows, f.growing.highest(t, table.Name, string(text)))
	}
	want := string(f.db.Psql(t, "-c", fmt.Sprintf(`COPY %s TO STDOUT (FORMAT csv)`, rows)))
	if got := sorted(string(text)); !slices.Equal(got[1:], sorted(want)) {
		t.Errorf("table %s: %d lines differ from the %d of the database", table.Name, len(got), len(sorted(want)))
	}
}

// sorted returns the first line, which may be a header, and the others in order.
func sorted(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1]
	if len(lines) > 0 && strings.HasPrefix(lines[0], "id,") {
		slices.Sort(lines[1:])
	} else {
		slices.Sort(lines)
	}
	return lines
}

// root is the place, for reading.
func (f *fixture) root(t *testing.T) place.Place {
	t.Helper()
	root, err := f.place()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return root
}

// files returns the names of all files of the export.
func (f *fixture) files(t *testing.T) (names []string) {
	t.Helper()
	err := fs.WalkDir(f.root(t), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // stores may list directories that have lost their last file
			return nil
		case err == nil && !entry.IsDir():
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// queue opens the queue for the test itself.
func (f *fixture) queue(t *testing.T) *workers.Queue {
	t.Helper()
	q, err := f.participant.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// begin starts a coordinator in this process, and returns its result.
func (f *fixture) begin(ctx context.Context, t *testing.T, q *workers.Queue, c workers.Coordinator) <-chan result {
	t.Helper()
	c.Notice = func(message string) { t.Log(message) }
	ended := make(chan result, 1)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute) // if a worker has ended with an error, it waits for ever
	t.Cleanup(cancel)
	go func() {
		m, err := f.coordinate(ctx, q, c)
		ended <- result{m, err}
	}()
	return ended
}

// beginAndSee is begin, and returns when the coordinator has told its progress, so that the job has begun.
func (f *fixture) beginAndSee(ctx context.Context, t *testing.T, q *workers.Queue) <-chan result {
	t.Helper()
	begun := make(chan struct{}, 1)
	ended := f.begin(ctx, t, q, workers.Coordinator{Progress: func(workers.Status) {
		select {
		case begun <- struct{}{}:
		default:
		}
	}})
	<-begun
	return ended
}

// leave begins the job, and ends its coordinator as soon as that has told its progress.
func (f *fixture) leave(t *testing.T, q *workers.Queue) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	running := f.begin(ctx, t, q, workers.Coordinator{Progress: func(workers.Status) { cancel() }})
	if result := <-running; !errors.Is(result.err, context.Canceled) {
		t.Fatal(result.err)
	}
}

type result struct {
	manifest *manifest.Manifest
	err      error
}

func (r result) check(t *testing.T) {
	t.Helper()
	if r.err != nil {
		t.Fatal(r.err)
	}
}

func isExist(err error) bool { return errors.Is(err, fs.ErrExist) }
