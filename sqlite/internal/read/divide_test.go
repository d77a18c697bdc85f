package read_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/source"
	"culvert/sqlite/internal/read"
)

// divide has three readers share the rows of a table.
func divide(t *testing.T, db *read.DB, table string, s source.Selection) []source.Rows {
	t.Helper()
	rows, err := db.Select(t.Context(), table, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, rows) })
	all, err := rows.(source.Divider).Divide(3)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// refusal returns the reason why readers cannot share the rows of a table.
func refusal(t *testing.T, db *read.DB, table string, s source.Selection) string {
	t.Helper()
	rows, err := db.Select(t.Context(), table, s)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, rows)
	all, err := rows.(source.Divider).Divide(3)
	reason, is := errors.AsType[*source.IndivisibleError](err)
	if !is || all != nil {
		t.Fatalf("%s %+v: %d readers and the error %v", table, s, len(all), err)
	}
	return reason.Reason
}

// readShared reads all rows, in a goroutine for each reader, and returns their texts, sorted.
func readShared(t *testing.T, all []source.Rows) (texts []string) {
	t.Helper()
	var mu sync.Mutex
	var reading sync.WaitGroup
	for i, rows := range all {
		reading.Go(func() {
			var b source.Batch
			b.SetLimit(1000)
			b.SetLending(true) // each has a goroutine
			for {
				if err := rows.Next(&b); err == io.EOF {
					return
				} else if err != nil {
					t.Errorf("reader %d: %v", i, err)
					return
				}
				mu.Lock()
				texts = append(texts, textsOf(&b)...)
				mu.Unlock()
			}
		})
	}
	reading.Wait()
	slices.Sort(texts)
	return texts
}

// readInTurn reads all rows in one goroutine, a batch of each reader in turn.
func readInTurn(t *testing.T, all []source.Rows, between func()) (texts []string) {
	t.Helper()
	left := slices.Clone(all)
	for len(left) > 0 {
		left = slices.DeleteFunc(left, func(rows source.Rows) bool {
			between()
			var b source.Batch
			b.SetLimit(1000)
			err := rows.Next(&b)
			if err != nil && err != io.EOF {
				t.Fatal(err)
			}
			texts = append(texts, textsOf(&b)...)
			return err == io.EOF
		})
	}
	slices.Sort(texts)
	return texts
}

func textsOf(b *source.Batch) (texts []string) {
	for row := range b.Rows() {
		var values []string
		for column := range b.Columns() {
			_, value := b.Value(row, column)
			values = append(values, string(value))
		}
		texts = append(texts, strings.Join(values, "|"))
	}
	return texts
}

