package fill_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/sink"
	"culvert/sqlite/internal/fill"
)

// number returns what a query counts.
func number(t *testing.T, path, sql string) int {
	t.Helper()
	conn := connect(t, path)
	stmt, _, err := conn.Prepare(sql)
	if err != nil {
		t.Fatal(err)
	}
	stmt.Step()
	n := stmt.ColumnInt(0)
	if err := errors.Join(stmt.Close(), conn.Close()); err != nil {
		t.Fatal(err)
	}
	return n
}

// parts are how a table is filled whose parts are committed one by one.
func parts(load string) sink.Filling {
	return sink.Filling{Ledger: &sink.Ledger{Table: "ledger", Load: load}, EachPart: true}
}

// expectParts compares the rows of the table t with those of the ledger.
func expectParts(t *testing.T, path string) (rows int) {
	t.Helper()
	rows = number(t, path, "SELECT count(*) FROM t")
	if number(t, path, "SELECT count(*) FROM sqlite_schema WHERE name = 'ledger'") == 0 {
		if rows > 0 {
			t.Errorf("the table has %d rows, and there is no ledger", rows)
		}
	} else if want := number(t, path, "SELECT ifnull(sum(row_count), 0) FROM ledger"); rows != want {
		t.Errorf("the table has %d rows, and the ledger %d", rows, want)
	}
	return rows
}

// TestFull has no room for all rows. The table has no constraints: SQLite then undoes the whole transaction, and there
// is room again.
func TestFull(t *testing.T) {
	rows := batch(t, numberAndText, strings.Repeat("1,"+strings.Repeat("x", 300)+"\n", 200))
	most := 0
	for pages := 10; pages < 90; pages += 13 {
		for _, f := range []sink.Filling{{}, parts("one")} {
			path := newFile(t, "CREATE TABLE t (a INT, b TEXT)")
			db := open(t, path)
			fill.Exec(t, db, fmt.Sprintf("PRAGMA max_page_count = %d", pages))
			load := func() error {
				table, err := db.Table(context.Background(), "t", f)
				if err != nil {
					return err
				}
				loader := table.Loaders()[0]
				for part := len(table.Loaded()); err == nil && part < 10; part++ {
					if err = loader.Load(rows); err == nil {
						err = loader.EndPart(sink.Part{Name: strconv.Itoa(part), Rows: int64(rows.Rows())})
					}
				}
				_, closeErr := loader.Close()
				if commitErr := table.Commit(); err != nil && (closeErr == nil || commitErr == nil) {
					t.Errorf("%d pages: after an error, Close: %v, Commit: %v", pages, closeErr, commitErr)
				}
				return errors.Join(err, table.Discard())
			}
			if err := load(); !errors.Is(err, sink.ErrFull) {
				t.Errorf("%d pages: %v", pages, err)
			}
			there := expectParts(t, path)
			most = max(most, there)
			if there > 0 && f.Ledger == nil {
				t.Errorf("%d pages: %d rows remain", pages, there)
			}
			fill.Exec(t, db, "PRAGMA max_page_count = 10000")
			if err := load(); err != nil {
				t.Errorf("%d pages: again: %v", pages, err)
			}
			if n := number(t, path, "SELECT count(*) FROM t"); n != 10*rows.Rows() {
				t.Errorf("%d pages: the table has %d rows", pages, n)
			}
		}
	}
	if most == 0 {
		t.Error("no part has ever had room")
	}
}

// TestTransactionEnded has the transaction of a table end under it.
func TestTransactionEnded(t *testing.T) {
	rows := batch(t, numberAndText, "1,x\n")
	for _, end := range []func(sink.Table, sink.Loader) error{
		func(_ sink.Table, loader sink.Loader) error { return loader.EndPart(sink.Part{Name: "a", Rows: 1}) },
		func(table sink.Table, loader sink.Loader) error {
			_, err := loader.Close()
			return errors.Join(err, table.Commit())
		},
	} {
		path := newFile(t, "CREATE TABLE t (a, b)")
		db := open(t, path)
		f := parts("one")
		f.EachPart = false
		table, loader := begin(t, db, f)
		if err := loader.Load(rows); err != nil {
			t.Fatal(err)
		}
		fill.Exec(t, db, "ROLLBACK; CREATE TABLE ledger (load, table_name, part, row_count, row_sum, loaded_at)")
		if err := end(table, loader); err == nil || !strings.Contains(err.Error(), "transaction") {
			t.Errorf("a transaction that has ended: %v", err)
		}
		if err := table.Discard(); err != nil {
			t.Error(err)
		}
		expectParts(t, path)
	}
}

