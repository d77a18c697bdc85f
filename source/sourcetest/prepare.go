package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"culvert/source"
)

// testPrepare reads and defines tables that were looked up together, and compares that with a source that looks up
// each.
func testPrepare(t *testing.T, f *Fixture) {
	const odd = `prepare "odd"`
	f.create(t, "prepare_a", "id", "bigint NOT NULL PRIMARY KEY", "title", f.Text, "count", "bigint DEFAULT 7")
	f.insert(t, "prepare_a", "1, 'one', 2", "2, NULL, 3")
	f.create(t, "prepare_empty", "id", "bigint")
	f.create(t, odd, "id", "bigint", oddColumn, f.Text)
	f.insert(t, odd, "5, 'five'")
	f.Exec(t, "CREATE VIEW prepare_v AS SELECT id, title FROM "+f.Quote("prepare_a"))
	t.Cleanup(func() { f.Exec(t, "DROP VIEW prepare_v") })
	src, other := f.open(t), f.open(t)
	preparer := as[source.Preparer](t, src)
	names := []string{"prepare_a", "no_such_table", "prepare_empty", odd, "prepare_v"}
	if err := preparer.Prepare(context.Background(), names); err != nil {
		t.Fatal(err)
	}
	joined := []source.Source{src}
	if f.Parting != nil && f.Parting.Shares {
		another, closeNow := join(t, src, share(t, src))
		defer closeNow()
		joined = append(joined, another)
	}
	for _, src := range joined {
		for range 2 { // what is known may be used up
			for _, name := range names {
				expectAlike(t, src, other, name)
			}
		}
	}
	_, err := src.Table(context.Background(), "no_such_table")
	expectUnknown(t, err, "table", "no_such_table")
}

// expectAlike compares what two sources return for a table.
func expectAlike(t *testing.T, got, want source.Source, table string) {
	t.Helper()
	var results [2]struct {
		columns    []source.Column
		rows       [][]value
		definition *source.Definition
		err        string
	}
	for i, src := range []source.Source{got, want} {
		r := &results[i]
		rows, err := src.Table(context.Background(), table)
		if err == nil {
			r.columns = append(r.columns, rows.Columns()...)
			r.rows = readAll(t, rows)
			closeRows(t, rows)
			r.definition, err = source.Define(context.Background(), src, table)
		}
		r.err = fmt.Sprint(err)
	}
	if !reflect.DeepEqual(results[0], results[1]) {
		t.Errorf("%s after Prepare: %+v, and without: %+v", table, results[0], results[1])
	}
}

// testPrepareOpen prepares while rows are open, with a context that has ended, and before rows that are closed early.
func testPrepareOpen(t *testing.T, f *Fixture) {
	f.createMany(t, "prepare_many")
	src := f.open(t)
	preparer := as[source.Preparer](t, src)
	rows := f.rows(t, src, "prepare_many")
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	if err := preparer.Prepare(context.Background(), []string{"prepare_many"}); err == nil {
		t.Error("tables are prepared while rows are open")
	}
	if rest := len(readAll(t, rows)); rest != manyRows-b.Rows() {
		t.Errorf("after that there are %d rows, want %d", rest, manyRows-b.Rows())
	}
	closeRows(t, rows)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := preparer.Prepare(canceled, []string{"prepare_many"}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a canceled context: %v", err)
	}
	// Rows that were closed early end neither the snapshot nor the connection.
	if err := preparer.Prepare(context.Background(), []string{"prepare_many"}); err != nil {
		t.Fatal(err)
	}
	rows = f.rows(t, src, "prepare_many")
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	closeRows(t, rows)
	if all := len(readAll(t, f.rows(t, src, "prepare_many"))); all != manyRows {
		t.Errorf("after rows that were closed early there are %d, want %d", all, manyRows)
	}
}
