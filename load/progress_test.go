package load_test

import (
	"errors"
	"strings"
	"testing"

	"culvert/export"
	"culvert/load"
)

// TestProgress counts what is committed: not the rows of a table that has failed, and those of a table that is loaded
// again once.
func TestProgress(t *testing.T) {
	src := newShop(t)
	backup := newBackup(t, src, export.Plan{}, 0)
	for _, loaders := range []int{1, 3} {
		db := newMemory(shopTables...)
		db.refuse = func(line string) error {
			if strings.HasPrefix(line, "11000,") {
				return errors.New("refused")
			}
			return nil
		}
		plan := load.Plan{Loaders: loaders, Progress: new(load.Progress)}
		if _, err := plan.Directory(t.Context(), cloning{db}, backup.Directory, nil); err == nil {
			t.Fatal("no error")
		}
		if rows, done := plan.Progress.Rows.Load(), plan.Progress.Done(); rows != 3 || done != 1 {
			t.Errorf("%d loaders: %d rows, done %v", loaders, rows, done)
		}

		from, _ := newPostgres(t, chainSQL+chainRowsSQL)
		_, dst := newPostgres(t, chainSQL)
		chained := newBackupOf(t, openPostgres(t, from), export.Plan{}, 0, chain...)
		plan.Progress = new(load.Progress)
		if _, err := plan.Directory(t.Context(), dst, chained.Directory, nil); err != nil {
			t.Fatal(err)
		}
		if rows, done := plan.Progress.Rows.Load(), plan.Progress.Done(); rows != 4701 || done != 1 {
			t.Errorf("%d loaders, again: %d rows, done %v", loaders, rows, done)
		}
	}

	from, _ := newPostgres(t, chainSQL+chainRowsSQL+"; ANALYZE")
	_, dst := newPostgres(t, chainSQL)
	plan := load.Plan{Progress: new(load.Progress)}
	var tables []load.Names
	for _, name := range chain {
		tables = append(tables, load.Names{From: name, To: name})
		if _, err := plan.PreviewCopy(t.Context(), dst, openPostgres(t, from), name, name); err != nil {
			t.Fatal(err)
		}
	}
	if done := plan.Progress.Done(); done != 0 {
		t.Errorf("done %v before", done)
	}
	if _, err := plan.CopyTables(t.Context(), dst, openPostgres(t, from), tables); err != nil {
		t.Fatal(err)
	}
	if rows, done := plan.Progress.Rows.Load(), plan.Progress.Done(); rows != 4701 || done != 1 {
		t.Errorf("copied: %d rows, done %v", rows, done)
	}
}
