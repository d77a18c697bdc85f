package read_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"culvert/internal/testkit"
	"culvert/source"
	"culvert/sqlite/internal/read"
)

const fillTable = "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000)" +
	" SELECT i, hex(zeroblob(100)) FROM n"

// TestOneMoment writes while rows are read, and between tables: what is read must be what was there at first, until the
// database is closed.
func TestOneMoment(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		t.Run(mode, func(t *testing.T) {
			path, writer := newDatabase(t, "PRAGMA journal_mode = "+mode, "CREATE TABLE t (a, b)", fillTable)
			db := open(t, path)
			rows, err := db.Table(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			err = writer.Exec("UPDATE t SET b = 'changed'; INSERT INTO t VALUES (0, 'new')")
			switch {
			case mode == "WAL" && err != nil:
				t.Errorf("a writer in WAL mode: %v", err)
			case mode == "DELETE" && !errors.Is(err, sqlite3.BUSY):
				t.Errorf("a writer beside open rows: %v, want %v", err, sqlite3.BUSY)
			}
			count := 0
			err = readAll(rows, func(b *source.Batch) {
				for row := range b.Rows() {
					if _, value := b.Value(row, 1); len(value) != 200 {
						t.Fatalf("row %d was changed while it was read", count)
					}
					count++
				}
			})
			if err != nil || count != 20_000 {
				t.Errorf("read %d rows and the error %v, want 20000 rows", count, err)
			}
			err = writer.Exec("CREATE TABLE later (a)")
			switch {
			case mode == "WAL" && err != nil:
				t.Errorf("a writer in WAL mode, between tables: %v", err)
			case mode == "DELETE" && !errors.Is(err, sqlite3.BUSY):
				t.Errorf("a writer between tables: %v, want %v", err, sqlite3.BUSY)
			}
			again, err := db.Query(t.Context(), "SELECT count(*), min(length(b)) FROM t")
			if err != nil {
				t.Fatal(err)
			}
			expectText(t, again, "20000|200")
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			execute(t, writer, "DELETE FROM t", "INSERT INTO t VALUES (0, 'new')")
			expectRows(t, open(t, path), "t", "0|new")
		})
	}
}

func TestLocked(t *testing.T) {
	path, writer := newDatabase(t, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)",
		"BEGIN EXCLUSIVE", "INSERT INTO t VALUES (2)")
	db := open(t, path)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := db.Table(ctx, "t"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Table of a locked database: %v, want context.DeadlineExceeded", err)
	}

	unlocked := make(chan error)
	go func() { unlocked <- writer.Exec("COMMIT") }()
	expectRows(t, db, "t", "1", "2")
	if err := <-unlocked; err != nil {
		t.Error(err)
	}
}

// TestLockedByOther locks the database by the C library in a process of its own.
func TestLockedByOther(t *testing.T) {
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		testkit.Missing(t, "the sqlite3 shell", "apt-get install sqlite3")
	}
	path, _ := newDatabase(t, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
	cmd := exec.Command(shell, path)
	in, out := testkit.StartPiped(t, cmd)
	if _, err := io.WriteString(in, "BEGIN EXCLUSIVE; INSERT INTO t VALUES (2); SELECT 'locked';\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("locked\n"))); err != nil {
		t.Fatal(err)
	}
	db := open(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := db.Table(ctx, "t"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Table of a locked database: %v, want context.DeadlineExceeded", err)
	}
	if _, err := io.WriteString(in, "COMMIT;\n"); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	expectRows(t, db, "t", "1", "2")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestUnfinishedWrite opens what a crash leaves behind: pages of a transaction, and the journal to take them back. A
// reader may not do that, and must not read the pages either.
func TestUnfinishedWrite(t *testing.T) {
	path, writer := newDatabase(t, "CREATE TABLE t (a, b)", fillTable,
		"PRAGMA cache_size = 5", "BEGIN", "UPDATE t SET b = 'unfinished'")
	crashed := filepath.Join(t.TempDir(), "crashed.db")
	for _, suffix := range []string{"", "-journal"} {
		copyFile(t, path+suffix, crashed+suffix)
	}
	execute(t, writer, "ROLLBACK")
	db, err := read.Open(crashed)
	if err == nil {
		closing(t, db)
	}
	if !errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), "write access") {
		t.Errorf("Open of a database with an unfinished write: %v, want source.ErrUnavailable and what to do", err)
	}
}

