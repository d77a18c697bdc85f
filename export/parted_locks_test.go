package export_test

import (
	"context"
	"errors"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/place"
	"culvert/postgres"
	"culvert/source"
)

// TestPartsLocked has a table that only the first session can read, and one that none can.
func TestPartsLocked(t *testing.T) {
	db := &cuttable{
		schema: schema{"a": {rows: 90}, "b": {rows: 90}, "c": {rows: 90}}, most: 9,
		locked: map[string]bool{"a": true, "b": false},
	}
	plan := export.Plan{Unencrypted: true, Jobs: 4, Progress: new(export.Progress)}
	to := newShelf()
	all, err := inParts(plan, 10).Tables(t.Context(), to, shared{db}, []string{"a", "b", "c"})
	partial, ok := errors.AsType[*export.PartialError](err)
	if !ok || partial.Failed != 1 || !errors.Is(all[1].Err, source.ErrLocked) {
		t.Fatalf("%+v, error %v", all, err)
	}
	if all[0].Rows != 90 || all[2].Rows != 90 || plan.Progress.Rows.Load() != 180 {
		t.Errorf("%+v, %d rows", all, plan.Progress.Rows.Load())
	}
	d, err := export.OpenDirectory(filesOf(to))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Verify(t.Context(), nil); !errors.As(err, &partial) {
		t.Error(err)
	}
}

// TestPostgresPartsBehindChange has a change of a table wait for the session that has cut it, before others have read a
// part of it. The first session reads them all, the others read another table, and then it is the turn of the change.
// The others wait for ten seconds, for which reason other long tests run meanwhile.
func TestPostgresPartsBehindChange(t *testing.T) {
	t.Parallel()
	f := &fault{t: t, database: testkit.Postgres(t).NewDatabase(t)}
	f.database.Exec(t, faultTable+"; CREATE TABLE first AS TABLE t")
	db, err := postgres.OpenSource(t.Context(), f.database.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	// The first file is that of a part of the first table: no session can have read a part of t.
	begun, changed := make(chan struct{}, 1), make(chan struct{})
	to := newShelf()
	files := createFunc{to, func(ctx context.Context, name string) (place.File, error) {
		select {
		case begun <- struct{}{}:
		default:
		}
		<-changed
		return to.Create(ctx, name)
	}}
	var all []export.TableStats
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		plan := export.Plan{Unencrypted: true, Compression: export.None, Jobs: 3}
		all, err = inParts(plan, 2<<20).Tables(t.Context(), files, db, []string{"first", "t"})
	}()
	<-begun
	if err := changeWaits("ALTER TABLE t ADD late int")(f); err != nil {
		t.Error(err)
	}
	close(changed)
	<-ended
	// One of the others may be so late that no part of t is left for it to be refused.
	if err != nil || len(all) != 2 || all[0].Rows != faultRows || all[1].Rows != faultRows ||
		all[0].Readers != 3 || all[1].Readers > 2 || all[1].Indivisible == nil {
		t.Errorf("%+v, error %v", all, err)
	}
	if d, err := export.OpenDirectory(filesOf(to)); err != nil || d.Verify(t.Context(), nil) != nil {
		t.Errorf("the files are not those of the manifest: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	for _, after := range f.after {
		after()
	}
}
