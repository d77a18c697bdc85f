package read

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"culvert/source"
	"culvert/sqlite/internal/valuetext"
)

// TestBusyTimeout waits for a lock no longer than it is told.
func TestBusyTimeout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locked.db")
	newWriter(t, path, "CREATE TABLE t (a); BEGIN EXCLUSIVE")
	db := &DB{path: path}
	if err := db.connect(1 << 24); err != nil {
		t.Fatal(err)
	}
	defer closing(t, db)
	if err := db.conn.BusyTimeout(time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Table(t.Context(), "t"); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("Table of a locked database: %v, want source.ErrUnavailable", err)
	}
}

// TestEndOfTransaction ends the transaction as an error of the disk would. What is read then would be of another
// moment.
func TestEndOfTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ended.db")
	newWriter(t, path, "CREATE TABLE t (a)")
	db := &DB{path: path}
	if err := db.connect(1 << 24); err != nil {
		t.Fatal(err)
	}
	defer closing(t, db)
	for range 2 {
		rows, err := db.Table(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		closing(t, rows)
	}
	if err := db.conn.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := db.Table(t.Context(), "t"); !errors.Is(err, source.ErrUnavailable) {
			t.Errorf("Table after the end of the transaction: %v, want source.ErrUnavailable", err)
		}
	}
	if tables, err := db.Tables(t.Context(), ""); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("Tables after the end of the transaction: %q, %v, want source.ErrUnavailable", tables, err)
	}
}

// TestOutOfMemory reads a value that is larger than the address space.
func TestOutOfMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.db")
	newWriter(t, path, "CREATE TABLE t (a); INSERT INTO t VALUES (1), (zeroblob(40000000))")
	db := &DB{path: path}
	if err := db.connect(16 << 20); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Table(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	var b source.Batch
	for err == nil {
		err = rows.Next(&b)
	}
	if !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("Next: %v, want that there is no memory", err)
	}
	if again := rows.Next(&b); again != err {
		t.Errorf("Next again: %v, want the same error", again)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	if _, err := db.Table(t.Context(), "t"); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("Table afterwards: %v, want source.ErrUnavailable", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestReals compares the text of reals with what SQLite prints: the layout is the same, the digits are as few or fewer.
func TestReals(t *testing.T) {
	conn := newWriter(t, filepath.Join(t.TempDir(), "reals.db"), "")
	stmt, _, err := conn.Prepare("SELECT ?")
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, stmt)
	random := rand.New(rand.NewPCG(1, 2))
	var b source.Batch
	for i := range 200_000 {
		v := math.Float64frombits(random.Uint64())
		switch i % 3 {
		case 1:
			v = float64(random.IntN(1e9)) / 100
		case 2:
			v = math.Pow10(random.IntN(40)-20) * float64(random.IntN(1000))
		}
		if v != v || math.IsInf(v, 0) {
			continue
		}
		if err := stmt.BindFloat(1, v); err != nil {
			t.Fatal(err)
		}
		if !stmt.Step() {
			t.Fatal(stmt.Err())
		}
		want := stmt.ColumnText(0)
		b.Reset(1)
		if err := valuetext.Append(&b, stmt, 1); err != nil {
			t.Fatal(err)
		}
		b.EndRow()
		_, got := b.Value(0, 0)
		if err := stmt.Reset(); err != nil {
			t.Fatal(err)
		}
		if back, err := strconv.ParseFloat(string(got), 64); err != nil || back != v {
			t.Fatalf("%v is printed as %s, which reads as %v", v, got, back)
		}
		mantissa, exponent, _ := strings.Cut(string(got), "e")
		wantMantissa, wantExponent, _ := strings.Cut(want, "e")
		if exponent != wantExponent || !strings.Contains(mantissa, ".") || len(mantissa) > len(wantMantissa) {
			t.Fatalf("%v is printed as %s, SQLite prints %s", v, got, want)
		}
	}
}

func newWriter(t *testing.T, path, sql string) *sqlite3.Conn {
	t.Helper()
	conn, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, conn) })
	if err := conn.Exec(sql); err != nil {
		t.Fatal(err)
	}
	return conn
}

func closing(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