func TestTruncated(t *testing.T) {
	path, _ := newDatabase(t, "CREATE TABLE t (a, b)", fillTable)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{info.Size() - 4096, info.Size() / 2, 10_000, 4096, 1000, 50, 1} {
		cut := filepath.Join(t.TempDir(), "cut.db")
		copyFile(t, path, cut)
		if err := os.Truncate(cut, size); err != nil {
			t.Fatal(err)
		}
		if err := readTable(cut); err == nil {
			t.Errorf("the file cut to %d of %d bytes was read to an end", size, info.Size())
		}
	}
}

// TestDamagedPage damages a file that is open, so that it does not show before it is read.
func TestDamagedPage(t *testing.T) {
	path, _ := newDatabase(t, "CREATE TABLE t (a, b)", fillTable)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		at, end int
	}{
		{"header", 0, 100},
		{"rows", len(data) / 2, len(data)/2 + 8192},
	} {
		db := open(t, path)
		damaged := bytes.Clone(data)
		copy(damaged[test.at:test.end], bytes.Repeat([]byte{0xff}, test.end-test.at))
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		rows, err := db.Table(t.Context(), "t")
		if err == nil {
			err = readAll(rows, func(*source.Batch) {})
		}
		if !errors.Is(err, source.ErrCorrupt) || errors.Is(err, source.ErrUnavailable) {
			t.Errorf("%s: %v, want source.ErrCorrupt", test.name, err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func readTable(path string) error {
	db, err := read.Open(path)
	if err != nil {
		return err
	}
	rows, err := db.Table(context.Background(), "t")
	if err == nil {
		err = readAll(rows, func(*source.Batch) {})
	}
	return errors.Join(err, db.Close())
}

// FuzzDamaged reads databases with bytes changed. Damage that SQLite cannot see gives other rows; what must not happen
// is a panic, a loop, or an error that does not name the file.
func FuzzDamaged(f *testing.F) {
	path := filepath.Join(f.TempDir(), "sound.db")
	conn, err := sqlite3.Open(path)
	if err == nil {
		err = conn.Exec("PRAGMA page_size = 512; CREATE TABLE t (a, b, c); CREATE INDEX i ON t (b);" +
			" INSERT INTO t VALUES (1, 'one', x'01'), (2, NULL, 2.5), (3, zeroblob(2000), 'long');" +
			" CREATE TABLE w (k PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO w SELECT b, c FROM t WHERE b IS NOT NULL;" +
			" CREATE VIEW v AS SELECT a, count(*) FROM t WHERE b > '' GROUP BY a ORDER BY 2")
	}
	if err := errors.Join(err, conn.Close()); err != nil {
		f.Fatal(err)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint16(0), []byte(nil), uint16(len(sound)))
	for at := 0; at < len(sound); at += 512 {
		f.Add(uint16(at), []byte{0xff, 0x7f, 0xff}, uint16(len(sound)))
		f.Add(uint16(at+100), []byte{0xff, 0xff, 0xff, 0xff, 0xff}, uint16(len(sound)))
		f.Add(uint16(at+504), bytes.Repeat([]byte{0x81}, 8), uint16(at+512))
	}
	damaged := filepath.Join(f.TempDir(), "damaged.db")
	f.Fuzz(func(t *testing.T, at uint16, patch []byte, size uint16) {
		data := bytes.Clone(sound)
		copy(data[min(int(at), len(data)):], patch)
		if err := os.WriteFile(damaged, data[:min(int(size), len(data))], 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := read.Open(damaged)
		if err != nil {
			if !errors.Is(err, source.ErrUnavailable) {
				t.Errorf("Open: %v, want source.ErrUnavailable", err)
			}
			return
		}
		defer closing(t, db)
		for _, table := range []string{"t", "w", "v"} {
			rows, err := db.Table(t.Context(), table)
			if err == nil {
				err = readAll(rows, func(*source.Batch) {})
			}
			if _, unknown := errors.AsType[*source.UnknownError](err); unknown {
				continue
			}
			if err != nil && !strings.Contains(err.Error(), damaged) {
				t.Errorf("table %s: the error %q does not name the file", table, err)
			}
		}
	})
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
