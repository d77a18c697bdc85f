package load_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culvert/convert"
	"culvert/export"
	"culvert/format"
	"culvert/format/arrow"
	"culvert/format/arrow/arrowread"
	"culvert/format/parquet"
	"culvert/format/parquet/parquetread"
	"culvert/load"
	"culvert/sink"
	"culvert/source"
)

// rawGoods are rows of a table without constraints, some of which goodsTable refuses, in their order.
const rawGoods = `INSERT INTO raw VALUES (1, 'a', 15, 7), (1, 'again', 1, 1), (2, 'two, parts', 2, NULL),
	(5, 'b', 0, 1), (3, '', NULL, 99), (6, 'f', 1, 100), (7, 'too long for twenty characters', 1, 1), (-8, 'x', 1, 1),
	(4, 'd', 3, 0), (2, 'c', 9, 9)`

var (
	rawTaken   = []string{"1,a,15,7\n", "2,\"two, parts\",2,\n", "3,\"\",,99\n", "4,d,3,0\n"}
	rawRefused = []string{
		"1,again,1,1\n", "5,b,0,1\n", "6,f,1,100\n", "7,too long for twenty characters,1,1\n", "-8,x,1,1\n",
		"2,c,9,9\n",
	}
	rawNumbers = []int{2, 4, 6, 7, 8, 10}
)

// rawIn makes the table raw, in a database that becomes a source.
func rawIn(t *testing.T, s side) source.Source {
	t.Helper()
	for _, sql := range []string{
		"CREATE TABLE raw (id int, title varchar(100), price int, n int)", rawGoods,
	} {
		if err := s.try(sql); err != nil {
			t.Fatal(err)
		}
	}
	return s.open()
}

// takesGoods compares what became of rawGoods.
func takesGoods(t *testing.T, s side, stats load.Stats, err error, file string) {
	t.Helper()
	if err != nil || stats.Rows != int64(len(rawTaken)) || stats.Rejected != int64(len(rawRefused)) {
		t.Fatalf("%+v, %v", stats, err)
	}
	src := s.open()
	got := csvOf(t, src, "goods")
	closing(t, src)
	if slices.Sort(got); !slices.Equal(got, rawTaken) {
		t.Errorf("the table has %q", got)
	}
	numbers, texts := readRejects(t, file, "id,title,price,n\n")
	if !slices.Equal(numbers, rawNumbers) || !slices.Equal(texts, rawRefused) {
		t.Errorf("the rows %d are rejected: %q", numbers, texts)
	}
}

// TestRejectsCopy copies rows between all databases, of which some are refused.
func TestRejectsCopy(t *testing.T) {
	for from, open := range sides {
		src := rawIn(t, open(t))
		for to, open := range sides {
			t.Run(from+"/"+to, func(t *testing.T) {
				s, at := open(t), t.TempDir()
				if err := s.try("CREATE TABLE goods " + goodsTable); err != nil {
					t.Fatal(err)
				}
				plan := load.Plan{Rejects: rejectsIn(t, at), ReadBack: true, Loaders: 3, Jobs: 2}
				stats, err := plan.Copy(t.Context(), s.dst, src, "raw", "goods")
				takesGoods(t, s, stats, err, filepath.Join(at, "raw"))
			})
		}
	}
}

