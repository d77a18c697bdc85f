package load_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"culvert/export"
	"culvert/format"
	"culvert/format/arrow"
	"culvert/format/arrow/arrowread"
	"culvert/format/parquet"
	"culvert/format/parquet/parquetread"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/sink"
	"culvert/source"
)

// columnar are the formats of columns of the tests.
var columnar = map[string]format.Columnar{"parquet": parquetread.Format{}, "arrow": arrowread.Format{}}

var (
	asParquet = export.Plan{Format: parquet.Format{}, Compression: export.None}
	asArrow   = export.Plan{Format: arrow.Format{}, Compression: export.None}
)

// through returns what takes a table by an export, whose rows are read back from a table that is made.
func through(as export.Plan) func(*testing.T, load.Plan, sink.Sink, source.Source) error {
	return func(t *testing.T, plan load.Plan, dst sink.Sink, src source.Source) error {
		from := newBackupOf(t, src, as, 0, "t")
		plan.Columnar, plan.ReadBack = columnar, plan.Create
		_, err := plan.Directory(t.Context(), dst, from.Directory, map[string]string{"t": "t"})
		return err
	}
}

// TestParquetTypes takes the extreme values of all types through Parquet into the same system and back, and in the long
// form also into the others.
func TestParquetTypes(t *testing.T) { testColumnarTypes(t, asParquet) }

// TestArrowTypes is TestParquetTypes for Arrow.
func TestArrowTypes(t *testing.T) { testColumnarTypes(t, asArrow) }

func testColumnarTypes(t *testing.T, as export.Plan) {
	for from, targets := range typesOfTable(t) {
		targets = maps.Clone(targets)
		targets[from] = slices.Sorted(maps.Keys(extremes[from]))
		for to, types := range targets {
			if to != from && !testkit.Soak() {
				continue
			}
			t.Run(from+"/"+to, func(t *testing.T) {
				isOther := func(name string) bool { return strings.Contains(name, " > ") }
				types = slices.DeleteFunc(slices.Clone(types), isOther)
				acrossTypes(t, from, to, types, through(as), "'24:00:00'", "'-838:59:59'", "'838:59:59'")
			})
		}
	}
}

