package load_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"filippo.io/age"
	"github.com/ncruces/go-sqlite3"
	"go.uber.org/goleak"

	"culvert/agefile"
	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/place/dir"
	"culvert/sink"
	"culvert/source"
	"culvert/sqlite"
)

func TestMain(m *testing.M) {
	if err := os.Setenv("HOME", os.DevNull); err != nil { // where no option file is
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

var itemColumns = []source.Column{
	{Name: "id", Type: "INTEGER"},
	{Name: "title", Type: "TEXT"},
	{Name: "price", Type: "REAL"},
	{Name: "data", Type: "BLOB"},
}

// itemRows are in the tables of a shop: enough for several blocks and parts.
const itemRows = 12_000

// newShop makes a database with a large table, a table that has a large row, and an empty one.
func newShop(tb testing.TB) *sqlite.Source {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "shop.db")
	db, err := sqlite3.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	columns := "(id INTEGER PRIMARY KEY, title TEXT, price REAL, data BLOB)"
	for _, sql := range []string{
		"CREATE TABLE items " + columns, "CREATE TABLE large " + columns, "CREATE TABLE empty " + columns,
		fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO items SELECT i, CASE i %% 5 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'a "quoted",
line ' || i ELSE 'water, still ' || i || ' ✓' END, i / 8.0, CASE i %% 3 WHEN 0 THEN NULL ELSE zeroblob(i %% 60) END
			FROM n`, itemRows),
		`INSERT INTO large VALUES (1, 'small', 1.5, x'00'), (2, replace(hex(zeroblob(250000)), '0', 'x"
'), NULL, NULL), (3, '', 2.0, NULL)`,
	} {
		if err := db.Exec(sql); err != nil {
			tb.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
	src, err := sqlite.OpenSource(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := src.Close(); err != nil {
			tb.Error(err)
		}
	})
	return src
}

var shopTables = []string{"items", "large", "empty"}

// csvOf returns the rows of a table without their order.
func csvOf(tb testing.TB, src source.Source, table string) []string {
	tb.Helper()
	var text bytes.Buffer
	plan := export.Plan{Unencrypted: true, Compression: export.None}
	if _, err := plan.Table(tb.Context(), &text, src, table); err != nil {
		tb.Fatal(err)
	}
	return slices.Sorted(slices.Values(rowsOf(withoutHeader(text.Bytes()))))
}

// backup is an export in a directory.
type backup struct {
	path string
	*export.Directory
}

// newBackup exports tables, in parts if there is a size.
func newBackup(tb testing.TB, src source.Source, plan export.Plan, partSize int64) *backup {
	tb.Helper()
	return newBackupOf(tb, src, plan, partSize, shopTables...)
}

func newBackupOf(tb testing.TB, src source.Source, plan export.Plan, partSize int64, tables ...string) *backup {
	tb.Helper()
	b := &backup{path: tb.TempDir()}
	to, err := dir.Open(b.path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = to.Close() })
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		tb.Fatal(err)
	}
	if !plan.Unencrypted {
		plan.Recipients = []age.Recipient{identity.Recipient()}
	}
	plan.PartSize = partSize
	if _, err = plan.Tables(tb.Context(), to, src, tables); err != nil {
		tb.Fatal(err)
	}
	if b.Directory, err = export.OpenDirectory(os.DirFS(b.path), identity); err != nil {
		tb.Fatal(err)
	}
	return b
}

// TestDirectory loads what was exported, and finds the same rows.
func TestDirectory(t *testing.T) {
	src := newShop(t)
	want := map[string][]string{}
	for _, name := range shopTables {
		want[name] = csvOf(t, src, name)
	}
	tests := []struct {
		plan export.Plan
		part int64
	}{
		{export.Plan{}, 0},
		{export.Plan{Format: format.JSONL{}, Compression: export.None}, 110_000},
		{export.Plan{}, 110_000},
		{export.Plan{Compression: export.Gzip, Unencrypted: true}, 0},
		{export.Plan{Format: format.JSONL{}}, 0},
	}
	if testkit.RaceDetector() { // the goroutines are the same for the others
		tests = tests[:2]
	}
	for _, test := range tests {
		b := newBackup(t, src, test.plan, test.part)
		for loaders, kinds := range map[int][]string{1: {"text", "values"}, 3: {"text", "clones"}} {
			for _, kind := range kinds {
				name := fmt.Sprintf("%s-%s-part=%d-j%d-%s",
					b.Manifest.Compression, b.Manifest.Format, test.part, loaders, kind)
				t.Run(name, func(t *testing.T) {
					db := newMemory(shopTables...)
					to := map[string]sink.Sink{
						"text": asText{db, format.CSV{}}, "values": db, "clones": cloning{db},
					}[kind]
					plan := load.Plan{Loaders: loaders, Progress: new(load.Progress), ReadBack: true}
					stats, err := plan.Directory(t.Context(), to, b.Directory, nil)
					if err != nil {
						t.Fatal(err)
					}
					for i, name := range shopTables {
						if got := db.sorted(name); !slices.Equal(got, want[name]) {
							t.Errorf("%s: %d rows are not the %d that were exported", name, len(got), len(want[name]))
						}
						table := &b.Manifest.Tables[i]
						s := stats[i]
						if s.Name != name || s.Rows != table.Rows || s.Err != nil ||
							s.Summed && s.Sum.String() != table.Sum {
							t.Errorf("%+v, but the manifest says %d rows and %s", s, table.Rows, table.Sum)
						}
					}
					if plan.Progress.Done() != 1 || plan.Progress.Rows.Load() != itemRows+3 {
						t.Errorf("done %v, %d rows", plan.Progress.Done(), plan.Progress.Rows.Load())
					}
				})
			}
		}
	}
}

// TestDamaged changes files: nothing of their tables is committed.
func TestDamaged(t *testing.T) {
	src := newShop(t)
	for name, test := range map[string]struct {
		plan   export.Plan
		change func(content []byte) []byte
		want   error
	}{
		"flipped bit":        {export.Plan{}, flip(-100), agefile.ErrCorrupt},
		"flipped early":      {export.Plan{}, flip(20_000), agefile.ErrCorrupt},
		"cut":                {export.Plan{}, func(b []byte) []byte { return b[:len(b)-1] }, export.ErrDamaged},
		"other text":         {export.Plan{Unencrypted: true, Compression: export.None}, flip(-100), export.ErrDamaged},
		"another header":     {export.Plan{Unencrypted: true, Compression: export.None}, flip(1), nil},
		"text of other size": {export.Plan{Unencrypted: true, Compression: export.None}, nil, export.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBackup(t, src, test.plan, 0)
			file := filepath.Join(b.path, b.Manifest.Tables[0].File())
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if test.change == nil {
				content = append(content, "1,,,\n"...)
			} else {
				content = test.change(content)
			}
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, loaders := range []int{1, 3} {
				db := newMemory(shopTables...)
				plan := load.Plan{Loaders: loaders}
				stats, err := plan.Directory(t.Context(), asText{db, format.CSV{}}, b.Directory, nil)
				partial, is := errors.AsType[*load.PartialError](err)
				if !is || partial.Failed != 1 || len(stats) != 3 {
					t.Fatalf("%v, %d tables", err, len(stats))
				}
				failure := stats[0].Err
				if at, is := errors.AsType[*fs.PathError](failure); !is || at.Path != b.Manifest.Tables[0].File() ||
					test.want != nil && !errors.Is(failure, test.want) {
					t.Errorf("%v does not say that the file is damaged", failure)
				}
				if rows := len(db.sorted("items")); rows != 0 {
					t.Errorf("%d rows are committed", rows)
				}
				if len(db.sorted("large")) != 3 || stats[1].Err != nil {
					t.Errorf("another table is not loaded: %v", stats[1].Err)
				}
			}
		})
	}
}

func flip(at int) func([]byte) []byte {
	return func(content []byte) []byte {
		if at < 0 {
			at += len(content)
		}
		content[at] ^= 1
		return content
	}
}

// TestRefusedRow finds the row of the file that the database refuses.
func TestRefusedRow(t *testing.T) {
	src := newShop(t)
	b := newBackup(t, src, export.Plan{Ordered: true}, 0)
	const number = 10_239
	line := int64(2) // after the header
	for id := 1; id < number; id++ {
		line++
		if id%5 == 2 {
			line++
		}
	}
	refused := errors.New("refused")
	for _, loaders := range []int{1, 3} {
		for _, values := range []bool{false, true} {
			db := newMemory(shopTables...)
			db.refuse = func(line string) error {
				if strings.HasPrefix(line, fmt.Sprint(number, ",")) {
					return refused
				}
				return nil
			}
			var to sink.Sink = asText{db, format.CSV{}}
			if values {
				to = db
			}
			plan := load.Plan{Loaders: loaders}
			_, err := plan.Directory(t.Context(), to, b.Directory, map[string]string{"items": ""})
			at, is := errors.AsType[*sink.RowError](err)
			if !is || !errors.Is(err, refused) || !strings.Contains(err.Error(), "items.csv.zst.age") {
				t.Fatalf("%v is not the error of a row", err)
			}
			if values && at.Row != number || !values && at.Line != line {
				t.Errorf("row %d, line %d, want %d, %d", at.Row, at.Line, number, line)
			}
			if len(db.sorted("items")) > 0 {
				t.Error("rows are committed")
			}
		}
	}
}

// TestLedger interrupts a load of parts and repeats it.
func TestLedger(t *testing.T) {
	src := newShop(t)
	b := newBackup(t, src, export.Plan{}, 110_000)
	want := csvOf(t, src, "items")
	parts := len(b.Manifest.Tables[0].Parts)
	if parts < 3 {
		t.Fatalf("only %d parts", parts)
	}
	var taken atomic.Int64
	for _, loaders := range []int{1, 2} {
		db := newMemory(shopTables...)
		plan := load.Plan{
			Loaders: loaders, ReadBack: true,
			Filling: sink.Filling{Ledger: &sink.Ledger{Table: "ledger", Load: "1"}, EachPart: true},
		}
		plan.Progress = new(load.Progress)
		taken.Store(0)
		db.refuse = func(string) error {
			if taken.Add(1) > itemRows/2 {
				return errors.New("full")
			}
			return nil
		}
		only := map[string]string{"items": "items"}
		if _, err := plan.Directory(t.Context(), asText{db, format.CSV{}}, b.Directory, only); err == nil {
			t.Fatal("no error")
		}
		some := len(db.tables["items"].parts)
		if some == 0 || some == parts {
			t.Fatalf("%d of %d parts are committed", some, parts)
		}
		kept := int64(len(db.sorted("items")))
		if rows := plan.Progress.Rows.Load(); rows != kept {
			t.Errorf("%d of %d rows are counted that are committed", rows, kept)
		}
		db.refuse, plan.Progress = nil, new(load.Progress)
		stats, err := plan.Directory(t.Context(), asText{db, format.CSV{}}, b.Directory, only)
		if err != nil || stats[0].Skipped != some {
			t.Fatalf("%v; skipped %d of %d", err, stats[0].Skipped, some)
		}
		if !slices.Equal(db.sorted("items"), want) {
			t.Error("the rows are not those that were exported")
		}
		if rows := plan.Progress.Rows.Load(); rows != itemRows-kept || plan.Progress.Done() != 1 {
			t.Errorf("%d rows are counted, done %v", rows, plan.Progress.Done())
		}
		db.tables["items"].parts[0].Rows++
		if _, err := plan.Directory(t.Context(), asText{db, format.CSV{}}, b.Directory, only); err == nil {
			t.Error("a ledger of other figures is accepted")
		}
	}
}

// TestReadBack has the database change a row.
func TestReadBack(t *testing.T) {
	db := newMemory("items")
	db.corrupt = func(line string) string { return strings.Replace(line, "7", "8", 1) }
	plan := load.Plan{ReadBack: true}
	lines := `{"id":6,"title":"a"}` + "\n" + `{"id":7,"title":"b"}` + "\n"
	for _, test := range []struct {
		to   sink.Sink
		text string
		as   format.Readable
	}{
		{asText{db, format.CSV{}}, "id,title\n6,a\n7,b\n", format.CSV{}},
		{asText{db, format.CSV{}}, lines, format.JSONL{}},
		{db, lines, format.JSONL{}},
	} {
		_, err := plan.Text(t.Context(), test.to, strings.NewReader(test.text), "items", test.as, "items")
		wrong, is := errors.AsType[*load.SumError](err)
		if !is || wrong.Wanted == wrong.Found || len(db.sorted("items")) > 0 {
			t.Errorf("%T, %v: %v, %q", test.to, test.as, err, db.sorted("items"))
		}
	}
}

// TestText loads files of other programs.
func TestText(t *testing.T) {
	for name, test := range map[string]struct {
		file, text string
		plan       load.Plan
		want       []string // in the order of the columns of the file
		fails      string
	}{
		"csv":          {"a.csv", "id,title\n1,\"a\nb\"\n2,", load.Plan{}, []string{"1,\"a\nb\"\n", "2,\n"}, ""},
		"crlf, values": {"a.csv", "id,title\r\n1,a\r\n2,\"\"\r\n", load.Plan{}, []string{"1,a\n", "2,\"\"\n"}, ""},
		"tabs":         {"a.tsv", "title\tid\na,b\t1\n", load.Plan{}, []string{"\"a,b\",1\n"}, ""},
		"jsonl":        {"a.jsonl", `{"id":1,"title":null}` + "\n", load.Plan{}, []string{"1,\n"}, ""},
		"columns": {
			"a.csv", "id,x,title\n1,2,3\n", load.Plan{Columns: []string{"title", "id"}}, []string{"1,3\n"}, "",
		},
		"rename": {
			"a.csv", "n,title\n1,2\n", load.Plan{Rename: map[string]string{"n": "id"}}, []string{"1,2\n"}, "",
		},
		"no rows":         {"a.csv", "id,title\n", load.Plan{}, nil, ""},
		"no header":       {"a.csv", "", load.Plan{}, nil, "empty"},
		"unknown column":  {"a.csv", "id,x\n1,2\n", load.Plan{}, nil, `"x"`},
		"unknown columns": {"a.csv", "id\n1\n", load.Plan{Columns: []string{"y"}}, nil, `"y"`},
		"unknown rename":  {"a.csv", "id\n1\n", load.Plan{Rename: map[string]string{"y": "id"}}, nil, `"y"`},
		"twice":           {"a.csv", "id,id\n1,2\n", load.Plan{}, nil, "two columns"},
		"becomes twice": {
			"a.csv", "id,x\n1,2\n", load.Plan{Rename: map[string]string{"x": "id"}}, nil, "two columns",
		},
		"open quote": {"a.csv", "id,title\n1,a\n2,\"b\n", load.Plan{}, nil, "row 2"},
		"few values": {"a.csv", "id,title\n1,a\n2\n", load.Plan{}, nil, "row 2"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := load.FormatOf(test.file)
			if err != nil {
				t.Fatal(err)
			}
			db := newMemory("items")
			stats, err := test.plan.Text(t.Context(), db, strings.NewReader(test.text), test.file, f, "items")
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("%v, want %s", err, test.fails)
				}
			} else if err != nil || stats.Rows != int64(len(test.want)) {
				t.Errorf("%v, %d rows", err, stats.Rows)
			}
			if got := db.sorted("items"); !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	if _, err := load.FormatOf("items.parquet.age"); err == nil {
		t.Error("a file of unknown format is accepted")
	}
}

// TestCopy copies tables, as values and as text.
func TestCopy(t *testing.T) {
	src := newShop(t)
	for _, loaders := range []int{1, 3} {
		for _, values := range []bool{false, true} {
			db := newMemory("shop")
			db.most = 2
			var to sink.Sink = asText{db, format.CSV{}}
			if values {
				to = db
			}
			plan := load.Plan{Loaders: loaders, Filling: sink.Filling{Existing: sink.Append}}
			var want []string
			for _, name := range shopTables {
				stats, err := plan.Copy(t.Context(), to, src, name, "shop")
				if err != nil {
					t.Fatal(err)
				}
				if stats.Loaders != min(loaders, 2) || stats.Alone == "" != (loaders == 1) {
					t.Errorf("%+v", stats)
				}
				want = append(want, csvOf(t, src, name)...)
			}
			slices.Sort(want)
			if !slices.Equal(db.sorted("shop"), want) {
				t.Errorf("%d rows are not the %d of the source", len(db.sorted("shop")), len(want))
			}
		}
	}
	plan := load.Plan{Columns: []string{"price", "id"}}
	db := newMemory("items")
	if _, err := plan.Copy(t.Context(), db, src, "large", "items"); err != nil || len(db.sorted("items")) != 3 {
		t.Errorf("%v, %q", err, db.sorted("items"))
	}
}

// TestRefused asks for what cannot be.
func TestRefused(t *testing.T) {
	b := newBackup(t, newShop(t), export.Plan{}, 0)
	db := newMemory("items")
	for name, plan := range map[string]load.Plan{
		"columns of the filling": {Filling: sink.Filling{Columns: []string{"id"}}},
		"no ledger":              {Filling: sink.Filling{EachPart: true}},
		"columns of tables":      {Columns: []string{"id"}},
	} {
		if _, err := plan.Directory(t.Context(), db, b.Directory, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	unknown, is := errors.AsType[*source.UnknownError](func() error {
		_, err := new(load.Plan).Directory(t.Context(), db, b.Directory, map[string]string{"itms": ""})
		return err
	}())
	if !is || !slices.Contains(unknown.Known, "items") {
		t.Errorf("%v", unknown)
	}
	if db.opened.Load() > 0 {
		t.Error("a table was begun")
	}
}

// TestCanceled ends a load from outside.
func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	db := newMemory("items")
	text := io.MultiReader(strings.NewReader("id,title\n"), &endless{after: 5 << 20, then: func() { cancel(stop) }})
	plan := load.Plan{Loaders: 2}
	_, err := plan.Text(ctx, asText{db, format.CSV{}}, text, "items.csv", format.CSV{}, "items")
	if !errors.Is(err, stop) || len(db.sorted("items")) > 0 {
		t.Errorf("%v", err)
	}
}

// endless is a text without end.
type endless struct {
	n, after int
	then     func()
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n += len(p); e.n > e.after {
		e.then()
	}
	for i := range p {
		p[i] = "1,a\n"[(e.n-len(p)+i)%4]
	}
	return len(p), nil
}
