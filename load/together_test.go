package load_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/mysql"
	"culvert/postgres"
	"culvert/sink"
	"culvert/source"
)

// refreshedSQL are tables of which two refer to each other, one to itself, one to that one, and one to none.
const refreshedSQL = `
CREATE TABLE person (id int PRIMARY KEY, boss int REFERENCES person, team int);
CREATE TABLE team (id int PRIMARY KEY, head int NOT NULL REFERENCES person);
ALTER TABLE person ADD FOREIGN KEY (team) REFERENCES team;
CREATE TABLE badge (id int PRIMARY KEY, person int REFERENCES person ON DELETE CASCADE);
CREATE TABLE other (id int)`

var refreshed = []string{"badge", "other", "person", "team"}

// fillRefreshedSQL fills these tables with three rows each, whose keys begin with f.
const fillRefreshedSQL = `;
INSERT INTO person SELECT f + i, CASE i WHEN 0 THEN NULL ELSE f END FROM f, generate_series(0, 2) i;
INSERT INTO team SELECT f + i, f + i FROM f, generate_series(0, 2) i; UPDATE person SET team = id;
UPDATE person SET boss = id WHERE boss IS NULL;
INSERT INTO badge SELECT f + i, f + i FROM f, generate_series(0, 2) i;
INSERT INTO other SELECT f + i FROM f, generate_series(0, 2) i`

func refreshedRows(first string) string {
	return refreshedSQL + "; CREATE VIEW f AS SELECT " + first + " AS f" + fillRefreshedSQL
}

const sumRefreshedSQL = `SELECT (SELECT string_agg(concat_ws(',', id, boss, team), ' ' ORDER BY id) FROM person),
	(SELECT string_agg(concat_ws(',', id, head), ' ' ORDER BY id) FROM team),
	(SELECT string_agg(concat_ws(',', id, person), ' ' ORDER BY id) FROM badge),
	(SELECT string_agg(id::text, ' ' ORDER BY id) FROM other)`

// TestRefresh replaces the rows of tables that refer to each other, whether they come from files in parts or from
// another database, over one connection and several.
func TestRefresh(t *testing.T) {
	t.Parallel()
	from, _ := newPostgres(t, refreshedRows("10"))
	want := from.Query(t, sumRefreshedSQL)[0]
	src := func() source.Source { return openPostgres(t, from) }
	backup := newBackupOf(t, src(), export.Plan{}, 2, refreshed...)
	to, dst := newPostgres(t, "")
	for _, existing := range []sink.Existing{sink.Truncate, sink.Swap} {
		loaders := map[sink.Existing]int{sink.Truncate: 1, sink.Swap: 3}[existing]
		plan := load.Plan{Loaders: loaders, ReadBack: true, Analyze: true}
		plan.Filling.Existing = existing
		for _, way := range []string{"Preview", "PreviewTables", "Directory", "CopyTables"} {
			to.Exec(t, emptySchema+refreshedRows("1"))
			old := to.Query(t, sumRefreshedSQL)[0]
			plan.Progress = new(load.Progress)
			planned, stats, err := fourWays(t, plan, dst, src, backup, refreshed...)[way]()
			if err != nil {
				t.Fatalf("%s: %+v, %v", way, stats, err)
			}
			var steps []string
			for _, one := range planned {
				together := []string{"badge", "person", "team"}
				if one.Name == "other" {
					together = nil
				}
				if !slices.Equal(one.Together, together) {
					t.Errorf("%s: %s is filled with %q", way, one.Name, one.Together)
				}
				steps = append(steps, one.Steps...)
			}
			all := strings.Join(steps, "; ")
			truncates := planned != nil && existing == sink.Truncate
			if truncates && (strings.Count(all, "TRUNCATE") != 2 || strings.Count(all, "COMMIT") != 2 ||
				strings.Count(all, "COPY") != 4) {
				t.Errorf("%s: the steps are %s", way, all)
			}
			for _, one := range stats {
				if one.Rows != 3 || (one.Alone != "") != (one.Name != "other") {
					t.Errorf("%s: %+v", way, one)
				}
			}
			got, expected := to.Query(t, sumRefreshedSQL)[0], want
			if stats == nil {
				expected = old
			}
			if !slices.Equal(got, expected) {
				t.Errorf("%s: the rows are %q, want %q", way, got, expected)
			}
			if done := plan.Progress.Tables.Load(); stats != nil && done != 4 {
				t.Errorf("%s: %d tables are done", way, done)
			}
		}
	}
}

