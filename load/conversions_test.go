package load_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/convert"
	"culvert/export"
	"culvert/format"
	"culvert/format/parquet"
	"culvert/internal/testkit"
	"culvert/load"
)

func conversions(t *testing.T, texts ...string) (all []convert.Conversion) {
	t.Helper()
	for _, text := range texts {
		one, err := convert.ParseText(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// rawEvents is the table as another program has it: SQLite has no types that keep such values out.
const rawEvents = `CREATE TABLE events (id INTEGER PRIMARY KEY, at INTEGER, zoned INTEGER, day TEXT, note TEXT,
	n INTEGER);
INSERT INTO events VALUES (1, 1700000000, 1700000000, '0000-00-00', '  ', NULL),
	(2, NULL, 0, '2024-02-29', ' a ' || char(0) || 'b', 7)`

// eventRules make of it what every database has.
var eventRules = []string{
	"e*.at=epoch seconds", "zoned=epoch seconds", "*.day=zero-date null", "note=nul strip", "note=trim",
	"note=empty null", "n=default 5",
}

// rawTexts are files with the same rows.
var rawTexts = []struct {
	text string
	of   format.Readable
}{
	{
		"id,at,zoned,day,note,n\n1,1700000000,1700000000,0000-00-00,\"  \",\n2,,0,2024-02-29,\" a \x00b\",7\n",
		format.CSV{},
	},
	{
		`{"id":1,"at":1700000000,"zoned":1700000000,"day":"0000-00-00","note":"  ","n":null}` + "\n" +
			`{"id":2,"at":null,"zoned":0,"day":"2024-02-29","note":" a \u0000b","n":7}` + "\n",
		format.JSONL{},
	},
}

// TestConversions converts values of files of other programs, of another database, and of exports, on their way into
// each database, which reads the rows back. The sum of the manifest is then that of the files only.
func TestConversions(t *testing.T) {
	path, _ := newSQLite(t)
	execSQLite(t, path, rawEvents)
	from := openSQLite(t, path)
	for name, test := range map[string]struct {
		to    func(*testing.T) side
		types [5]string
		want  [2]string
	}{
		"PostgreSQL": {
			postgresSide,
			[5]string{"timestamp(3)", "timestamptz", "date", "text", "int"},
			[2]string{
				"1,2023-11-14 22:13:20,2023-11-14 22:13:20+00,,,5\n", "2,,1970-01-01 00:00:00+00,2024-02-29,a b,7\n",
			},
		},
		"MariaDB": {
			mariaDBSide,
			[5]string{"datetime(3)", "datetime", "date", "text", "int"},
			[2]string{
				"1,2023-11-14 22:13:20.000,2023-11-14 22:13:20,,,5\n", "2,,1970-01-01 00:00:00,2024-02-29,a b,7\n",
			},
		},
		"SQLite": {
			sqliteSide,
			[5]string{"TEXT", "TEXT", "TEXT", "TEXT", "INTEGER"},
			[2]string{"1,2023-11-14 22:13:20,2023-11-14 22:13:20,,,5\n", "2,,1970-01-01 00:00:00,2024-02-29,a b,7\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.to(t)
			plan := load.Plan{ReadBack: true, Columnar: columnar, Conversions: conversions(t, eventRules...)}
			n := 0
			fill := func(how string, run func(table string) (load.Stats, error)) {
				t.Helper()
				n++
				table, types := fmt.Sprintf("e%d", n), test.types
				sql := fmt.Sprintf("CREATE TABLE %s (id int PRIMARY KEY, at %s, zoned %s, day %s, note %s, n %s)",
					table, types[0], types[1], types[2], types[3], types[4])
				if err := s.try(sql); err != nil {
					t.Fatal(err)
				}
				stats, err := run(table)
				want := []string{"at", "zoned", "day", "note", "n"}
				if err != nil || !slices.Equal(stats.Changed, want) {
					t.Errorf("%s: %+v, %v", how, stats, err)
				}
			}
			for _, raw := range rawTexts {
				fill("text", func(table string) (load.Stats, error) {
					return plan.Text(t.Context(), s.dst, strings.NewReader(raw.text), "events", raw.of, table)
				})
			}
			fill("copy", func(table string) (load.Stats, error) {
				return plan.Copy(t.Context(), s.dst, from, "events", table)
			})
			for _, f := range []format.Format{format.CSV{}, format.JSONL{}, parquet.Format{}} {
				as := export.Plan{Format: f, Unencrypted: true, Compression: export.None}
				b := newBackupOf(t, from, as, 0, "events")
				fill("export", func(table string) (load.Stats, error) {
					all, err := plan.Directory(t.Context(), s.dst, b.Directory, map[string]string{"events": table})
					return slices.Concat(all, make([]load.Stats, 1))[0], err
				})
			}
			for src := s.open(); n > 0; n-- {
				if got := csvOf(t, src, fmt.Sprintf("e%d", n)); !slices.Equal(got, test.want[:]) {
					t.Errorf("table %d: got %q, want %q", n, got, test.want)
				}
			}
		})
	}
}

// TestConversionErrors names the row and the column of what cannot be converted, after many others, and refuses
// conversions for no column. Nothing is committed.
func TestConversionErrors(t *testing.T) {
	path, dst := newSQLite(t)
	execSQLite(t, path, "CREATE TABLE t (id INTEGER, at TEXT)")
	var text bytes.Buffer
	text.WriteString("id,at\n")
	for range 200_000 {
		text.WriteString("1,1700000000\n")
	}
	text.WriteString("1,yesterday\n")
	plan := load.Plan{Conversions: conversions(t, "at=epoch seconds")}
	_, err := plan.Text(t.Context(), dst, &text, "t.csv", format.CSV{}, "t")
	wrong, is := errors.AsType[*convert.ValueError](err)
	if where, at := errors.AsType[*fs.PathError](err); !is || !at || where.Path != "t.csv" || wrong.Row != 200_001 ||
		wrong.Column != "at" {
		t.Errorf("the error is %v", err)
	}
	src := openSQLite(t, path)
	if rows := csvOf(t, src, "t"); len(rows) > 0 {
		t.Errorf("%d rows are there", len(rows))
	}
	plan.Conversions = conversions(t, "at=epoch seconds", "u.at=trim")
	_, err = plan.Text(t.Context(), dst, strings.NewReader("id,at\n1,1\n"), "t.csv", format.CSV{}, "t")
	_, copyErr := plan.PreviewTables(t.Context(), dst, src, []load.Names{{From: "t", To: "t"}})
	for _, err := range []error{err, copyErr} {
		if wrong, is := errors.AsType[*load.ConversionError](err); !is || wrong.Conversion.Pattern() != "u.at" {
			t.Errorf("the error is %v", err)
		}
	}
}

func execSQLite(t *testing.T, path, sql string) {
	t.Helper()
	conn, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, conn)
	if err := conn.Exec(sql); err != nil {
		t.Fatal(err)
	}
}

// TestConversionZeroDates copies the zero dates of MariaDB, which no other system has, and reads the rows back.
func TestConversionZeroDates(t *testing.T) {
	was := testkit.MariaDB(t).NewDatabase(t)
	was.Exec(t, "CREATE TABLE e (id int PRIMARY KEY, day date, at datetime(3)) COLLATE utf8mb4_bin; "+
		"SET sql_mode = ''; INSERT INTO e VALUES (1, '0000-00-00', '0000-00-00 00:00:00'), "+
		"(2, '2020-00-15', '2020-01-02 03:04:05.678')")
	src := openMySQL(t, was)
	for name, to := range map[string]func(*testing.T) side{"PostgreSQL": postgresSide, "SQLite": sqliteSide} {
		t.Run(name, func(t *testing.T) {
			s := to(t)
			plan := load.Plan{ReadBack: true, Create: true, Conversions: conversions(t, "e.*=zero-date null")}
			if stats, err := plan.Copy(t.Context(), s.dst, src, "e", "e"); err != nil {
				t.Fatalf("%+v: %v", stats, err)
			}
			want := []string{"1,,\n", "2,,2020-01-02 03:04:05.678\n"}
			if got := csvOf(t, s.open(), "e"); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
