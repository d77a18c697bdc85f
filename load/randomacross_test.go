package load_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culvert/export"
	"culvert/internal/canonical"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/sink"
	"culvert/sink/dialect"
	"culvert/source"
)

// acrossSystems are the systems between which rows are taken.
var acrossSystems = map[string]func(t *testing.T) database{
	"sqlite": randomSQLite, "postgres": randomPostgres, "mariadb": randomMariaDB,
}

// TestRandomAcross takes random rows of every type to each other system, by a copy and by a load. They are equal there,
// and when they have come back, or each value that is not is refused by its row and its column.
// CULVERT_TEST_ROUNDS is the number of tables in each direction, and CULVERT_TEST_SEED is that of the first one.
func TestRandomAcross(t *testing.T) {
	t.Parallel()
	rounds, first := 2, 0
	switch {
	case testkit.Soak():
		rounds = 60
	case !testkit.RunsLong():
		rounds = 1
	}
	if n, err := strconv.Atoi(os.Getenv("CULVERT_TEST_ROUNDS")); err == nil {
		rounds = n
	}
	if n, err := strconv.Atoi(os.Getenv("CULVERT_TEST_SEED")); err == nil {
		first = n
	}
	for _, from := range slices.Sorted(maps.Keys(acrossSystems)) {
		for _, to := range slices.Sorted(maps.Keys(acrossSystems)) {
			if from == to {
				continue
			}
			t.Run(from+" "+to, func(t *testing.T) {
				was, is := acrossSystems[from](t), acrossSystems[to](t)
				if from == "postgres" {
					was.exec("CREATE TYPE mood AS ENUM ('so so', 'it''s', 'é')")
				}
				for seed := first; seed < first+rounds; seed++ {
					t.Run(strconv.Itoa(seed), func(t *testing.T) {
						table := newRandomTable(from, rand.New(rand.NewPCG(uint64(seed), 0)))
						table.name = fmt.Sprint("t", seed)
						table.across(t, was, is)
					})
				}
			})
		}
	}
}

// randomTable is a table of a number and columns of random types.
type randomTable struct {
	name  string
	types []randomType
	rows  [][]string // SQL
	odd   [][]bool
}

func newRandomTable(system string, random *rand.Rand) *randomTable {
	const columns, rows = 6, 40
	table, all := new(randomTable), randomTypes[system]
	for range columns {
		table.types = append(table.types, all[random.IntN(len(all))])
	}
	for range rows {
		row, odd := make([]string, columns), make([]bool, columns)
		for i := range row {
			if row[i] = "NULL"; random.IntN(8) > 0 {
				row[i], odd[i] = table.types[i].one(random)
			}
		}
		table.rows, table.odd = append(table.rows, row), append(table.odd, odd)
	}
	return table
}

// define is the statement that makes the table under a name.
func (r *randomTable) define(name string) string {
	columns := []string{"id bigint PRIMARY KEY"}
	for i, one := range r.types {
		columns = append(columns, fmt.Sprintf("c%d %s", i, one.sql))
	}
	return "CREATE TABLE " + name + " (" + strings.Join(columns, ", ") + ")"
}

// fill makes the table, with its rows.
func (r *randomTable) fill(db database) {
	var rows []string
	for i, row := range r.rows {
		rows = append(rows, fmt.Sprintf("(%d, %s)", i, strings.Join(row, ", ")))
	}
	db.exec("DROP TABLE IF EXISTS " + r.name)
	db.exec(r.define(r.name))
	db.exec("INSERT INTO " + r.name + " VALUES " + strings.Join(rows, ", "))
}