// TestRefreshFails has a row of one of these tables refused: all that refer to each other are as before, and the other
// table is filled. Only the table of the row says why.
func TestRefreshFails(t *testing.T) {
	t.Parallel()
	from, _ := newPostgres(t, refreshedRows("10"))
	src := func() source.Source { return openPostgres(t, from) }
	backup := newBackupOf(t, src(), export.Plan{}, 0, refreshed...)
	to, dst := newPostgres(t, "")
	for name, test := range map[string]struct{ sql, table string }{
		"a row":          {"ALTER TABLE badge ADD CHECK (id < 12)", "badge"},
		"a deferred key": {"ALTER TABLE team DROP COLUMN head, ADD COLUMN head int REFERENCES badge DEFERRABLE", ""},
		"a trigger":      {"CREATE TRIGGER never AFTER INSERT ON team FOR EACH ROW EXECUTE FUNCTION raise()", "team"},
	} {
		for _, way := range []string{"Directory", "CopyTables"} {
			to.Exec(t, emptySchema+`CREATE FUNCTION raise() RETURNS trigger LANGUAGE plpgsql AS
				'BEGIN RAISE EXCEPTION ''not now''; END'; `+refreshedRows("1"))
			to.Exec(t, test.sql)
			before := to.Query(t, sumRefreshedSQL)[0]
			plan := load.Plan{Filling: sink.Filling{Existing: sink.Truncate}, Progress: new(load.Progress)}
			_, stats, err := fourWays(t, plan, dst, src, backup, refreshed...)[way]()
			if test.table == "" { // the rows fit
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			if partial, is := errors.AsType[*load.PartialError](err); !is || partial.Failed != 3 {
				t.Fatalf("%s: %+v, %v", name, stats, err)
			}
			for _, one := range stats {
				together, is := errors.AsType[*load.TogetherError](one.Err)
				switch {
				case one.Name == "other" && (one.Err != nil || one.Rows != 3):
					t.Errorf("%s: another table: %+v", name, one)
				case one.Name != "other" && one.Rows != 0:
					t.Errorf("%s: %+v", name, one)
				case one.Name == test.table && (one.Err == nil || is):
					t.Errorf("%s: the error of the table is %v", name, one.Err)
				case one.Name != "other" && one.Name != test.table && (!is || together.Failed != test.table):
					t.Errorf("%s: the error of %s is %v", name, one.Name, one.Err)
				}
			}
			after := to.Query(t, sumRefreshedSQL)[0]
			if !slices.Equal(after[:3], before[:3]) || after[3] == before[3] {
				t.Errorf("%s: the rows are %q, and were %q", name, after, before)
			}
			if rows := plan.Progress.Rows.Load(); rows != 3 {
				t.Errorf("%s: %d rows are counted", name, rows)
			}
		}
	}
}

// alteredSource is a source that does not keep others from altering the table person after it was looked up.
type alteredSource struct {
	source.Source
	isAltered bool
}

func (s *alteredSource) Table(ctx context.Context, name string) (source.Rows, error) {
	if !s.isAltered || name != "person" {
		return s.Source.Table(ctx, name)
	}
	return s.Source.(source.Selector).Select(ctx, name, source.Selection{Columns: []string{"id", "team", "boss"}})
}

// TestRefreshAltered has the columns of a table of the source change places after it was looked up. No value comes into
// another column.
func TestRefreshAltered(t *testing.T) {
	from, _ := newPostgres(t, refreshedRows("10"))
	to, dst := newPostgres(t, refreshedRows("1"))
	before := to.Query(t, sumRefreshedSQL)[0]
	src := &alteredSource{Source: openPostgres(t, from)}
	plan := load.Plan{Filling: sink.Filling{Existing: sink.Truncate}}
	plan.Check = func([]load.Planned) error {
		src.isAltered = true
		return nil
	}
	names := []load.Names{{From: "badge", To: "badge"}, {From: "person", To: "person"}, {From: "team", To: "team"}}
	stats, err := plan.CopyTables(t.Context(), dst, src, names)
	if len(stats) != 3 || stats[1].Err == nil || !strings.Contains(stats[1].Err.Error(), "altered") {
		t.Errorf("%+v, %v", stats, err)
	}
	if after := to.Query(t, sumRefreshedSQL)[0]; !slices.Equal(after, before) {
		t.Errorf("the rows are %q, and were %q", after, before)
	}
}

// TestRefreshWithoutFailed leaves tables alone that refer to one that cannot be filled.
func TestRefreshWithoutFailed(t *testing.T) {
	const sql = `CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a VALUES (1);
		CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a, b int REFERENCES b); INSERT INTO b VALUES (1, 1, 1)`
	from, _ := newPostgres(t, sql+"; CREATE TABLE heir (id int)")
	backup := newBackupOf(t, openPostgres(t, from), export.Plan{}, 0, "a", "b", "heir")
	_, dst := newPostgres(t, sql+"; CREATE TABLE heir () INHERITS (a)")
	plan := load.Plan{Filling: sink.Filling{Existing: sink.Truncate}}
	planned, err := plan.Preview(t.Context(), dst, backup.Directory, nil)
	if partial, is := errors.AsType[*load.PartialError](err); !is || partial.Failed != 2 {
		t.Fatalf("%+v, %v", planned, err)
	}
	for _, one := range planned {
		_, heirs := errors.AsType[*load.HeirsError](one.Err)
		_, together := errors.AsType[*load.TogetherError](one.Err)
		if heirs != (one.Name == "a") || together != (one.Name == "b") || one.Together != nil {
			t.Errorf("%s is filled with %q: %v", one.Name, one.Together, one.Err)
		}
	}
}

// undoneSink is a sink that cannot undo what a group has done.
type undoneSink struct{ *postgres.Sink }

func (s undoneSink) Group(ctx context.Context, tables []sink.Member) (sink.Group, error) {
	group, err := s.Sink.Group(ctx, tables)
	return undoneGroup{group}, err
}

type undoneGroup struct{ sink.Group }

var errUndone = errors.New("something remains")

func (g undoneGroup) Discard() error { return errors.Join(g.Group.Discard(), errUndone) }

// TestRefreshNotUndone says what remains of tables that are filled in one transaction, besides why they are not filled.
func TestRefreshNotUndone(t *testing.T) {
	from, _ := newPostgres(t, refreshedRows("10"))
	to, _ := newPostgres(t, refreshedRows("1")+"; ALTER TABLE badge ADD CONSTRAINT low CHECK (id < 12)")
	dst, err := postgres.OpenSink(t.Context(), to.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, dst)
	plan := load.Plan{Filling: sink.Filling{Existing: sink.Truncate}}
	names := []load.Names{{From: "badge", To: "badge"}, {From: "person", To: "person"}, {From: "team", To: "team"}}
	stats, err := plan.CopyTables(t.Context(), undoneSink{dst}, openPostgres(t, from), names)
	if len(stats) != 3 {
		t.Fatalf("%+v, %v", stats, err)
	}
	if row, is := errors.AsType[*sink.RowError](stats[0].Err); !is || row.Constraint != "low" ||
		!errors.Is(stats[0].Err, errUndone) {
		t.Errorf("the error is %v", stats[0].Err)
	}
}

// TestRefreshOthers replaces the rows of such tables of MariaDB and SQLite, and has a row refused then.
func TestRefreshOthers(t *testing.T) {
	from, _ := newPostgres(t, refreshedRows("10"))
	backup := newBackupOf(t, openPostgres(t, from), export.Plan{}, 2, "badge", "person", "team")
	const personSQL = "CREATE TABLE person (id int PRIMARY KEY, boss int, team int, " +
		"FOREIGN KEY (boss) REFERENCES person (id)%s)"
	others := []string{
		"CREATE TABLE team (id int PRIMARY KEY, head int NOT NULL, FOREIGN KEY (head) REFERENCES person (id))",
		"CREATE TABLE badge (id int PRIMARY KEY, person int, FOREIGN KEY (person) REFERENCES person (id) " +
			"ON DELETE CASCADE, CHECK (id > 0))",
		"INSERT INTO person VALUES (1, 1, NULL)", "INSERT INTO team VALUES (1, 1)", "INSERT INTO badge VALUES (1, 1)",
		"UPDATE person SET team = 1",
	}
	const sumSQL = "SELECT (SELECT sum(id * 1000 + boss + team) FROM person) + (SELECT sum(id + head) FROM team) + " +
		"(SELECT sum(id + person) FROM badge)"
	maria := testkit.MariaDB(t).NewDatabase(t)
	for _, sql := range append([]string{fmt.Sprintf(personSQL, "")}, others[:1]...) {
		maria.Exec(t, sql)
	}
	maria.Exec(t, "ALTER TABLE person ADD FOREIGN KEY (team) REFERENCES team (id)")
	for _, sql := range others[1:] {
		maria.Exec(t, sql)
	}
	toMaria, err := mysql.OpenSink(t.Context(), maria.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, toMaria)
	path, toLite := newSQLite(t)
	lite, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, lite)
	person := fmt.Sprintf(personSQL, ", FOREIGN KEY (team) REFERENCES team (id)")
	for _, sql := range append([]string{person}, others...) {
		if err := lite.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	for name, one := range map[string]struct {
		dst sink.Sink
		sum func() string
	}{
		"MariaDB": {toMaria, func() string { return maria.Query(t, sumSQL)[0][0] }},
		"SQLite":  {toLite, func() string { return oneOf(t, lite, sumSQL) }},
	} {
		plan := load.Plan{Filling: sink.Filling{Existing: sink.Truncate}}
		names := map[string]string{"badge": "", "person": "", "team": ""}
		if stats, err := plan.Directory(t.Context(), one.dst, backup.Directory, names); err != nil {
			t.Fatalf("%s: %+v, %v", name, stats, err)
		}
		if got := one.sum(); got != "33195" {
			t.Errorf("%s: the sum is %s", name, got)
		}
	}
}

// oneOf returns the value that a query of SQLite returns.
func oneOf(t *testing.T, db *sqlite3.Conn, sql string) string {
	t.Helper()
	stmt, _, err := db.Prepare(sql)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, stmt)
	if !stmt.Step() {
		t.Fatal(stmt.Err())
	}
	return stmt.ColumnText(0)
}
