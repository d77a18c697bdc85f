package parquetread

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"culvert/format"
	"culvert/source"
)

// notRead are the public files that are refused, and why. The others are read.
var notRead = map[string]string{
	"nested_structs.rust.parquet": "not in the years 1 to 9999", // nanoseconds that say they are microseconds

	"case-004.parquet": "has a type that is not read", // VARIANT
	"case-042.parquet": "has a type that is not read",
	"case-045.parquet": "has a type that is not read",
	"case-134.parquet": "has a type that is not read",

	"negative_page_size.parquet":          "a page is damaged",
	"negative_row_group_num_rows.parquet": "does not have the columns of the schema",
	"num_values_exceeds_data.parquet":     "a page ends early",
}

// TestPublicFiles reads the public test files of apache/parquet-testing, and others of old and odd writers, as a module
// that the tests need has them, or refuses them by what they have.
func TestPublicFiles(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/parquet-go/parquet-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	read, refused := 0, 0
	err = filepath.WalkDir(strings.TrimSpace(string(out)), func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".parquet" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		_, err = text(data, manyRows)
		if why := notRead[name]; why != "" {
			if refused++; err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: error %v, want one of %s", name, err, why)
			}
			return nil
		}
		if read++; err != nil {
			t.Errorf("%s: %v", name, err)
			return nil
		}
		expectRows(t, name, data)
		return nil
	})
	const least = 40
	if err != nil || read < least || refused != len(notRead) {
		t.Errorf("%d files were read, and %d refused: %v", read, refused, err)
	}
}

// expectRows compares the number of rows with what another implementation says of the row groups.
func expectRows(t *testing.T, name string, data []byte) {
	t.Helper()
	other, err := pq.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Errorf("%s: the other implementation does not open it: %v", name, err)
		return
	}
	file := parsed(t, data)
	for i, group := range other.RowGroups() {
		rows, err := file.Rows(i, make([]format.Field, len(file.Columns())))
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		var b source.Batch
		for err = rows.Next(&b); err == nil; err = rows.Next(&b) {
			n += int64(b.Rows())
		}
		if closeErr := rows.Close(); err != io.EOF || closeErr != nil || n != group.NumRows() {
			t.Errorf("%s: %d rows in row group %d, want %d: %v, %v", name, n, i, group.NumRows(), err, closeErr)
		}
	}
}
