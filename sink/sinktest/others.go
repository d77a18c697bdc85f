package sinktest

import (
	"errors"
	"fmt"
	"testing"

	"culvert/sink"
)

// testOtherTables removes the rows of a table to which rows of others refer. It is refused, and then changes nothing,
// or it replaces the rows. The rows of the others stay in any case, and none of them loses the row that it refers to.
func testOtherTables(t *testing.T, f *Fixture) {
	f.create(t, "parent_t", "id", "bigint NOT NULL PRIMARY KEY")
	f.Exec(t, "INSERT INTO "+f.Quote("parent_t")+" VALUES (1), (2)")
	children := map[string]string{"cascade_t": "CASCADE", "null_t": "SET NULL"}
	for child, action := range children {
		f.Exec(t, fmt.Sprintf("CREATE TABLE %s (id bigint, parent bigint, "+
			"FOREIGN KEY (parent) REFERENCES %s (id) ON DELETE %s)", f.Quote(child), f.Quote("parent_t"), action))
		f.Exec(t, "INSERT INTO "+f.Quote(child)+" VALUES (1, 1), (2, 2)")
	}
	defer func() { // before the table that they refer to is dropped
		for child := range children {
			f.Exec(t, "DROP TABLE "+f.Quote(child))
		}
	}()
	for _, existing := range []sink.Existing{sink.Truncate, sink.Swap} {
		for _, ids := range [][][]string{{{"1"}, {"2"}, {"3"}}, {{"1"}}} {
			err := replace(t, f.open(t), "parent_t", existing, ids)
			got := f.read(t, "parent_t")
			switch {
			case err == nil && len(ids) == 1:
				t.Error("rows refer to a row that was removed")
			case err == nil:
				expect(t, got, "1\n", "2\n", "3\n")
			case len(got) < 2:
				t.Errorf("after %v the table has %q", err, got)
			}
			for child := range children {
				expect(t, f.read(t, child), "1,1\n", "2,2\n")
			}
		}
	}
}

// replace replaces the rows of a table, and returns what keeps it from that.
func replace(t *testing.T, db sink.Sink, name string, existing sink.Existing, rows [][]string) error {
	t.Helper()
	filled, err := db.Table(t.Context(), name, sink.Filling{Existing: existing})
	if err != nil {
		return err
	}
	loader := filled.Loaders()[0]
	for _, row := range rows {
		if err == nil {
			err = loader.Load(batch(row))
		}
	}
	if err == nil {
		_, err = loader.Close()
	}
	if err == nil {
		err = filled.Commit()
	}
	return errors.Join(err, filled.Discard())
}

// testSelfReferences replaces the rows of a table that refer to each other, whatever is to happen to a row when the one
// that it refers to is deleted. The new ones refer to rows that come later. A swap may be refused instead.
func testSelfReferences(t *testing.T, f *Fixture) {
	const chain = 20 // longer than MySQL follows ON DELETE CASCADE
	for i, action := range []string{
		"", "ON DELETE RESTRICT", "ON DELETE NO ACTION", "ON DELETE CASCADE", "ON DELETE SET NULL",
	} {
		name := fmt.Sprintf("tree_%d", i)
		quoted := f.Quote(name)
		f.Exec(t, "CREATE TABLE "+quoted+" (id bigint NOT NULL PRIMARY KEY, up bigint, "+
			"FOREIGN KEY (up) REFERENCES "+quoted+" (id) "+action+")")
		t.Cleanup(func() {
			f.Exec(t, "UPDATE "+quoted+" SET up = NULL")
			f.Exec(t, "DROP TABLE "+quoted)
		})
		for id := range chain {
			f.Exec(t, fmt.Sprintf("INSERT INTO %s VALUES (%d, NULLIF(%d, 0))", quoted, id+1, id))
		}
		f.Exec(t, fmt.Sprintf("UPDATE %s SET up = %d WHERE id = 1", quoted, chain)) // so they are a circle
		for _, test := range []struct {
			existing sink.Existing
			rows     [][]string
			want     []string
		}{
			{sink.Truncate, [][]string{{"4", "5"}, {"5", null}, {"6", "6"}, {"7", "4"}}, []string{
				"4,5\n", "5,\n", "6,6\n", "7,4\n",
			}},
			{sink.Swap, [][]string{{"8", "9"}, {"9", "8"}}, []string{"8,9\n", "9,8\n"}},
			{sink.Truncate, nil, []string{}},
			{sink.Refuse, [][]string{{"1", "2"}, {"2", "1"}}, []string{"1,2\n", "2,1\n"}},
		} {
			before := f.read(t, name)
			err := replace(t, f.open(t), name, test.existing, test.rows)
			switch {
			case err == nil:
				expect(t, f.read(t, name), test.want...)
			case test.existing == sink.Swap:
				expect(t, f.read(t, name), before...)
			default:
				t.Errorf("%s: %q are refused: %v", action, test.rows, err)
			}
		}
	}
}
