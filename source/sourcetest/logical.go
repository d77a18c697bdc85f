package sourcetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culvert/source"
)

// expectLogical compares the logical type of a column with a text, which is "" for unknown.
func expectLogical(t *testing.T, c source.Column, want string) {
	t.Helper()
	want = cmp.Or(want, "unknown")
	if got := c.Logical.String(); got != want {
		t.Errorf("column %q of type %q has the logical type %s, want %s", c.Name, c.Type, got, want)
	}
}

// DocumentedType is a type of a system in the table that the comment of package source has.
type DocumentedType struct {
	Name, Logical string // as the table has them, with (n), (p), (p,s) and (…)
}

// DocumentedTypes reads that table.
func DocumentedTypes(t *testing.T) map[source.Dialect][]DocumentedType {
	t.Helper()
	dir, err := os.Getwd() // of the package that is tested; how far up the root is differs
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "source", "doc.go"))
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		text, err = os.ReadFile(filepath.Join(dir, "source", "doc.go"))
	}
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "its types\n")
	table, _, ends := strings.Cut(table, "\n//\n")
	if !found || !ends {
		t.Fatal("package source documents no table of types")
	}
	all := map[source.Dialect][]DocumentedType{}
	logical := ""
	for line := range strings.Lines(table) {
		const logicalEnd, systemEnd = 16, 28
		row := strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "//\t")
		if len(row) < systemEnd {
			t.Fatalf("%q is no row of the table", line)
		}
		logical = cmp.Or(strings.TrimSpace(row[:logicalEnd]), logical)
		system := source.DialectOf(strings.TrimSpace(row[logicalEnd:systemEnd]))
		for name := range strings.SplitSeq(row[systemEnd:], ", ") {
			if name != "any other" {
				all[system] = append(all[system], DocumentedType{name, logical})
			}
		}
	}
	return all
}

// testTypes makes a column of each type in the table that package source documents.
func testTypes(t *testing.T, f *Fixture) {
	asked := f.Open(t)
	d, err := source.Describe(context.Background(), asked)
	if err := cmp.Or(err, asked.Close()); err != nil {
		t.Fatal(err)
	}
	documented := DocumentedTypes(t)
	types := documented[source.DialectOf(d.System).Family()]
	if len(types) == 0 {
		if d.System != "" {
			t.Errorf("package source documents no types of %s", d.System)
		}
		return
	}
	sized := strings.NewReplacer("(n)", "(7)", "(p)", "(3)", "(p,s)", "(12,3)", "(…)", "('a','b')")
	var columns []string
	for i, one := range types {
		columns = append(columns, fmt.Sprint("c", i), sized.Replace(one.Name))
	}
	f.create(t, "types_t", columns...)
	rows := f.rows(t, f.open(t), "types_t")
	for i, c := range rows.Columns() {
		expectLogical(t, c, sized.Replace(types[i].Logical))
	}
}