// TestLocked fills a table while another connection writes.
func TestLocked(t *testing.T) {
	path := newFile(t, "CREATE TABLE t (a, b)")
	other := connect(t, path)
	defer func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := other.Exec("BEGIN IMMEDIATE; INSERT INTO t VALUES (1, 2)"); err != nil {
		t.Fatal(err)
	}
	db := open(t, path)
	if _, err := db.Table(context.Background(), "t", sink.Filling{LockTimeout: 1}); !errors.Is(err, sink.ErrLocked) {
		t.Errorf("a database that is locked: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := db.Table(ctx, "t", sink.Filling{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	if err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	begin(t, db, sink.Filling{})
	if err := other.Exec("INSERT INTO t VALUES (1, 2)"); !errors.Is(err, sqlite3.BUSY) {
		t.Errorf("another writer beside the load: %v", err)
	}
	if _, err := db.Table(context.Background(), "t", sink.Filling{}); err == nil {
		t.Error("two tables are open")
	}
}

// TestCanceled ends the context while rows are loaded.
func TestCanceled(t *testing.T) {
	path := newFile(t, "CREATE TABLE t (a, b)")
	ctx, cancel := context.WithCancel(context.Background())
	table, err := open(t, path).Table(ctx, "t", sink.Filling{})
	if err != nil {
		t.Fatal(err)
	}
	loader := table.Loaders()[0]
	rows := batch(t, numberAndText, strings.Repeat("1,x\n", 1000))
	if err := loader.Load(rows); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := loader.Load(rows); !errors.Is(err, context.Canceled) {
		t.Errorf("Load: %v", err)
	}
	if err := table.Discard(); err != nil {
		t.Fatal(err)
	}
	expectRows(t, path, "")
}

// asked is a context that calls a function when it is asked whether it has ended, as before each statement.
type asked struct {
	context.Context
	call func()
}

func (c asked) Err() error {
	c.call()
	return nil
}

// TestTwoLoads has another load of the table come in between two parts of the first.
func TestTwoLoads(t *testing.T) {
	rows := batch(t, numberAndText, "1,x\n")
	part := func(name string) sink.Part { return sink.Part{Name: name, Rows: 1} }
	truncating := parts("two")
	truncating.Existing = sink.Truncate
	appending := parts("two")
	appending.Existing = sink.Append
	for name, test := range map[string]struct {
		second sink.Filling
		part   string
		busy   bool
	}{
		"the same, the same part": {parts("one"), "b", true},
		"the same, another part":  {parts("one"), "c", true},
		"another that truncates":  {truncating, "a", true},
		"another that appends":    {appending, "a", false},
	} {
		path := newFile(t, "CREATE TABLE t (a, b)")
		db := open(t, path)
		began, done := false, false
		ctx := asked{t.Context(), func() {
			if fill.InTransaction(db) || !began || done {
				began = fill.InTransaction(db)
				return
			}
			done = true
			second, other := begin(t, open(t, path), test.second)
			err := errors.Join(other.Load(rows), other.EndPart(part(test.part)))
			if _, closeErr := other.Close(); err != nil || closeErr != nil {
				t.Fatal(name, err, closeErr)
			}
			if err := second.Commit(); err != nil {
				t.Fatal(name, err)
			}
		}}
		first, err := db.Table(ctx, "t", parts("one"))
		if err != nil {
			t.Fatal(err)
		}
		loader := first.Loaders()[0]
		err = errors.Join(loader.Load(rows), loader.EndPart(part("a")))
		if err == nil {
			err = errors.Join(loader.Load(rows), loader.EndPart(part("b")))
		}
		if err == nil {
			_, err = loader.Close()
		}
		if err == nil {
			err = first.Commit()
		}
		if errors.Is(err, sink.ErrBusy) != test.busy || !test.busy && err != nil {
			t.Errorf("%s: the first ends with %v", name, err)
		}
		if err := first.Discard(); err != nil {
			t.Error(name, err)
		}
		expectParts(t, path)
	}
}

// ending is a context that has ended when it was asked a number of times.
type ending struct {
	context.Context
	left int
}

func (c *ending) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterrupted ends the context at many points of a load, also within a statement.
func TestInterrupted(t *testing.T) {
	path := newFile(t, "CREATE TABLE t (a, b)")
	rows := batch(t, numberAndText, strings.Repeat("1,x\n", 1000))
	for left := 1; ; left++ {
		db, err := fill.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		table, err := db.Table(&ending{t.Context(), left}, "t", sink.Filling{})
		if err == nil {
			loader := table.Loaders()[0]
			err = loader.Load(rows)
			if _, closeErr := loader.Close(); err == nil {
				err = closeErr
			}
			if commitErr := table.Commit(); err == nil {
				err = commitErr
			}
			err = errors.Join(err, table.Discard())
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("ended after %d questions: %v", left, err)
		}
		expectRows(t, path, "")
	}
	if n := number(t, path, "SELECT count(*) FROM t"); n != rows.Rows() {
		t.Errorf("the table has %d rows", n)
	}
}

// TestKilled kills a process with SIGKILL that has written a part of its rows to the file.
func TestKilled(t *testing.T) {
	if path := os.Getenv("CULVERT_SQLITE_CHILD"); path != "" {
		loadUntilKilled(t, path)
		return
	}
	path := newFile(t, "CREATE TABLE t (a, b); INSERT INTO t VALUES (0, 'old')")
	for _, f := range []sink.Filling{{}, parts("one")} {
		child := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		child.Env = append(os.Environ(), "CULVERT_SQLITE_CHILD="+path)
		if f.EachPart {
			child.Env = append(child.Env, "CULVERT_SQLITE_PARTS=1")
		}
		child.Stderr = os.Stderr
		input, err := child.StdinPipe() // on which the child waits
		if err != nil {
			t.Fatal(err)
		}
		output, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(output).ReadString('\n')
		if line != "written\n" {
			t.Errorf("the child says %q, %v", line, err)
		}
		journal, err := os.Stat(path + "-journal")
		if err != nil || journal.Size() == 0 {
			t.Errorf("there is no journal: %v", err)
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(child.Wait(), input.Close()); err == nil {
			t.Error("the child has ended by itself")
		}
		want := 1
		if f.EachPart {
			want += killedRows
		}
		if n := number(t, path, "SELECT count(*) FROM t"); n != want {
			t.Errorf("the table has %d rows, want %d", n, want)
		}
	}
	if n := number(t, path, "SELECT sum(row_count) FROM ledger"); n != killedRows {
		t.Errorf("the ledger has %d rows", n)
	}
}

// killedRows are more than the cache of the sink keeps from the file.
const killedRows = 20_000

func loadUntilKilled(t *testing.T, path string) {
	f := sink.Filling{}
	if os.Getenv("CULVERT_SQLITE_PARTS") != "" {
		f = parts("one")
	}
	f.Existing = sink.Append
	_, loader := begin(t, open(t, path), f)
	rows := batch(t, numberAndText, strings.Repeat("1,"+strings.Repeat("x", 1000)+"\n", killedRows))
	if err := loader.Load(rows); err != nil {
		t.Fatal(err)
	}
	if f.EachPart {
		err := loader.EndPart(sink.Part{Name: "a", Rows: killedRows})
		if err := errors.Join(err, loader.Load(rows)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stdout.WriteString("written\n"); err != nil {
		t.Fatal(err)
	}
	_, err := io.ReadAll(os.Stdin)
	t.Fatal("nobody has killed this process", err)
}
