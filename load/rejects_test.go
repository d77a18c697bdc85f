package load_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culvert/format"
	"culvert/load"
	"culvert/place"
	"culvert/place/dir"
	"culvert/sink"
)

// rejectsIn returns what puts the files of rejected rows into a directory, under the names that they are asked for.
func rejectsIn(tb testing.TB, path string) *load.Rejects {
	tb.Helper()
	to, err := dir.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = to.Close() })
	return rejectsTo(to)
}

func rejectsTo(to place.Place) *load.Rejects {
	return &load.Rejects{
		Create: func(ctx context.Context, name, _ string) (place.File, error) { return to.Replace(ctx, name) },
		Remove: func(ctx context.Context, name, _ string) error {
			if err := to.Remove(ctx, name); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		},
	}
}

// readRejects returns the numbers and the texts of the rows in a file of rejected rows, each of which has a reason.
func readRejects(tb testing.TB, path, header string) (numbers []int, rows []string) {
	tb.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		tb.Fatal(err)
	}
	rest, is := strings.CutPrefix(string(text), "rejected_row,rejected_column,rejected_reason,"+header)
	if !is {
		tb.Fatalf("the header is %q", text[:min(100, len(text))])
	}
	for rest != "" {
		r := csv.NewReader(strings.NewReader(rest))
		r.FieldsPerRecord, r.LazyQuotes = -1, true
		record, err := r.Read()
		if err != nil || len(record) < 4 || record[2] == "" {
			tb.Fatalf("%q, %v", record, err)
		}
		number, err := strconv.Atoi(record[0])
		if err != nil {
			tb.Fatal(err)
		}
		end := int(r.InputOffset())
		quote := func(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }
		prefix := record[0] + "," + quote(record[1]) + "," + quote(record[2]) + ","
		row, is := strings.CutPrefix(rest[:end], prefix)
		if !is {
			tb.Fatalf("%q does not begin with %q", rest[:end], prefix)
		}
		numbers, rows, rest = append(numbers, number), append(rows, row), rest[end:]
	}
	return numbers, rows
}

// sides are the databases that reject rows.
var sides = map[string]func(*testing.T) side{
	"PostgreSQL": postgresSide, "MariaDB": mariaDBSide, "SQLite": sqliteSide,
}

// goodsTable refuses rows for many reasons, in every database.
const goodsTable = `(id int NOT NULL PRIMARY KEY CHECK (id + 0 > 0), title varchar(20) NOT NULL, price int, n int,
	CHECK (n < 100), CHECK (price > 0), CHECK (length(title) < 21))`

// TestRejects has rows refused for many reasons. These are in the file, as they were and in order, and the others are
// in the table.
func TestRejects(t *testing.T) {
	good := []string{"1,a,15,7\n", "2,\"two\nlines, \"\"quoted\"\"\",2,\n", "3,c,,99\n", "4,\"d\r\n\",3,0\n"}
	bad := []string{
		"1,again,1,1\n", ",no key,1,1\n", "x,no number,1,1\n", "5,,1,1\n", "6,e,0,1\n", "7,f,1,100\n",
		"8,\"too\nlong for twenty characters\",1,1\n", "9,g,1\n", "10,h,1,1,more\n", "2,\"a\n\n\",,\n",
	}
	const header = "id,title,price,n\n"
	for name, to := range sides {
		t.Run(name, func(t *testing.T) {
			s := to(t)
			for i, order := range [][2]int{{1, 1}, {4, 10}, {1, 5}} { // so many good ones and bad ones, in turn
				table := fmt.Sprint("goods", i)
				if err := s.try("CREATE TABLE " + table + " " + goodsTable); err != nil {
					t.Fatal(err)
				}
				rows := inTurn(good, bad, order)
				rejectGoods(t, s, table, header, rows, good, bad)
				withCarriages := strings.ReplaceAll(strings.Join(rows, "\x00"), "\n\x00", "\r\n\x00")
				if err := s.try("DELETE FROM " + table); err != nil {
					t.Fatal(err)
				}
				rows = strings.Split(strings.TrimSuffix(withCarriages, "\n")+"\r\n", "\x00")
				rejectGoods(t, s, table, header[:len(header)-1]+"\r\n", rows, good, bad)
			}
		})
	}
}

