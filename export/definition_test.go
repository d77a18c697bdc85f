package export_test

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"testing"

	"culvert/export"
	"culvert/manifest"
	"culvert/source"
)

// exportTables exports tables in one of the two ways, and returns the manifest.
func exportTables(
	t *testing.T, plan export.Plan, src source.Source, parted bool, names ...string,
) (*manifest.Manifest, error) {
	t.Helper()
	to := newShelf()
	var err error
	if parted {
		_, err = inParts(plan, 1<<20).Tables(t.Context(), to, src, names)
	} else {
		_, err = plan.Tables(t.Context(), to, src, names)
	}
	m, readErr := manifest.Read(bytes.NewReader(to.files[manifest.Name]))
	if readErr != nil {
		t.Fatal(errors.Join(err, readErr))
	}
	return m, err
}

// TestDefinitions has each way of export write what makes the tables again.
func TestDefinitions(t *testing.T) {
	src := database(t, `CREATE TABLE a (id INTEGER PRIMARY KEY, "<title>" TEXT NOT NULL DEFAULT 'x');
		CREATE INDEX i ON a ("<title>"); INSERT INTO a (id) VALUES (1), (2);
		CREATE TABLE b (x); CREATE VIEW v AS SELECT 1`)
	for _, parted := range []bool{false, true} {
		m, err := exportTables(t, export.Plan{Unencrypted: true}, src, parted, "a", "b", "v")
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range m.Tables {
			want, err := source.Define(t.Context(), src, table.Name)
			if want != nil {
				want.IsView = false // a manifest does not have it
			}
			if err != nil || want == nil || !reflect.DeepEqual(table.Definition, want) {
				t.Errorf("in parts %v: definition %+v, want %+v, error %v", parted, table.Definition, want, err)
			}
		}
	}
	some := export.Plan{Unencrypted: true, Selection: source.Selection{Columns: []string{"id"}, Where: "id > 1"}}
	m, err := exportTables(t, some, src, true, "a")
	if err != nil || len(m.Tables[0].Columns) != 1 || len(m.Tables[0].Definition.Columns) != 2 {
		t.Errorf("%+v, error %v", m, err)
	}
}

// undefined is a source that cannot define one of its tables, and knows nothing about the others.
type undefined struct{ *cuttable }

func (undefined) Define(_ context.Context, table string) (*source.Definition, error) {
	if table == "broken" {
		return nil, errDenied
	}
	return nil, nil
}

func TestDefinitionFails(t *testing.T) {
	src := undefined{&cuttable{schema: schema{"a": {rows: 10}, "broken": {rows: 10}, "b": {rows: 10}}}}
	for _, parted := range []bool{false, true} {
		m, err := exportTables(t, export.Plan{Unencrypted: true}, src, parted, "a", "broken", "b")
		if partial, ok := errors.AsType[*export.PartialError](err); !ok || partial.Failed != 1 {
			t.Errorf("in parts %v: error %v", parted, err)
		}
		for i, table := range m.Tables {
			if failed := table.Error != ""; failed != (i == 1) || table.Definition != nil {
				t.Errorf("in parts %v: %+v", parted, table)
			}
		}
	}
}
