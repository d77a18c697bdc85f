package gormdb_test

import (
	"database/sql"
	"testing"

	"gorm.io/gorm"

	"culvert/gormdb"
	"culvert/internal/testkit"
	"culvert/source"
)

// TestAllocations: what a row costs is what the driver and database/sql make of it, as if there were no GORM.
func TestAllocations(t *testing.T) {
	db := sqliteDB(t, &gorm.Config{})
	alone, err := manyRows(db, 1_000_000).Rows()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := alone.Close(); err != nil {
			t.Error(err)
		}
	}()
	var values [3]any
	dest := []any{&discard{&values[0]}, &discard{&values[1]}, &discard{&values[2]}}
	const step = 1000
	perRow := testing.AllocsPerRun(10, func() {
		for range step {
			if !alone.Next() {
				t.Fatal(alone.Err())
			}
			if err := alone.Scan(dest...); err != nil {
				t.Fatal(err)
			}
		}
	}) / step

	rows, err := gormdb.Query(manyRows(db, 1_000_000))(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	var b source.Batch
	b.SetLimit(64 << 10)
	next := func() {
		if err := rows.Next(&b); err != nil {
			t.Fatal(err)
		}
	}
	next()
	testkit.Allocs(t, (perRow+0.05)*float64(b.Rows()), next)
}

// discard keeps the last value that the driver gave.
type discard struct{ value *any }

var _ sql.Scanner = (*discard)(nil)

func (d *discard) Scan(src any) error {
	*d.value = src
	return nil
}