func inTurn(good, bad []string, each [2]int) (rows []string) {
	for len(good)+len(bad) > 0 {
		g, b := min(each[0], len(good)), min(each[1], len(bad))
		rows = append(append(rows, good[:g]...), bad[:b]...)
		good, bad = good[g:], bad[b:]
	}
	return rows
}

// rejectGoods loads rows, of which only the good ones are taken.
func rejectGoods(t *testing.T, s side, table, header string, rows, good, bad []string) {
	t.Helper()
	at := t.TempDir()
	plan := load.Plan{Rejects: rejectsIn(t, at)}
	stats, err := plan.Text(t.Context(), s.dst, strings.NewReader(header+strings.Join(rows, "")), "goods.csv",
		format.CSV{}, table)
	if err != nil {
		t.Fatal(err)
	}
	if stats.Rows != int64(len(good)) || stats.Rejected != int64(len(bad)) {
		t.Errorf("%+v", stats)
	}
	src := s.open()
	defer closing(t, src)
	got := csvOf(t, src, table)
	if slices.Sort(got); !slices.Equal(got, good) {
		t.Errorf("the table has %q", got)
	}
	numbers, texts := readRejects(t, filepath.Join(at, "goods.csv"), header)
	if len(texts) != len(bad) {
		t.Fatalf("%d rows are rejected, want %d: %q", len(texts), len(bad), texts)
	}
	for i, number := range numbers {
		if i > 0 && number <= numbers[i-1] || rows[number-1] != texts[i] {
			t.Errorf("row %d is rejected as %q, and is %q", number, texts[i], rows[number-1])
		}
	}
}

// TestRejectsMany has a few of many rows refused, in several blocks: what is in the table and in the file is all.
func TestRejectsMany(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	fill := strings.Repeat("x", 90)
	var text strings.Builder
	text.WriteString("id,title\n")
	first := map[int]bool{}
	var rows []string
	refused := 0
	for range 30_000 {
		id := r.IntN(1 << 22)
		title := fill[:1+r.IntN(len(fill)-1)]
		if r.IntN(50) == 0 {
			title = "\"" + title + "\nsecond\""
		}
		if first[id] {
			refused++
		}
		first[id] = true
		rows = append(rows, fmt.Sprintf("%d,%s\n", id, title))
		text.WriteString(rows[len(rows)-1])
	}
	for name, to := range sides {
		t.Run(name, func(t *testing.T) {
			s, at := to(t), t.TempDir()
			if err := s.try("CREATE TABLE many (id int PRIMARY KEY, title text)"); err != nil {
				t.Fatal(err)
			}
			plan := load.Plan{Rejects: rejectsIn(t, at), Jobs: 2, Loaders: 3, ReadBack: true}
			stats, err := plan.Text(t.Context(), s.dst, strings.NewReader(text.String()), "many.csv", format.CSV{},
				"many")
			if err != nil || stats.Rejected != int64(refused) || stats.Rows != int64(len(first)) {
				t.Fatalf("%+v, %v; want %d rejected", stats, err, refused)
			}
			numbers, texts := readRejects(t, filepath.Join(at, "many.csv"), "id,title\n")
			taken := map[string]bool{}
			for i, number := range numbers {
				if rows[number-1] != texts[i] {
					t.Fatalf("row %d is rejected as %q", number, texts[i])
				}
			}
			for _, line := range csvOf(t, s.open(), "many") {
				id, _, _ := strings.Cut(line, ",")
				taken[id] = true
			}
			if len(numbers) != refused || len(taken) != len(first) {
				t.Errorf("%d rows are in the file and %d in the table", len(numbers), len(taken))
			}
		})
	}
}