// TestRejectsColumns loads files of columns, of an export and alone, of which some rows are refused.
func TestRejectsColumns(t *testing.T) {
	src := rawIn(t, sqliteSide(t))
	formats := map[string]struct {
		write format.Format
		read  format.Columnar
	}{"parquet": {parquet.Format{}, parquetread.Format{}}, "arrow": {arrow.Format{}, arrowread.Format{}}}
	for name, f := range formats {
		from := newBackupOf(t, src, export.Plan{Format: f.write, Compression: export.None, Unencrypted: true}, 0, "raw")
		part := from.Manifest.Tables[0].Parts[0].File
		data, err := os.ReadFile(filepath.Join(from.path, part))
		if err != nil {
			t.Fatal(err)
		}
		file, err := f.read.Open(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for to, open := range sides {
			t.Run(name+"/"+to, func(t *testing.T) {
				s, at := open(t), t.TempDir()
				if err := s.try("CREATE TABLE goods " + goodsTable); err != nil {
					t.Fatal(err)
				}
				plan := load.Plan{
					Rejects: rejectsIn(t, at), ReadBack: true, Loaders: 3,
					Columnar: map[string]format.Columnar{name: f.read},
				}
				stats, err := plan.File(t.Context(), s.dst, file, "x", "goods")
				takesGoods(t, s, stats, err, filepath.Join(at, "x"))
				for _, ledger := range []*sink.Ledger{nil, {Table: "loads", Load: "one"}} {
					if err := s.try("DELETE FROM goods"); err != nil {
						t.Fatal(err)
					}
					plan.ReadBack, plan.Filling.Ledger, plan.Filling.EachPart = ledger == nil, ledger, ledger != nil
					all, err := plan.Directory(t.Context(), s.dst, from.Directory, map[string]string{"raw": "goods"})
					if err != nil {
						t.Fatal(err)
					}
					takesGoods(t, s, all[0], nil, filepath.Join(at, part))
				}
				all, err := plan.Directory(t.Context(), s.dst, from.Directory, map[string]string{"raw": "goods"})
				if err != nil || all[0].Rejected != int64(len(rawRefused)) || all[0].Skipped != 1 {
					t.Errorf("again: %+v, %v", all, err)
				}
			})
		}
	}
}

// TestRejectsCopyTables copies tables that refer to each other and to themselves, with masks and conversions. Values
// that are rejected are masked, and not converted.
func TestRejectsCopyTables(t *testing.T) {
	path, _ := newSQLite(t)
	execSQLite(t, path, `CREATE TABLE children (id INTEGER, parent INTEGER, elder INTEGER, name TEXT, at);
		CREATE TABLE parents (id INTEGER);
		INSERT INTO children VALUES (1, 10, 3, 'Ann', 0), (2, 11, NULL, 'Bob', 0), (3, 12, NULL, 'Cem', 60),
			(3, 10, NULL, 'Dan', 0), (4, 10, 9, 'Eve', 0), (5, 10, NULL, 'Fay', 'now');
		INSERT INTO parents VALUES (10), (12), (10)`)
	src := openSQLite(t, path)
	masks := maskRules(t, map[string]string{"children.name": "hash"})
	epoch, err := convert.Parse("at", "epoch seconds")
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range sides {
		if name != "PostgreSQL" { // the others do not check keys of rows within a table, or not when they are loaded
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, at := open(t), t.TempDir()
			for _, sql := range []string{
				"CREATE TABLE parents (id int PRIMARY KEY)",
				"CREATE TABLE children (id int PRIMARY KEY, parent int REFERENCES parents, " +
					"elder int REFERENCES children, name text, at timestamp)",
			} {
				if err := s.try(sql); err != nil {
					t.Fatal(err)
				}
			}
			plan := load.Plan{
				Rejects: rejectsIn(t, at), ReadBack: true, Masks: masks, Conversions: []convert.Conversion{epoch},
			}
			all, err := plan.CopyTables(t.Context(), s.dst, src, []load.Names{
				{From: "children", To: "children"}, {From: "parents", To: "parents"},
			})
			if err != nil || all[0].Rejected != 4 || all[1].Rejected != 1 || all[0].Rows != 2 {
				t.Fatalf("%+v, %v", all, err)
			}
			numbers, texts := readRejects(t, filepath.Join(at, "children"), "id,parent,elder,name,at\n")
			if !slices.Equal(slices.Sorted(slices.Values(numbers)), []int{2, 4, 5, 6}) {
				t.Errorf("the rows %d are rejected", numbers)
			}
			for _, text := range texts {
				if fields := strings.Split(text, ","); len(fields) != 5 || len(fields[3]) < 10 {
					t.Errorf("%q is rejected", text)
				}
			}
			if !slices.ContainsFunc(texts, func(text string) bool { return strings.HasSuffix(text, ",now\n") }) {
				t.Errorf("%q are rejected", texts)
			}
		})
	}
}

// TestRejectsCopyKinds copies values whose kinds are not those of their columns around a row that is refused.
func TestRejectsCopyKinds(t *testing.T) {
	path, _ := newSQLite(t)
	execSQLite(t, path, `CREATE TABLE raw (id INTEGER, value);
		INSERT INTO raw VALUES (1, 1), (2, '1'), (2, x'31'), (3, x'00ff'), (4, '\x00ff'), (5, NULL), (6, '')`)
	to, dst := newSQLite(t)
	execSQLite(t, to, "CREATE TABLE kinds (id INTEGER PRIMARY KEY, value)")
	at := t.TempDir()
	plan := load.Plan{Rejects: rejectsIn(t, at), ReadBack: true}
	stats, err := plan.Copy(t.Context(), dst, openSQLite(t, path), "raw", "kinds")
	if err != nil || stats.Rejected != 1 {
		t.Fatalf("%+v, %v", stats, err)
	}
	execSQLite(t, to, "CREATE TABLE seen AS SELECT id, typeof(value) || ' ' || quote(value) AS kind FROM kinds")
	want := []string{
		"1,integer 1\n", "2,text '1'\n", "3,blob X'00FF'\n", "4,text '\\x00ff'\n", "5,null NULL\n", "6,text ''\n",
	}
	if got := csvOf(t, openSQLite(t, to), "seen"); !slices.Equal(got, want) {
		t.Errorf("the table has %q", got)
	}
	if _, texts := readRejects(t, filepath.Join(at, "raw"), "id,value\n"); !slices.Equal(texts, []string{"2,\\x31\n"}) {
		t.Errorf("%q are rejected", texts)
	}
}

// TestRejectsOfFailed has a table fail after a part with rejected rows was committed: its figures have these.
func TestRejectsOfFailed(t *testing.T) {
	src := rawIn(t, sqliteSide(t))
	from := newBackupOf(t, src, export.Plan{Unencrypted: true}, 60, "raw")
	parts := from.Manifest.Tables[0].Parts
	last := filepath.Join(from.path, parts[len(parts)-1].File)
	if err := os.Truncate(last, 10); err != nil {
		t.Fatal(err)
	}
	for name, open := range sides {
		t.Run(name, func(t *testing.T) {
			s, at := open(t), t.TempDir()
			if err := s.try("CREATE TABLE goods " + goodsTable); err != nil {
				t.Fatal(err)
			}
			plan := load.Plan{
				Rejects: rejectsIn(t, at),
				Filling: sink.Filling{Ledger: &sink.Ledger{Table: "loads", Load: "one"}, EachPart: true},
			}
			all, err := plan.Directory(t.Context(), s.dst, from.Directory, map[string]string{"raw": "goods"})
			if !errors.Is(err, export.ErrDamaged) || len(all) != 1 {
				t.Fatalf("%+v, %v", all, err)
			}
			rejected := 0
			for _, part := range parts {
				numbers, _ := readRejects(t, filepath.Join(at, part.File), "id,title,price,n\n")
				rejected += len(numbers)
			}
			if rejected == 0 || all[0].Rejected != int64(rejected) {
				t.Errorf("the figures have %d rejected rows, the files %d", all[0].Rejected, rejected)
			}
		})
	}
}
