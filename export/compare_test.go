package export_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/manifest"
	"culvert/source"
)

// exportedTables exports tables and opens them.
func exportedTables(t *testing.T, src source.Source, names ...string) *export.Directory {
	t.Helper()
	to := newShelf()
	plan := export.Plan{Unencrypted: true, Format: format.JSONL{}}
	var partial *export.PartialError
	if _, err := plan.Tables(t.Context(), to, src, names); err != nil && !errors.As(err, &partial) {
		t.Fatal(err)
	}
	d, err := export.OpenDirectory(filesOf(to))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCompare compares an export with databases that have other rows.
func TestCompare(t *testing.T) {
	d := exportedTables(t, database(t, `
		CREATE TABLE a (id INT, title TEXT); INSERT INTO a VALUES (1, 'x'), (2, NULL), (3, '');
		CREATE TABLE b (id INT); INSERT INTO b VALUES (7)`), "a", "b")
	for script, want := range map[string]string{
		`CREATE TABLE a (id INT, title TEXT); INSERT INTO a VALUES (3, ''), (2, NULL), (1, 'x');
			CREATE TABLE b (id INT); INSERT INTO b VALUES (7)`: "",
		`CREATE TABLE a (later INT, id INT, title TEXT); INSERT INTO a VALUES (0, 3, ''), (0, 2, NULL), (0, 1, 'x');
			CREATE TABLE b (id INT); INSERT INTO b VALUES (7)`: "",
		`CREATE TABLE a (id INT, title TEXT); INSERT INTO a VALUES (3, NULL), (2, ''), (1, 'x');
			CREATE TABLE b (id INT); INSERT INTO b VALUES (7)`: "a: export: it has as many rows as the export, 3, " +
			"but not the same",
		`CREATE TABLE a (id INT, title TEXT); INSERT INTO a VALUES (1, 'x'), (1, 'x'), (1, 'x'), (1, 'x');
			CREATE TABLE b (id INT); INSERT INTO b VALUES (8)`: "a: export: it has 4 rows, and the export 3; " +
			"b: export: it has as many rows as the export, 1, but not the same",
		`CREATE TABLE a (id INT, name TEXT); CREATE TABLE c (id INT)`: `a: export: column "title" does not exist; ` +
			`b: export: table "b" does not exist`,
	} {
		var found []string
		progress := new(export.Progress)
		err := d.Compare(t.Context(), database(t, script), 2, progress, nil, func(table *manifest.Table, err error) {
			if errors.Is(err, export.ErrDiffers) {
				found = append(found, table.Name+": "+err.Error())
			} else if err != nil {
				t.Errorf("%s: %v", table.Name, err)
			}
		})
		if got := strings.Join(found, "; "); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
		differs, is := errors.AsType[*export.DiffersError](err)
		if is != (want != "") || is && (differs.Differing != len(found) || differs.Tables != 2) ||
			want == "" && progress.Rows.Load() != 4 {
			t.Errorf("%q: %v, %d rows", want, err, progress.Rows.Load())
		}
	}
}

// TestCompareFails compares with a source that fails, and leaves out tables whose export failed.
func TestCompareFails(t *testing.T) {
	good := schema{"a": {rows: 10}, "b": {rows: 10}, "denied": nil}
	d := exportedTables(t, good, "a", "denied", "b")
	if err := d.Compare(t.Context(), good, 2, nil, nil, nil); err != nil {
		t.Errorf("the same: %v", err)
	}
	denied := schema{"a": nil, "b": {rows: 10}}
	if err := d.Compare(t.Context(), denied, 2, nil, nil, nil); !errors.Is(err, errDenied) ||
		errors.Is(err, export.ErrDiffers) {
		t.Errorf("denied: %v", err)
	}
	denied["b"] = &generated{rows: 9}
	if err := d.Compare(t.Context(), denied, 2, nil, nil, nil); !errors.Is(err, export.ErrDiffers) {
		t.Errorf("denied, and fewer rows: %v", err)
	}
	lost := schema{"a": {rows: 10, failAt: 5, fail: source.ErrUnavailable}, "b": {rows: 9}}
	if err := d.Compare(t.Context(), lost, 2, nil, nil, nil); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("lost: %v", err)
	}
}

// TestCompareNames compares only the tables that are named, under the names that they have in the database.
func TestCompareNames(t *testing.T) {
	d := exportedTables(t, schema{"a": {rows: 10}, "b": {rows: 20}}, "a", "b")
	renamed := schema{"old_a": {rows: 10}, "b": {rows: 7}}
	var found []string
	compared := func(table *manifest.Table, _ error) { found = append(found, table.Name) }
	names := map[string]string{"a": "old_a"}
	err := d.Compare(t.Context(), renamed, 2, nil, names, compared)
	if err != nil || !slices.Equal(found, []string{"a"}) {
		t.Errorf("compared %q, error %v", found, err)
	}
	names["b"] = ""
	if err := d.Compare(t.Context(), renamed, 2, nil, names, nil); !errors.Is(err, export.ErrDiffers) {
		t.Errorf("a table that keeps its name, and has fewer rows: %v", err)
	}
	names["c"] = "a"
	if err := d.Compare(t.Context(), renamed, 2, nil, names, nil); !errors.As(err, new(*source.UnknownError)) {
		t.Errorf("a table that no manifest lists: %v", err)
	}
}