// TestRejectsJSON rejects lines that are no JSON, that cannot be converted, and that the database refuses.
func TestRejectsJSON(t *testing.T) {
	lines := []string{
		`{"id":1,"at":1700000000}`, `{"id":2,"at":"yesterday"}`, "", `{"id":3,`, `  {"id":1,"at":null}  `,
		`{"id":4,"at":0}`, `["\u00e9"]`,
	}
	for name, to := range sides {
		t.Run(name, func(t *testing.T) {
			s, at := to(t), t.TempDir()
			if err := s.try("CREATE TABLE e (id int PRIMARY KEY, at varchar(40))"); err != nil {
				t.Fatal(err)
			}
			plan := load.Plan{Rejects: rejectsIn(t, at), Conversions: conversions(t, "at=epoch seconds")}
			stats, err := plan.Text(t.Context(), s.dst, strings.NewReader(strings.Join(lines, "\n")), "e.jsonl",
				format.JSONL{}, "e")
			if err != nil || stats.Rows != 2 || stats.Rejected != 4 {
				t.Fatalf("%+v, %v", stats, err)
			}
			numbers, texts := readRejects(t, filepath.Join(at, "e.jsonl"), "json\n")
			if want := []int{2, 3, 4, 6}; !slices.Equal(numbers, want) {
				t.Errorf("the rows %v are rejected", numbers)
			}
			for i, number := range []int{1, 3, 4, 6} {
				quoted := `"` + strings.ReplaceAll(strings.TrimSpace(lines[number]), `"`, `""`) + "\"\n"
				if texts[i] != quoted {
					t.Errorf("line %d is rejected as %q", number, texts[i])
				}
			}
		})
	}
}

// TestRejectsMost ends a load with more rows than may be rejected. Nothing is committed, and there is no file.
func TestRejectsMost(t *testing.T) {
	for name, to := range sides {
		t.Run(name, func(t *testing.T) {
			s, at := to(t), t.TempDir()
			if err := s.try("CREATE TABLE t (id int PRIMARY KEY)"); err != nil {
				t.Fatal(err)
			}
			plan := load.Plan{Rejects: rejectsIn(t, at)}
			for _, most := range []int64{-1, 1, 2} {
				plan.Rejects.Most = most
				text := strings.NewReader("id\n1\n1\n2\n1\n")
				stats, err := plan.Text(t.Context(), s.dst, text, "t.csv", format.CSV{}, "t")
				many, is := errors.AsType[*load.RejectsError](err)
				row, about := errors.AsType[*sink.RowError](err)
				entries, readErr := os.ReadDir(at)
				src := s.open()
				rows := csvOf(t, src, "t")
				closing(t, src)
				switch {
				case readErr != nil:
					t.Fatal(readErr)
				case most == 2 && (err != nil || stats.Rejected != 2 || len(rows) != 2 || len(entries) != 1):
					t.Errorf("%+v, %v; %q", stats, err, rows)
				case most < 2 && (!is || !about || row.Row != 3+most || many.Most != max(0, most) ||
					len(rows)+len(entries) > 0):
					t.Errorf("most %d: %+v, %v; %q, %v", most, stats, err, rows, entries)
				}
			}
		})
	}
}

// TestRejectsRefused refuses what cannot be done with rejects.
func TestRejectsRefused(t *testing.T) {
	db := newMemory("t")
	with := func(plan load.Plan) error {
		if plan.Rejects == nil {
			plan.Rejects = rejectsIn(t, t.TempDir())
		}
		_, err := plan.Text(t.Context(), db, strings.NewReader("id\n1\n"), "t.csv", format.CSV{}, "t")
		return err
	}
	for name, err := range map[string]error{
		"no files":   with(load.Plan{Rejects: new(load.Rejects)}),
		"a conflict": with(load.Plan{Filling: sink.Filling{Existing: sink.Append, Conflict: sink.Ignore}}),
		"other rows": with(load.Plan{ReadBack: true, Filling: sink.Filling{Existing: sink.Append}}),
		"no marks":   with(load.Plan{}),
	} {
		if err == nil {
			t.Errorf("%s: nothing is refused", name)
		}
	}
}
