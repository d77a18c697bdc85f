package fill_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/format"
	"culvert/internal/rowsum"
	"culvert/sink"
	"culvert/sink/sinktest"
	"culvert/source"
	"culvert/source/sourcetest"
	"culvert/sqlite/internal/fill"
	sqlitesource "culvert/sqlite/internal/read"
)

// newFile makes a database by SQL and returns its path.
func newFile(t testing.TB, sql string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	execute(t, path, sql)
	return path
}

func execute(t testing.TB, path, sql string) {
	t.Helper()
	conn := connect(t, path)
	if err := errors.Join(conn.Exec(sql), conn.Close()); err != nil {
		t.Fatal(err)
	}
}

func connect(t testing.TB, path string) *sqlite3.Conn {
	t.Helper()
	conn, err := sqlite3.OpenFlags(path, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func open(t testing.TB, path string) *fill.DB {
	t.Helper()
	db, err := fill.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// export returns a table as CSV without a header, in the order of the rowid, and its sum.
func export(t testing.TB, path, table string) (string, rowsum.Sum) {
	t.Helper()
	src, err := sqlitesource.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := src.Table(context.Background(), table)
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := format.CSV{}.Encoder(rows.Columns())
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	var sum rowsum.Adder
	var b source.Batch
	for {
		err := rows.Next(&b)
		if err == io.EOF {
			break
		}
		if err == nil {
			text, err = encoder.(format.LineEncoder).AppendLines(text, &b, 1<<30, &sum, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(rows.Close(), src.Close()); err != nil {
		t.Fatal(err)
	}
	return string(text), sum.Sum
}

// batch makes rows of CSV with fields of given kinds.
func batch(t testing.TB, kinds []source.Kind, text string) *source.Batch {
	t.Helper()
	fields := make([]format.Field, len(kinds))
	for i, kind := range kinds {
		fields[i] = format.Field{Name: fmt.Sprint(i), Kind: kind}
	}
	d, err := format.CSV{}.Decoder(fields)
	if err != nil {
		t.Fatal(err)
	}
	b := new(source.Batch)
	b.SetLimit(1 + 100*len(text)) // all rows, and no more: as much memory is cleared
	if _, err := d.Decode(b, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return b
}

var numberAndText = []source.Kind{source.Number, source.Text}

// begin begins to fill the table t.
func begin(t testing.TB, db *fill.DB, f sink.Filling) (sink.Table, sink.Loader) {
	t.Helper()
	table, err := db.Table(context.Background(), "t", f)
	if err != nil {
		t.Fatal(err)
	}
	return table, table.Loaders()[0]
}

// load fills the table t of a number and a text.
func load(t testing.TB, path string, f sink.Filling, rows string) error {
	t.Helper()
	table, loader := begin(t, open(t, path), f)
	if err := loader.Load(batch(t, numberAndText, rows)); err != nil {
		return errors.Join(err, table.Discard())
	}
	if n, err := loader.Close(); err != nil || n != int64(strings.Count(rows, "\n")) {
		t.Fatalf("%d rows, error %v", n, err)
	}
	return table.Commit()
}

func expectRows(t testing.TB, path, want string) {
	t.Helper()
	if got, _ := export(t, path, "t"); got != want {
		t.Errorf("the table has %q, want %q", got, want)
	}
}

// TestRoundTrip exports tables of all values as CSV and JSON Lines, loads them, and exports them again.
func TestRoundTrip(t *testing.T) {
	const schema = `CREATE TABLE t (
		id INTEGER PRIMARY KEY, i INT, r REAL, n NUMERIC, x TEXT, b BLOB, a, generated AS (i + 1));`
	values := []string{
		"NULL", "0", "-1", "9223372036854775807", "-9223372036854775808", "0.5", "-1e300", "1e17", "9e999", "-9e999",
		"12.0", "0.1", "3.0e-5", "'text'", "''", "'12'", "'12.50'", "'007'", "'1e5'", "'a\nb,\"c\"'", "x''", "x'00ff'",
		"'Müller 水'", "'NaN'", "123456789012345678901234567890", "0.30000000000000004", "'\\x'",
		"CAST(x'ff41' AS TEXT)", "'t'",
	}
	r := rand.New(rand.NewPCG(1, 1))
	var sql strings.Builder
	sql.WriteString(schema)
	for range 300 {
		row := []string{"NULL"}
		for range 6 {
			row = append(row, values[r.IntN(len(values))])
		}
		fmt.Fprintf(&sql, "INSERT INTO t VALUES (%s);\n", strings.Join(row, ", "))
	}
	from := newFile(t, sql.String())
	want, wantSum := export(t, from, "t")
	kinds := []source.Kind{
		source.Number, source.Number, source.Number, source.Number, source.Text, source.Bytes, source.Null,
		source.Number,
	}
	all := batch(t, kinds, want)

	to := newFile(t, schema)
	table, loader := begin(t, open(t, to), sink.Filling{})
	var half source.Batch // without the generated column
	half.Reset(7)
	for row := range all.Rows() {
		for column := range 7 {
			if kind, value := all.Value(row, column); kind == source.Null {
				half.AppendNull()
			} else {
				half.Append(kind, value)
			}
		}
		half.EndRow()
	}
	if err := loader.Load(&half); err != nil {
		t.Fatal(err)
	}
	sumRows, sum, err := loader.Sum()
	if err != nil || sumRows != 300 {
		t.Fatal(sumRows, err)
	}
	if n, err := loader.Close(); n != 300 || err != nil {
		t.Fatal(n, err)
	}
	if err := table.Commit(); err != nil {
		t.Fatal(err)
	}
	got, gotSum := export(t, to, "t")
	if got != want || gotSum != wantSum {
		for i, line := range strings.SplitAfter(want, "\n") {
			if lines := strings.SplitAfter(got, "\n"); i >= len(lines) || lines[i] != line {
				t.Fatalf("line %d differs: %q", i, line)
			}
		}
	}
	if len(table.Columns()) != 7 || sum == (sink.Sum{}) {
		t.Errorf("%d columns, sum %v", len(table.Columns()), sum)
	}
}

// TestSum compares what a loader reads back with the sum of an export.
func TestSum(t *testing.T) {
	path := newFile(t, "CREATE TABLE t (a REAL, b)")
	table, loader := begin(t, open(t, path), sink.Filling{})
	if err := loader.Load(batch(t, numberAndText, "1,x\n2.50,\n,\"a\nb\"\n1,x\n")); err != nil {
		t.Fatal(err)
	}
	rows, sum, err := loader.Sum()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := loader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := table.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, want := export(t, path, "t"); rows != 4 || sum != want {
		t.Errorf("%d rows with the sum %v, want %v", rows, sum, want)
	}
	_, loader = begin(t, open(t, path), sink.Filling{Existing: sink.Append})
	if _, _, err := loader.Sum(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the sum beside other rows: %v", err)
	}
}

func TestExistingRows(t *testing.T) {
	for existing, want := range map[sink.Existing]string{
		sink.Refuse: "", sink.Append: "1,old\n2,new\n", sink.Truncate: "2,new\n", sink.Swap: "2,new\n",
	} {
		path := newFile(t, "CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'old')")
		if existing == sink.Refuse {
			_, err := open(t, path).Table(context.Background(), "t", sink.Filling{})
			if !errors.Is(err, sink.ErrNotEmpty) {
				t.Errorf("a table that is not empty: %v", err)
			}
			expectRows(t, path, "1,old\n")
			continue
		}
		if err := load(t, path, sink.Filling{Existing: existing}, "2,new\n"); err != nil {
			t.Fatal(err)
		}
		expectRows(t, path, want)
		db := open(t, path)
		table, loader := begin(t, db, sink.Filling{Existing: existing})
		if err := errors.Join(loader.Load(batch(t, numberAndText, "3,x\n")), table.Discard()); err != nil {
			t.Fatal(err)
		}
		expectRows(t, path, want)
		if err := loader.Load(batch(t, numberAndText, "3,x\n")); err == nil {
			t.Error("a loader can be used after Discard")
		}
	}
}

func TestConflicts(t *testing.T) {
	const schema = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL); INSERT INTO t VALUES (1, 'old')"
	for conflict, want := range map[sink.Conflict]string{
		sink.Ignore: "1,old\n2,new\n", sink.Update: "1,new\n2,new\n",
	} {
		path := newFile(t, schema)
		f := sink.Filling{Existing: sink.Append, Conflict: conflict}
		if conflict == sink.Update {
			f.Key = []string{"A"}
		}
		if err := load(t, path, f, "1,new\n2,new\n"); err != nil {
			t.Fatal(err)
		}
		expectRows(t, path, want)
		if err := load(t, path, f, "5,x\n6,\n"); err == nil {
			t.Error("NULL is accepted in a column that is NOT NULL")
		}
		expectRows(t, path, want)
	}
	const trigger = "; CREATE TRIGGER no BEFORE UPDATE ON t BEGIN SELECT RAISE(IGNORE); END"
	path := newFile(t, schema+trigger)
	f := sink.Filling{Existing: sink.Append, Conflict: sink.Update, Key: []string{"a"}}
	if err := load(t, path, f, "1,new\n2,new\n"); err == nil {
		t.Error("a trigger can leave an update out without an error")
	}
	expectRows(t, path, "1,old\n")
	db := open(t, newFile(t, schema))
	for _, key := range [][]string{nil, {"b"}, {"c"}} {
		f := sink.Filling{Existing: sink.Append, Conflict: sink.Update, Key: key}
		if _, err := db.Table(context.Background(), "t", f); err == nil {
			t.Errorf("the key %q is accepted", key)
		}
	}
}

// TestRefusedRows loads rows that the database refuses, and checks what the error says and that nothing remains.
func TestRefusedRows(t *testing.T) {
	const trigger = "CREATE TABLE t (a, b); CREATE TRIGGER no BEFORE INSERT ON t WHEN new.a = 2 BEGIN SELECT "
	for _, test := range []struct {
		schema, rows string
		want         sink.RowError
	}{
		{"CREATE TABLE t (a INTEGER PRIMARY KEY, b)", "1,x\n2,y\n1,z\n", sink.RowError{
			Row: 3, Column: "a", Constraint: "UNIQUE", Value: "1", Code: "SQLITE_CONSTRAINT_PRIMARYKEY",
		}},
		{"CREATE TABLE t (a, b NOT NULL)", "1,x\n2,\n", sink.RowError{
			Row: 2, Column: "b", Constraint: "NOT NULL", Code: "SQLITE_CONSTRAINT_NOTNULL",
		}},
		{"CREATE TABLE t (a, b, CONSTRAINT small CHECK (a < 3))", "1,x\n7,\n", sink.RowError{
			Row: 2, Constraint: "CHECK", Code: "SQLITE_CONSTRAINT_CHECK",
		}},
		{"CREATE TABLE t (a INTEGER, b TEXT) STRICT", "1,x\ntwo,y\n", sink.RowError{
			Row: 2, Column: "a", Value: "two", Code: "SQLITE_CONSTRAINT_DATATYPE",
		}},
		{
			trigger + "RAISE(FAIL, 'no'); END",
			"1,x\n2,y\n",
			sink.RowError{Row: 2, Code: "SQLITE_CONSTRAINT_TRIGGER"},
		},
		{
			trigger + "RAISE(IGNORE); END",
			"1,x\n2,y\n",
			sink.RowError{Row: 2},
		},
	} {
		for _, redact := range []bool{false, true} {
			path := newFile(t, test.schema)
			table, loader := begin(t, open(t, path), sink.Filling{Redact: redact})
			err := loader.Load(batch(t, numberAndText, test.rows))
			row, ok := errors.AsType[*sink.RowError](err)
			if !ok {
				t.Errorf("%s: %v", test.schema, err)
				continue
			}
			got, want := *row, test.want
			got.Err, want.Table = nil, "t"
			if redact {
				want.Value = ""
			}
			if got != want || row.Err == nil {
				t.Errorf("%s: %+v, want %+v", test.schema, got, want)
			}
			if _, again := loader.Flush(); again != err {
				t.Errorf("the loader says %v after %v", again, err)
			}
			if err := table.Commit(); err == nil {
				t.Error("a loader has failed, and the table is committed")
			}
			if err := table.Discard(); err != nil {
				t.Error(err)
			}
			expectRows(t, path, "")
		}
	}
}

// TestGuarantees tests what is left to check if the type of the source is known.
func TestGuarantees(t *testing.T) {
	types := []string{"INTEGER", "NUMERIC(5,2)", "REAL", "DATE", "TIMESTAMP", "TIME", "BOOLEAN"}
	sinktest.Guarantees(t, source.SQLite, types, fill.GrammarOf)
}

// TestKept loads values into columns whose affinity would change some of them.
func TestKept(t *testing.T) {
	const long = "12345678901234567890"
	for _, test := range []struct {
		declared string
		kind     source.Kind
		value    string
		want     string // "" if it is refused
	}{
		{"INTEGER", source.Text, "007", ""},
		{"INTEGER", source.Text, " 7", ""},
		{"INTEGER", source.Text, "1e5", ""},
		{"INTEGER", source.Text, "7", "7"},
		{"INTEGER", source.Text, "0x7", "0x7"},
		{"INTEGER", source.Text, "7 days", "7 days"},
		{"INTEGER", source.Number, "007", ""},
		{"INTEGER", source.Number, "1.5", "1.5"},
		{"INTEGER", source.Number, long, ""},
		{"INTEGER", source.Number, "9223372036854775807", "9223372036854775807"},
		{"NUMERIC", source.Number, "12.50", "12.5"},
		{"NUMERIC(10,2)", source.Text, "12.50", ""},
		{"NUMERIC", source.Text, "12.5", "12.5"},
		{"NUMERIC", source.Number, "0.12345678901234567", ""},
		{"NUMERIC", source.Number, "1e400", ""},
		{"NUMERIC", source.Number, "NaN", "NaN"},
		{"NUMERIC", source.Number, "Infinity", "9.0e+999"},
		{"STRING", source.Text, "007", ""},
		{"DATE", source.Text, "2026-01-31", "2026-01-31"},
		{"REAL", source.Number, "9007199254740993", ""},
		{"REAL", source.Number, "9007199254740992", "9007199254740992.0"},
		{"REAL", source.Text, "7", ""},
		{"REAL", source.Text, "7.0", "7.0"},
		{"TEXT", source.Text, "007", "007"},
		{"TEXT", source.Number, long, long},
		{"BLOB", source.Text, "007", "007"},
		{"", source.Number, long, long},
	} {
		for _, convert := range []bool{false, true} {
			path := newFile(t, "CREATE TABLE t (a, b "+test.declared+")")
			f := sink.Filling{}
			if convert {
				f.Convert = []string{"B"}
			}
			var b source.Batch
			b.Reset(2)
			for range 100 {
				b.AppendInt(1)
				b.AppendNull()
				b.EndRow()
			}
			b.AppendInt(2)
			b.Append(test.kind, []byte(test.value))
			b.EndRow()
			table, loader := begin(t, open(t, path), f)
			err := loader.Load(&b)
			row, refused := errors.AsType[*sink.RowError](err)
			switch {
			case test.want == "" && !convert:
				if !refused || !errors.Is(err, sink.ErrChanged) || row.Row != 101 || row.Column != "b" ||
					row.Value != test.value {
					t.Errorf("%v: %v", test, err)
				}
			case err != nil:
				t.Errorf("%v: %v", test, err)
			default:
				if _, err := loader.Close(); err != nil {
					t.Fatal(err)
				}
				if err := table.Commit(); err != nil {
					t.Fatal(err)
				}
				if got, _ := export(t, path, "t"); test.want != "" && !strings.HasSuffix(got, "2,"+test.want+"\n") {
					t.Errorf("%v became %q", test, got[max(0, len(got)-40):])
				}
				continue
			}
			if err := table.Discard(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestLedger loads parts, is interrupted, and goes on.
func TestLedger(t *testing.T) {
	for _, each := range []bool{false, true} {
		path := newFile(t, "CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (9, 'old')")
		f := sink.Filling{
			Existing: sink.Truncate, Ledger: &sink.Ledger{Table: "culvert ledger", Load: "x"}, EachPart: each,
		}
		one := sink.Part{Name: "one", Rows: 2, Sum: "s"}
		addPart := func(loader sink.Loader, p sink.Part, rows string) error {
			return errors.Join(loader.Load(batch(t, numberAndText, rows)), loader.EndPart(p))
		}
		db := open(t, path)
		table, loader := begin(t, db, f)
		if err := addPart(loader, one, "1,a\n2,b\n"); err != nil {
			t.Fatal(err)
		}
		if err := loader.Load(batch(t, numberAndText, "3,c\n")); err != nil {
			t.Fatal(err)
		}
		if err := table.Discard(); err != nil {
			t.Fatal(err)
		}
		want := []sink.Part(nil)
		if each {
			want = []sink.Part{one}
			expectRows(t, path, "1,a\n2,b\n")
		} else {
			expectRows(t, path, "9,old\n")
		}
		table, loader = begin(t, db, f)
		if got := table.Loaded(); !slices.Equal(got, want) {
			t.Fatalf("each %v: loaded are %v, want %v", each, got, want)
		}
		if !each {
			if err := addPart(loader, one, "1,a\n2,b\n"); err != nil {
				t.Fatal(err)
			}
		}
		if err := addPart(loader, sink.Part{Name: "two", Rows: 1}, "3,c\n"); err != nil {
			t.Fatal(err)
		}
		if n, err := loader.Close(); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		if err := table.Commit(); err != nil {
			t.Fatal(err)
		}
		expectRows(t, path, "1,a\n2,b\n3,c\n")

		f.Existing = sink.Refuse // only rows of the same load are there
		table, loader = begin(t, db, f)
		if got := len(table.Loaded()); got != 2 {
			t.Errorf("%d parts are loaded", got)
		}
		err := addPart(loader, sink.Part{Name: "three", Rows: 7}, "4,d\n")
		if count, ok := errors.AsType[*sink.CountError](err); !ok || count.Counted != 1 {
			t.Errorf("a wrong number of rows: %v", err)
		}
		if err := table.Discard(); err != nil {
			t.Fatal(err)
		}
		f.Ledger = &sink.Ledger{Table: "culvert ledger", Load: "another"}
		if _, err := db.Table(context.Background(), "t", f); !errors.Is(err, sink.ErrNotEmpty) {
			t.Errorf("rows of another load: %v", err)
		}
	}
	if _, err := open(t, newFile(t, "CREATE TABLE t (a)")).Table(
		context.Background(), "t", sink.Filling{EachPart: true}); err == nil {
		t.Error("parts are committed without a ledger")
	}
}

// TestSink runs the suite.
func TestSink(t *testing.T) {
	path := newFile(t, "PRAGMA journal_mode = WAL") // a source is open while the sink commits
	sinktest.Run(t, sinktest.Fixture{
		Open: func(t *testing.T) sink.Sink {
			db, err := fill.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			return db
		},
		Source: func(t *testing.T) source.Source {
			src, err := sqlitesource.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			return src
		},
		Exec:   func(t *testing.T, sql string) { execute(t, path, sql) },
		Groups: true, KeysFirst: true, KeysUnchecked: true,
		Changes: []sinktest.Change{
			{Type: "INTEGER", Kind: source.Text, Value: " 7"},
			{Type: "NUMERIC", Kind: source.Text, Value: "12.50"},
			{Type: "NUMERIC", Kind: source.Number, Value: "12345678901234567890"},
			{Type: "REAL", Kind: source.Number, Value: "-0"},
			{Type: "REAL", Kind: source.Number, Value: "-0.0"},
			{Type: "REAL", Kind: source.Text, Value: "-0.0"},
			{Type: "NUMERIC", Kind: source.Number, Value: "-0"},
		},
		Loses: func(table string) string {
			return "CREATE TRIGGER loses BEFORE INSERT ON " + table +
				" WHEN NEW.id = 13 BEGIN SELECT RAISE(IGNORE); END"
		},
		Values: []sourcetest.Value{
			{Type: "INTEGER", SQL: "-9223372036854775808", Kind: source.Number, Text: "-9223372036854775808"},
			{Type: "REAL", SQL: "0.1", Kind: source.Number, Text: "0.1"},
			{Type: "REAL", SQL: "1e300", Kind: source.Number, Text: "1.0e+300"},
			{Type: "REAL", SQL: "9e999", Kind: source.Number, Text: "9.0e+999"},
			{Type: "NUMERIC", SQL: "12.50", Kind: source.Number, Text: "12.5"},
			{Type: "TEXT", SQL: "'12.50'", Kind: source.Text, Text: "12.50"},
			{Type: "TEXT", SQL: "''", Kind: source.Text, Text: ""},
			{Type: "BLOB", SQL: "x'00ff'", Kind: source.Bytes, Text: "\x00\xff"},
			{Type: "BLOB", SQL: "x''", Kind: source.Bytes, Text: ""},
		},
		Truncates: true, Conflicts: true, Ledger: true, EachPart: true,
	})
}

func TestPlan(t *testing.T) {
	path := newFile(t, "CREATE TABLE Orders (id INTEGER, b TEXT, c AS (id)); INSERT INTO Orders VALUES (1, 'x')")
	db := open(t, path)
	ledger := &sink.Ledger{Table: "l", Load: "x"}
	f := sink.Filling{Existing: sink.Truncate, Loaders: 4, Columns: []string{"B"}, Ledger: ledger}
	plan, err := db.Plan(context.Background(), "main.orders", f)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Table != "Orders" || plan.Rows != 1 || plan.Loaders != 1 || plan.Alone == "" || len(plan.Steps) != 6 ||
		!slices.Equal(plan.Columns, []source.Column{{Name: "b", Type: "TEXT"}}) {
		t.Errorf("%+v", plan)
	}
	if got, _ := export(t, path, "orders"); got != "1,x,1\n" {
		t.Errorf("Plan leaves %q", got)
	}
	_, err = db.Plan(context.Background(), "new", sink.Filling{Create: &source.Definition{Name: "new"}})
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a table that does not exist: %v", err)
	}
	_, err = db.Plan(context.Background(), "order", sink.Filling{})
	if unknown, ok := errors.AsType[*source.UnknownError](err); !ok || !slices.Contains(unknown.Known, "Orders") {
		t.Errorf("an unknown table: %v", err)
	}
	_, err = db.Table(context.Background(), "orders", sink.Filling{Columns: []string{"d"}, Existing: sink.Append})
	if unknown, ok := errors.AsType[*source.UnknownError](err); !ok || unknown.Name != "d" {
		t.Errorf("an unknown column: %v", err)
	}
}

// TestLedgerOfSchema names the schema of the ledger, which can only be main.
func TestLedgerOfSchema(t *testing.T) {
	path := newFile(t, "CREATE TABLE t (a)")
	db := open(t, path)
	f := sink.Filling{Ledger: &sink.Ledger{Table: "main.Parts", Load: "x"}}
	for _, loaded := range []int{0, 1} {
		filled, err := db.Table(t.Context(), "t", f)
		if err != nil {
			t.Fatal(err)
		}
		if parts := filled.Loaded(); len(parts) != loaded {
			t.Errorf("loaded are %v", parts)
		}
		loader := filled.Loaders()[0]
		if loaded == 0 {
			err = loader.EndPart(sink.Part{Name: "a"})
		}
		_, closed := loader.Close()
		if err := errors.Join(err, closed, filled.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := export(t, path, "Parts"); !strings.HasPrefix(got, "x,t,a,0,") {
		t.Errorf("the ledger has %q", got)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "missing.db"), dir, text, os.DevNull} {
		if db, err := fill.Open(path); !errors.Is(err, source.ErrUnavailable) {
			t.Errorf("%s: %v, %v", path, db, err)
		}
	}
	db, err := fill.Create(filepath.Join(dir, "new ?#.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Close(), db.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new ?#.db")); err != nil {
		t.Error(err)
	}
	if _, err := db.Table(context.Background(), "t", sink.Filling{}); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("after Close: %v", err)
	}
}

func TestAnalyze(t *testing.T) {
	path := newFile(t, "CREATE TABLE t (a, b); CREATE INDEX i ON t (a); INSERT INTO t VALUES (1, 2)")
	if err := open(t, path).Analyze(context.Background(), "t", sink.Filling{}); err != nil {
		t.Fatal(err)
	}
	if got, _ := export(t, path, "sqlite_stat1"); got != "t,i,1 1\n" {
		t.Errorf("the statistics are %q", got)
	}
}

func BenchmarkLoad(b *testing.B) {
	path := newFile(b, "CREATE TABLE t (id INTEGER PRIMARY KEY, owner INTEGER, title TEXT, price NUMERIC, due TEXT)")
	kinds := []source.Kind{source.Number, source.Number, source.Text, source.Number, source.Text}
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "%d,%d,the title of a row %d,%d.%02d,2024-05-17 10:31:05\n", i, i%999, i, i%1e4, i%100)
	}
	rows := batch(b, kinds, text.String())
	db := open(b, path)
	b.ReportAllocs()
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		table, loader := begin(b, db, sink.Filling{Existing: sink.Truncate})
		if err := loader.Load(rows); err != nil {
			b.Fatal(err)
		}
		if _, err := loader.Close(); err != nil {
			b.Fatal(err)
		}
		if err := table.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}
