package parquetread

import (
	"bytes"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"culvert/format"
	"culvert/internal/testkit"
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

// notReadNewer are those of a clone of apache/parquet-testing, by patterns of their names.
var notReadNewer = map[string]string{
	"case-*.parquet": "has a type that is not read", // VARIANT

	"ARROW-GH-41317.parquet":              "it has fewer values than rows",
	"ARROW-GH-41321.parquet":              "a page has values of too many bits",
	"ARROW-GH-45185.parquet":              "it has more values than rows",
	"ARROW-GH-47662.parquet":              "a page ends early",
	"ARROW-RS-GH-6229-DICTHEADER.parquet": "a column of row group 1 is not in the file",
	"ARROW-RS-GH-6229-LEVELS.parquet":     "a page ends early",
	"PARQUET-1481.parquet":                "its type has the number -7, which is not known",
	"*-corrupt-checksum.parquet":          "a page does not have its checksum",
	"nation.dict-malformed.parquet":       "a page is damaged",

	"*hadoop_lz4_compressed*.parquet": "it is compressed by hadoop-lz4, which is not read",
	"large_string_map.brotli.parquet": "it is compressed by brotli, which is not read",
	"int96_from_spark.parquet":        "not in the years 1 to 9999", // among others that are
}

// publicFiles counts what became of public files.
type publicFiles struct{ read, refused int }

// TestPublicFiles reads the public test files of apache/parquet-testing, and others of old and odd writers, as a module
// that the tests need has them, or refuses them by what they have. So it does with a newer clone, if there is one.
func TestPublicFiles(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/parquet-go/parquet-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	const least = 40
	got := expectPublic(t, strings.TrimSpace(string(out)), notRead)
	if got.read < least || got.refused != len(notRead) {
		t.Errorf("%+v", got)
	}
	if dir := testkit.PublicFiles("parquet-testing"); dir != "" {
		newer := maps.Clone(notRead)
		maps.Copy(newer, notReadNewer)
		t.Logf("of the clone: %+v", expectPublic(t, dir, newer))
	}
}

// expectPublic reads the files of a directory, except those that are refused, by patterns of their names.
func expectPublic(t *testing.T, dir string, refused map[string]string) (all publicFiles) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".parquet" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		_, err = text(data, manyRows)
		for pattern, why := range refused {
			if matches, _ := filepath.Match(pattern, name); matches {
				if all.refused++; err == nil || !strings.Contains(err.Error(), why) {
					t.Errorf("%s: error %v, want one of %s", name, err, why)
				}
				return nil
			}
		}
		if all.read++; err != nil {
			t.Errorf("%s: %v", name, err)
			return nil
		}
		expectRows(t, name, data)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return all
}

// expectRows compares the number of rows with what another implementation says of the row groups.
func expectRows(t *testing.T, name string, data []byte) {
	t.Helper()
	other, err := pq.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		if name != "column_chunk_key_value_metadata.parquet" { // a key without a value, as the specification allows
			t.Errorf("%s: the other implementation does not open it: %v", name, err)
		}
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