// across takes the table to another system and back. A value that is refused is taken out, and it is tried again.
func (r *randomTable) across(t *testing.T, was, is database) {
	for {
		r.fill(was)
		done := false
		err := opened(t, was, func(src source.Source) error {
			refused, err := r.taken(t, src, is)
			done = refused == nil
			if err == nil && refused != nil {
				err = r.remove(t, refused)
			}
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", r.define(r.name), err)
		}
		if done || len(r.types) == 0 {
			break
		}
	}
	if len(r.types) > 0 {
		r.back(t, was, is)
	}
}

// differing names a row that was taken to another system and is another one there.
func (r *randomTable) differing(t *testing.T, src source.Source, is database) error {
	is.exec("DROP TABLE IF EXISTS " + r.name)
	err := filled(t, is, func(dst sink.Sink) error {
		_, err := (&load.Plan{Create: true}).Copy(t.Context(), dst, src, r.name, r.name)
		return err
	})
	return errors.Join(err, opened(t, is, func(there source.Source) error {
		return r.compare(t, src, r.name, there, r.name)
	}))
}

// compare compares the rows of two tables by their canonical texts, for the types of the first one.
func (r *randomTable) compare(t *testing.T, one source.Source, first string, other source.Source, second string) error {
	t.Helper()
	want, types := r.read(t, one, first, nil)
	got, _ := r.read(t, other, second, types)
	for i := range want {
		if want[i] != got[i] {
			return fmt.Errorf("%q became %q", want[i], got[i])
		}
	}
	return nil
}

// taken takes the table to another system by a load and by a copy, and compares them.
func (r *randomTable) taken(t *testing.T, src source.Source, is database) (refused, err error) {
	t.Helper()
	whole := newBackupOf(t, src, export.Plan{Unencrypted: true}, 0, r.name)
	plan := load.Plan{Create: true, ReadBack: true}
	ways := []func(dst sink.Sink) error{
		func(dst sink.Sink) error {
			_, err := plan.Directory(t.Context(), dst, whole.Directory, nil)
			return err
		},
		func(dst sink.Sink) error {
			_, err := plan.Copy(t.Context(), dst, src, r.name, r.name)
			return err
		},
	}
	for _, fill := range ways {
		is.exec("DROP TABLE IF EXISTS " + r.name)
		if refused = filled(t, is, fill); refused != nil && !isRefused(refused) {
			return nil, errors.Join(refused, r.differing(t, src, is))
		} else if refused != nil {
			return refused, nil
		}
	}
	return nil, against(t, is, whole.Directory)
}

// remove takes out a value that is refused, or a column of which the other system has no equal. Only values that are
// odd may be refused.
func (r *randomTable) remove(t *testing.T, refused error) error {
	t.Helper()
	if typed, is := errors.AsType[*dialect.TypeError](refused); is {
		i, err := strconv.Atoi(strings.TrimPrefix(typed.Column, "c"))
		if err != nil {
			return err
		}
		r.types = slices.Delete(r.types, i, i+1)
		for row := range r.rows {
			r.rows[row], r.odd[row] = slices.Delete(r.rows[row], i, i+1), slices.Delete(r.odd[row], i, i+1)
		}
		return nil
	}
	row, is := errors.AsType[*sink.RowError](refused)
	if !is {
		return refused
	}
	column, err := strconv.Atoi(strings.TrimPrefix(row.Column, "c"))
	number := int(row.Row) - 1
	if err != nil || number < 0 || number >= len(r.rows) {
		return fmt.Errorf("it names no row and column: %w", refused)
	}
	if !r.odd[number][column] {
		return fmt.Errorf("a %s that all systems have is refused, %s: %w", r.types[column].sql, r.rows[number][column],
			refused)
	}
	t.Logf("%s %s: %v", r.types[column].sql, r.rows[number][column], refused)
	r.rows[number][column], r.odd[number][column] = "NULL", false
	return nil
}

// back takes the table back, into one as it was at first: it has the same rows.
func (r *randomTable) back(t *testing.T, was, is database) {
	t.Helper()
	again := r.name + "_back"
	was.exec("DROP TABLE IF EXISTS " + again)
	was.exec(r.define(again))
	err := opened(t, is, func(src source.Source) error {
		return filled(t, was, func(dst sink.Sink) error {
			_, err := new(load.Plan).Copy(t.Context(), dst, src, r.name, again)
			return err
		})
	})
	if err != nil {
		t.Fatalf("%s: back: %v", r.define(r.name), err)
	}
	err = opened(t, was, func(src source.Source) error { return r.compare(t, src, r.name, src, again) })
	if err != nil {
		t.Errorf("%s: %v", r.define(r.name), err)
	}
}

// read returns the rows of a table by their numbers, each value as its canonical text, and whether it is binary data.
// Without types, they are those of the table.
func (r *randomTable) read(
	t *testing.T, src source.Source, table string, types []source.Type,
) (found []string, _ []source.Type) {
	t.Helper()
	found = make([]string, len(r.rows))
	rows, err := src.Table(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, rows)
	for _, c := range rows.Columns() {
		if len(types) < len(rows.Columns()) {
			types = append(types, c.Logical)
		}
	}
	var batch source.Batch
	var values canonical.Values
	for rows.Next(&batch) == nil {
		for row := range batch.Rows() {
			text, id := "", 0
			for column := range rows.Columns() {
				kind, value := batch.AnyValue(row, column)
				if column == 0 {
					id, _ = strconv.Atoi(string(value))
				}
				if kind == source.Bytes {
					value = fmt.Appendf(nil, `\x%x`, value)
				}
				text += fmt.Sprintf("%t %s, ", kind == source.Null, values.Text(types[column], value))
			}
			found[id] = text
		}
	}
	return found, types
}

// opened calls use with a source of a database.
func opened(t *testing.T, db database, use func(source.Source) error) error {
	t.Helper()
	src, err := db.source()
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, src)
	return use(src)
}