// TestDivideRowids divides tables whose rowids are far apart, at the ends of what is possible, or hidden.
func TestDivideRowids(t *testing.T) {
	read.SetConnections(t, 3)
	numbers := func(from, to int) string {
		return fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", from, to)
	}
	for _, test := range []struct {
		name, table string
		fill        []string
	}{
		{"Dense", "(i INTEGER PRIMARY KEY, b)", []string{numbers(1, 9000) + "SELECT i, 'x' FROM n"}},
		{"Negative", "(i INTEGER PRIMARY KEY, b)", []string{numbers(-5000, 3000) + "SELECT i, 'x' FROM n"}},
		{"Alias", "(k INTEGER PRIMARY KEY, rowid)", []string{numbers(1, 3000) + "SELECT i, -i FROM n"}},
		{"Hidden", "(rowid TEXT, _rowid_)", []string{numbers(1, 3000) + "SELECT i, -i FROM n"}},
		{"Descending", "(i INTEGER PRIMARY KEY DESC, b)", []string{numbers(1, 3000) + "SELECT i, 'x' FROM n"}},
		{"Ends", "(i INTEGER PRIMARY KEY)", []string{
			"VALUES (-9223372036854775808), (-9223372036854775807), (-1), (0), (1), (9223372036854775806)," +
				" (9223372036854775807)",
		}},
		{"Apart", "(i INTEGER PRIMARY KEY, b)", []string{
			numbers(1, 3000) + "SELECT i, 'x' FROM n", numbers(1, 3000) + "SELECT (1 << 62) + i, 'y' FROM n",
			"VALUES (-9223372036854775808, 'z')",
		}},
		{"Deleted", "(i INTEGER PRIMARY KEY, b)", []string{
			numbers(1, 20000) + "SELECT i, 'x' FROM n WHERE i NOT BETWEEN 300 AND 19000 OR i = 12345",
		}},
		{"Generated", "(i INTEGER PRIMARY KEY, b, g AS (b || i), s AS (i * 2) STORED)", []string{
			numbers(1, 3000) + "SELECT i, 'x' FROM n",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path, writer := newDatabase(t, "CREATE TABLE t "+test.table)
			for _, values := range test.fill {
				columns := "t"
				if test.name == "Generated" {
					columns = "t (i, b)"
				}
				execute(t, writer, "INSERT INTO "+columns+" "+values)
			}
			db := open(t, path)
			rows, err := db.Table(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			want := readShared(t, []source.Rows{rows})
			if got := readShared(t, divide(t, db, "t", source.Selection{})); !slices.Equal(got, want) {
				t.Errorf("three readers have %d rows, and one has %d", len(got), len(want))
			}
			if got := readInTurn(t, divide(t, db, "t", source.Selection{}), func() {}); !slices.Equal(got, want) {
				t.Errorf("three readers in turn have %d rows, and one has %d", len(got), len(want))
			}
		})
	}
}

// TestDivideSelections divides what a condition selects, unless an index finds it.
func TestDivideSelections(t *testing.T) {
	read.SetConnections(t, 3)
	path, _ := newDatabase(t, "CREATE TABLE t (a INTEGER PRIMARY KEY, b)", fillTable, "CREATE INDEX i ON t (b)",
		"CREATE TABLE w (a PRIMARY KEY) WITHOUT ROWID", "CREATE VIEW v AS SELECT * FROM t",
		"CREATE TABLE empty (a)")
	db := open(t, path)
	got := readShared(t, divide(t, db, "t", source.Selection{
		Columns: []string{"a"}, Where: "a % 4000 = 7 AND length(b) = (SELECT max(length(b)) FROM t) -- all",
	}))
	if want := []string{"12007", "16007", "4007", "7", "8007"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	for _, test := range []struct {
		table     string
		selection source.Selection
		want      string
	}{
		{"t", source.Selection{Where: "b = 'x'"}, "an index finds its rows"},
		{"t", source.Selection{Where: "a = 5 OR a = 3"}, "an index finds its rows"},
		{"t", source.Selection{Limit: 5}, "a limit counts the rows of all readers"},
		{"w", source.Selection{}, "it has no rowid"},
		{"v", source.Selection{}, "it has no rowid"},
	} {
		if got := refusal(t, db, test.table, test.selection); got != test.want {
			t.Errorf("%s %+v: %q, want %q", test.table, test.selection, got, test.want)
		}
	}
	if readers := divide(t, db, "empty", source.Selection{}); len(readers) != 1 {
		t.Errorf("%d readers share no rows", len(readers))
	}
}

// TestDivideUntold finds values in any range whose types the text does not tell.
func TestDivideUntold(t *testing.T) {
	read.SetConnections(t, 3)
	path, _ := newDatabase(t, "CREATE TABLE t (a INTEGER, b TEXT, c)", fillTable3,
		"UPDATE t SET b = x'00' WHERE rowid = 15000", "UPDATE t SET a = 'one' WHERE rowid = 3")
	rows := divide(t, open(t, path), "t", source.Selection{})
	readInTurn(t, rows, func() {})
	if got := rows[0].(source.Untold).Untold(false); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("the types are lost of %q", got)
	}
}

const fillTable3 = "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)" +
	" SELECT i, hex(zeroblob(20)), i FROM n"

// TestDivideBesideWriters writes between the beginnings of the connections, and between batches. All that is read must
// be of one state, also if no moment without a writer is found. Then one connection reads.
func TestDivideBesideWriters(t *testing.T) {
	for _, test := range []struct {
		mode    string
		writes  int // while connections begin
		readers int
	}{
		{"DELETE", 1 << 30, 3}, {"TRUNCATE", 1, 3}, {"WAL", 0, 3}, {"WAL", 1, 3}, {"WAL", 5, 3}, {"WAL", 1 << 30, 1},
	} {
		t.Run(fmt.Sprintf("%s/%d", test.mode, test.writes), func(t *testing.T) {
			read.SetConnections(t, 3)
			path, writer := newDatabase(t, "PRAGMA journal_mode = "+test.mode, "CREATE TABLE t (a, b)",
				"INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000)"+
					" SELECT i, 0 FROM n")
			write := func() {
				err := writer.Exec("BEGIN; UPDATE t SET b = b + 1;" +
					"INSERT INTO t SELECT max(a) + 1, max(b) FROM t; COMMIT; PRAGMA wal_checkpoint(RESTART)")
				if test.mode != "WAL" && errors.Is(err, sqlite3.BUSY) {
					execute(t, writer, "ROLLBACK")
				} else if err != nil {
					t.Errorf("writing: %v", err)
				}
			}
			left := test.writes
			read.SetBetweenBegins(t, func() {
				if left > 0 {
					left--
					write()
				}
			})
			db := open(t, path)
			rows, err := db.Table(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			all, err := rows.(source.Divider).Divide(3)
			if reason, is := errors.AsType[*source.IndivisibleError](err); test.readers == 1 && is {
				t.Log(reason)
				all = []source.Rows{rows}
			} else if err != nil {
				t.Fatal(err)
			}
			if len(all) != test.readers {
				t.Errorf("%d readers, want %d", len(all), test.readers)
			}
			texts := readInTurn(t, all, write)
			_, state, _ := strings.Cut(texts[0], "|")
			for _, text := range texts {
				if !strings.HasSuffix(text, "|"+state) {
					t.Fatalf("of one state is %s, of another one %s", texts[0], text)
				}
			}
			if want := fmt.Sprint(len(texts) - 2000); state != want {
				t.Errorf("after %s changes there are %d rows", state, len(texts))
			}
		})
	}
}

// TestDivideLargeValues has values that only one connection may read, at the beginning, at the end, and among others.
func TestDivideLargeValues(t *testing.T) {
	read.SetConnections(t, 3)
	for _, large := range []string{"0", "i = 1", "i = 1500", "i % 100 = 7", "i > 1400", "1"} {
		path, _ := newDatabase(t, "CREATE TABLE t (i INTEGER PRIMARY KEY, b)", "INSERT INTO t WITH RECURSIVE n(i) AS"+
			" (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1500) SELECT i, zeroblob(CASE WHEN "+large+
			" THEN 300000 ELSE 10 END) FROM n WHERE i % 10 = 0 OR i < 3 OR NOT ("+large+") OR i > 1490")
		db := open(t, path)
		selection := source.Selection{Where: "length(b) > 0"}
		rows, err := db.Select(t.Context(), "t", source.Selection{Columns: []string{"i"}})
		if err != nil {
			t.Fatal(err)
		}
		want := readShared(t, []source.Rows{rows})
		for _, selection.Columns = range [][]string{{"i"}, {"i", "b"}} {
			for name, read := range map[string]func([]source.Rows) []string{
				"together": func(all []source.Rows) []string { return readShared(t, all) },
				"in turn":  func(all []source.Rows) []string { return readInTurn(t, all, func() {}) },
			} {
				got := read(divide(t, db, "t", selection))
				for i, text := range got {
					got[i], _, _ = strings.Cut(text, "|")
				}
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("large if %s, %s: %d rows, want %d", large, name, len(got), len(want))
				}
			}
		}
	}
}

// TestDivideLost ends the transaction of another connection, as an error of the disk would. It reads no more then.
func TestDivideLost(t *testing.T) {
	read.SetConnections(t, 3)
	path, _ := newDatabase(t, "CREATE TABLE t (a, b)", fillTable)
	db := open(t, path)
	if all := divide(t, db, "t", source.Selection{}); len(all) != 3 || len(readInTurn(t, all, func() {})) != 20_000 {
		t.Fatalf("%d readers", len(all))
	}
	read.EndOther(t, db)
	if all := divide(t, db, "t", source.Selection{}); len(all) != 2 || len(readInTurn(t, all, func() {})) != 20_000 {
		t.Errorf("%d readers, after one of 3 was lost", len(all))
	}
}

// TestDivideOtherFile moves another file to the name of an open one. Further connections would open that.
func TestDivideOtherFile(t *testing.T) {
	read.SetConnections(t, 3)
	path, _ := newDatabase(t, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1), (2), (3)")
	other, _ := newDatabase(t, "CREATE TABLE t (a)", "INSERT INTO t VALUES (4), (5), (6)")
	db := open(t, path)
	if err := os.Rename(path, filepath.Join(t.TempDir(), "moved.db")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if got, want := refusal(t, db, "t", source.Selection{}), "another file has its name now"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	expectRows(t, db, "t", "1", "2", "3")
}