// writtenElsewhere returns a file of another program, with several row groups of two rows.
func writtenElsewhere(t *testing.T, names ...string) format.ColumnFile {
	t.Helper()
	type row struct {
		ID   int64    `parquet:"id"`
		Name string   `parquet:"name,optional,dict"`
		Tags []string `parquet:"tags,list"`
	}
	var data bytes.Buffer
	w := pq.NewGenericWriter[row](&data, pq.MaxRowsPerRowGroup(2), pq.Compression(&pq.Snappy))
	for i, name := range names {
		if _, err := w.Write([]row{{int64(i), name, []string{"a", "b c"}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := parquetread.Format{}.Open(bytes.NewReader(data.Bytes()), int64(data.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestParquetFile loads a file of another program, by one loader in order and by several, and names the row of what
// is refused: by the file, by the column, and by the database.
func TestParquetFile(t *testing.T) {
	file := writtenElsewhere(t, "a", "", "c", "d", "e")
	_, dst := newPostgres(t,
		"CREATE TABLE few (id bigint, name varchar(1)); CREATE TABLE own (id bigint CHECK (id < 3))")
	for _, loaders := range []int{1, 3} {
		plan := load.Plan{Loaders: loaders, Create: true, ReadBack: true, Progress: new(load.Progress)}
		name := fmt.Sprintf("public.t%d", loaders)
		stats, err := plan.File(t.Context(), dst, file, "x.parquet", name)
		if err != nil || stats.Rows != 5 || plan.Progress.Done() != 1 {
			t.Fatalf("%+v, %v, %v", stats, err, plan.Progress.Done())
		}
	}
	some := load.Plan{Loaders: 2, Columns: []string{"id", "name"}}
	_, err := some.File(t.Context(), dst, writtenElsewhere(t, "a", "b", "c", "long", "e"), "x.parquet", "few")
	if row, is := errors.AsType[*sink.RowError](err); !is || row.Row != 4 {
		t.Errorf("error %v, want one about row 4", err)
	}
	ids := load.Plan{Columns: []string{"id"}}
	_, err = ids.File(t.Context(), dst, file, "x.parquet", "own")
	if row, is := errors.AsType[*sink.RowError](err); !is || row.Row != 4 {
		t.Errorf("error %v, want one about row 4", err)
	}
	_, err = some.File(t.Context(), dst, writtenElsewhere(t, "a", "b", "c\xff"), "x.parquet", "few")
	if row, is := errors.AsType[*format.RowError](err); !is || row.Row != 3 || row.Column != "name" {
		t.Errorf("error %v, want one about row 3", err)
	}
}

// TestParquetFileAlone loads a file into a table that is made, whose name has no schema.
func TestParquetFileAlone(t *testing.T) {
	for name, open := range map[string]func(*testing.T) side{
		"PostgreSQL": postgresSide, "MariaDB": mariaDBSide, "SQLite": sqliteSide,
	} {
		t.Run(name, func(t *testing.T) {
			plan := load.Plan{Create: true, ReadBack: true, Columns: []string{"id", "name"}}
			file, dst := writtenElsewhere(t, "a", "b", "c"), open(t).dst
			found, err := plan.PreviewFile(t.Context(), dst, file, "x.parquet", "t")
			if err != nil || found.Exists {
				t.Fatalf("%+v, %v", found, err)
			}
			stats, err := plan.File(t.Context(), dst, file, "x.parquet", "t")
			if err != nil || stats.Rows != 3 {
				t.Fatalf("%+v, %v", stats, err)
			}
			if _, err := plan.File(t.Context(), dst, file, "x.parquet", "t"); !errors.Is(err, sink.ErrExists) {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// TestParquetDamaged loads nothing of an export whose file, or whose sum of values, is not that of the manifest.
func TestParquetDamaged(t *testing.T) {
	src := newShop(t)
	_, dst := newSQLite(t)
	plan := load.Plan{Create: true, Columnar: columnar}
	from := newBackupOf(t, src, asParquet, 1<<19, "items")
	part := &from.Manifest.Tables[0].Parts[1]
	for _, damage := range []func(){
		func() { part.Canonical = from.Manifest.Tables[0].Parts[0].Canonical },
		func() { part.SHA256 = from.Manifest.Tables[0].Parts[0].SHA256 },
	} {
		was := *part
		damage()
		stats, err := plan.Directory(t.Context(), dst, from.Directory, nil)
		if !errors.Is(err, export.ErrDamaged) {
			t.Errorf("error %v: %+v", err, stats)
		}
		*part = was
	}
	stats, err := plan.Directory(t.Context(), dst, from.Directory, nil)
	if err != nil || stats[0].Rows != from.Manifest.Tables[0].Rows {
		t.Errorf("%+v, %v", stats, err)
	}
}

// failingAt is a file that has something happen once it is read.
type failingAt struct {
	io.ReaderAt
	then func() error
}

func (f failingAt) ReadAt(p []byte, at int64) (int, error) {
	if err := f.then(); err != nil {
		return 0, err
	}
	return f.ReaderAt.ReadAt(p, at)
}

// TestColumnsEnd ends loads of columns from outside, and by a file that can no longer be read. Nothing is left.
func TestColumnsEnd(t *testing.T) {
	src := newShop(t)
	stop := errors.New("enough")
	for _, f := range []struct {
		format.Format
		format.Columnar
	}{{parquet.Format{}, parquetread.Format{}}, {arrow.Format{}, arrowread.Format{}}} {
		var data bytes.Buffer
		written := export.Plan{Format: f.Format, Compression: export.None, Unencrypted: true}
		if _, err := written.Table(t.Context(), &data, src, "items"); err != nil {
			t.Fatal(err)
		}
		for _, ends := range []func(cancel func(error)) error{
			func(cancel func(error)) error { cancel(stop); return nil },
			func(func(error)) error { return stop },
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			isOpen := false
			file, err := f.Open(failingAt{bytes.NewReader(data.Bytes()), func() error {
				if !isOpen {
					return nil
				}
				return ends(cancel)
			}}, int64(data.Len()))
			if err != nil {
				t.Fatal(err)
			}
			isOpen = true
			path, dst := newSQLite(t)
			plan := load.Plan{Loaders: 2, Create: true}
			_, err = plan.File(ctx, dst, file, "t", "t")
			cancel(nil)
			_, found := openSQLite(t, path).Table(t.Context(), "t")
			if _, is := errors.AsType[*source.UnknownError](found); !errors.Is(err, stop) || !is {
				t.Errorf("%T: error %v, and of the table %v", f.Format, err, found)
			}
		}
	}
}

// TestParquetNotNull makes a table whose columns are NOT NULL where those of the file are required.
func TestParquetNotNull(t *testing.T) {
	path, dst := newSQLite(t)
	plan := load.Plan{Create: true, Columns: []string{"id", "name"}}
	if _, err := plan.File(t.Context(), dst, writtenElsewhere(t, "a", ""), "x.parquet", "t"); err != nil {
		t.Fatal(err)
	}
	d, err := source.Define(t.Context(), openSQLite(t, path), "t")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		if c := d.Columns[i]; c.NotNull != want {
			t.Errorf("%+v, want NOT NULL: %v", c, want)
		}
	}
}
