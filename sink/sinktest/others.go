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
		for _, ids := range [][]string{{"1", "2", "3"}, {"1"}} {
			err := replace(t, f.open(t), existing, ids)
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

// replace replaces the rows of the table parent_t, and returns what keeps it from that.
func replace(t *testing.T, db sink.Sink, existing sink.Existing, ids []string) error {
	t.Helper()
	filled, err := db.Table(t.Context(), "parent_t", sink.Filling{Existing: existing})
	if err != nil {
		return err
	}
	loader := filled.Loaders()[0]
	for _, id := range ids {
		if err == nil {
			err = loader.Load(batch([]string{id}))
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
