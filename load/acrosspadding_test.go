package load_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/load"
	"culvert/sink"
	"culvert/source"
)

// copied takes a table into another one, directly and by files of columns, and reads it back.
var copied = map[string]func(t *testing.T, dst sink.Sink, src source.Source, from, into string) error{
	"copy": func(t *testing.T, dst sink.Sink, src source.Source, from, into string) error {
		_, err := (&load.Plan{ReadBack: true}).Copy(t.Context(), dst, src, from, into)
		return err
	},
	"parquet": byFiles(asParquet), "arrow": byFiles(asArrow),
}

func byFiles(as export.Plan) func(*testing.T, sink.Sink, source.Source, string, string) error {
	return func(t *testing.T, dst sink.Sink, src source.Source, from, into string) error {
		backup := newBackupOf(t, src, as, 0, from)
		plan := load.Plan{Columnar: columnar, ReadBack: true}
		_, err := plan.Directory(t.Context(), dst, backup.Directory, map[string]string{from: into})
		return err
	}
}

// TestAcrossPadding copies texts to columns of CHAR(n). Spaces at their end are padding if they come from CHAR(n), and
// are refused if they come from another type, which keeps them. A type that is not known has the same rules.
func TestAcrossPadding(t *testing.T) {
	t.Parallel()
	sides := map[string]func(*testing.T) side{"PostgreSQL": postgresSide, "MariaDB": mariaDBSide}
	for from, open := range sides {
		s := open(t)
		try(t, s, "CREATE TABLE c (k int, a char(5))", "CREATE TABLE v (k int, a varchar(5))",
			"CREATE TABLE s (k int, a varchar(5))", "INSERT INTO c VALUES (1, 'ü'), (2, ''), (3, ' b'), (4, 'abcde')",
			"INSERT INTO v SELECT * FROM c", "INSERT INTO s VALUES (1, 'ü'), (2, 'ü ')")
		src := s.open()
		for to, open := range sides {
			t.Run(from+" to "+to, func(t *testing.T) {
				s := open(t)
				for i, test := range []struct {
					from, size string
					refused    bool
				}{
					{"c", "5", false},
					{"c", "8", false},
					{"c", "60", false},
					{"v", "5", false},
					{"v", "8", false},
					{"s", "5", true},
					{"s", "8", true},
				} {
					for way, take := range copied {
						table := fmt.Sprintf("%s%d", way, i)
						try(t, s, "CREATE TABLE "+table+" (k int, a char("+test.size+"))")
						err := take(t, s.dst, src, test.from, table)
						row, is := errors.AsType[*sink.RowError](err)
						if is != test.refused || is && (row.Row != 2 || row.Column != "a") || err != nil && !is {
							t.Errorf("%s, %v: %v", way, test, err)
						}
					}
				}
			})
		}
	}
}

// TestPaddingOfFiles loads texts from files into columns of character(n) with another length, and reads them back.
func TestPaddingOfFiles(t *testing.T) {
	database, dst := newPostgres(t, `CREATE TABLE t (k int, a char(5), b varchar(5), c text, d char(80));
		INSERT INTO t VALUES (1, 'ü', 'a,b', '"', 'x'), (2, '', '', '', ''), (3, NULL, NULL, NULL, NULL)`)
	src := openPostgres(t, database)
	for name, as := range map[string]export.Plan{
		"csv": {Format: format.CSV{}}, "jsonl": {Format: format.JSONL{}}, "parquet": asParquet, "arrow": asArrow,
	} {
		into := "of_" + name
		database.Exec(t, "CREATE TABLE "+into+" (k int, a char(8), b char(6), c char(7), d char(5))")
		from := newBackupOf(t, src, as, 0, "t")
		plan := load.Plan{Columnar: columnar, ReadBack: true}
		stats, err := plan.Directory(t.Context(), dst, from.Directory, map[string]string{"t": into})
		if err != nil || stats[0].Rows != 3 {
			t.Errorf("%s: %+v, %v", name, stats, err)
		}
	}
	database.Exec(t, "CREATE TABLE x (k int, a char(8))")
	text := strings.NewReader("k,a\n1,a\n2,\"\"\n3,\n")
	plan := load.Plan{ReadBack: true}
	if stats, err := plan.Text(t.Context(), dst, text, "x.csv", format.CSV{}, "x"); err != nil || stats.Rows != 3 {
		t.Errorf("%+v, %v", stats, err)
	}
}

// TestPaddingOfArrays refuses spaces in an array, where they mean something, for one whose texts are padded.
func TestPaddingOfArrays(t *testing.T) {
	database, dst := newPostgres(t, `CREATE TABLE c (a char(5)[]); CREATE TABLE v (a varchar(5)[]);
		INSERT INTO c VALUES ('{a,"b ",NULL}'); INSERT INTO v VALUES ('{a}'), ('{a,"b "}')`)
	src := openPostgres(t, database)
	for way, take := range copied {
		database.Exec(t, "CREATE TABLE c_"+way+" (a char(8)[]); CREATE TABLE v_"+way+" (a char(8)[])")
		if err := take(t, dst, src, "c", "c_"+way); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		err := take(t, dst, src, "v", "v_"+way)
		if refused, is := errors.AsType[*sink.RowError](err); !is || refused.Row != 2 || refused.Column != "a" {
			t.Errorf("%s: a space that would be lost: %v", way, err)
		}
	}
}

// try runs statements in a database.
func try(t *testing.T, s side, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if err := s.try(sql); err != nil {
			t.Fatal(err)
		}
	}
}
