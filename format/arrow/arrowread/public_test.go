package arrowread

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
)

// notRead are the public files that are refused, by parts of their paths, and why. The others are read.
var notRead = []struct{ path, why string }{
	{"bigendian/", "its numbers are big-endian, which is not read"},
	{"generated_union", "its type is a union, which is not read"},

	// Random values that PostgreSQL has no text for.
	{"0.14.1/generated_datetime", "it is not a whole day"},
	{"1.0.0-littleendian/generated_datetime", "it is not a whole day"},
	{"0.14.1/generated_decimal", "it is out of the range of its type"},
	{"1.0.0-littleendian/generated_decimal", "it is out of the range of its type"},
	{"generated_interval_mdn", "it has digits after the microsecond, which intervals do not have"},
	{"0.14.1/generated_interval", "it has digits after the microsecond, which intervals do not have"},
	{"1.0.0-littleendian/generated_interval", "it has digits after the microsecond, which intervals do not have"},
	{"generated_duration", "it has digits after the microsecond, which intervals do not have"},
}

// TestPublicFiles reads the public files of apache/arrow-testing, which several implementations have written in many
// versions, or refuses them by what they have. Those that fuzzing has found are read without harm.
func TestPublicFiles(t *testing.T) {
	dir := testkit.PublicFiles("arrow-testing")
	if dir == "" {
		return
	}
	read, refused, harmless := 0, 0, 0
	err := filepath.WalkDir(filepath.Join(dir, "data"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(path, "arrow-ipc-") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch extension := filepath.Ext(path); {
		case extension == ".arrow_file" || extension == ".stream":
			if expectPublic(t, path, data) {
				read++
			} else {
				refused++
			}
		case extension == "" || extension == ".fuzz":
			harmless++
			_, _ = text(data, 1<<12)
			_, _ = streamText(bytes.NewReader(data), 1<<12)
		}
		return nil
	})
	t.Logf("%d files are read, %d refused, and %d harmless", read, refused, harmless)
	if err != nil || read == 0 {
		t.Error(err)
	}
}

// expectPublic reads a file by random access and as a stream, and compares it with what the JSON beside it says.
func expectPublic(t *testing.T, path string, data []byte) (isRead bool) {
	t.Helper()
	got, err := text(data, manyRows)
	for _, one := range notRead {
		if strings.Contains(path, one.path) {
			if err == nil || !strings.Contains(err.Error(), one.why) {
				t.Errorf("%s: error %v, want one of %q", path, err, one.why)
			}
			return false
		}
	}
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return false
	}
	if streamed, err := streamText(bytes.NewReader(data), manyRows); err != nil || !bytes.Equal(streamed, got) {
		t.Errorf("%s: as a stream %d bytes, want %d: %v", path, len(streamed), len(got), err)
	}
	want := publicRows(t, strings.TrimSuffix(path, filepath.Ext(path))+".json.gz")
	rows := bytes.Split(bytes.TrimSuffix(got, []byte("\n")), []byte("\n"))[1:]
	if len(want) > 0 && len(want[0]) > 1 { // without a line that is empty, which is no row for csv
		all, err := csv.NewReader(bytes.NewReader(got)).ReadAll()
		if err != nil {
			t.Fatal(path, err)
		}
		rows = rows[:0]
		for row, cells := range all[1:] {
			for column, cell := range cells {
				if said := want[row][column]; said != "?" && said != cell {
					t.Errorf("%s: row %d, column %d: %q, want %q", path, row, column, cell, said)
				}
			}
			rows = append(rows, nil)
		}
	}
	if len(rows) != len(want) {
		t.Errorf("%s: %d rows, want %d", path, len(rows), len(want))
	}
	return true
}

// publicRows returns the cells of a file, by the JSON of Arrow's integration tests: those of whole numbers, booleans
// and texts, and ? for others.
func publicRows(t *testing.T, path string) (rows [][]string) {
	t.Helper()
	packed, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(path, err)
	}
	var file struct {
		Schema struct {
			Fields []struct {
				Type       struct{ Name string }
				Dictionary any
			}
		}
		Batches []struct {
			Count   int
			Columns []struct {
				Validity []int `json:"VALIDITY"`
				Data     []any `json:"DATA"`
			}
		}
	}
	decoder := json.NewDecoder(plain)
	decoder.UseNumber()
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(path, err)
	}
	for _, b := range file.Batches {
		for row := range b.Count {
			cells := make([]string, len(b.Columns))
			for i, c := range b.Columns {
				field := file.Schema.Fields[i]
				known := slices.Contains([]string{"int", "bool", "utf8", "largeutf8"}, field.Type.Name)
				switch {
				case !known || field.Dictionary != nil || len(c.Data) != b.Count:
					cells[i] = "?"
				case len(c.Validity) > 0 && c.Validity[row] == 0:
				case field.Type.Name == "bool":
					cells[i] = fmt.Sprint(c.Data[row])[:1]
				default:
					cells[i] = fmt.Sprint(c.Data[row])
				}
			}
			rows = append(rows, cells)
		}
	}
	return rows
}
