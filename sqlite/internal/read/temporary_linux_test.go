package read_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culvert/source"
)

// TestTemporaryFilesAreEncrypted looks into the files without a name that SQLite sorts in.
func TestTemporaryFilesAreEncrypted(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("TMPDIR", directory)
	t.Setenv("SQLITE_TMPDIR", directory)
	const secret, count = "a secret that nobody else may read", 100_000
	path, _ := newDatabase(t, "CREATE TABLE t (a)")
	db := open(t, path)
	rows, err := db.Query(t.Context(), fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
		WHERE i < %d) SELECT (i * 7919) %% %[1]d AS k, '%s' FROM n ORDER BY k`, count, secret))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	var b source.Batch
	seen, read, spilled := 0, 0, 0
	for {
		for _, file := range unnamedFiles(t, directory) {
			if bytes.Contains(file, []byte(secret[:16])) {
				t.Fatal("the rows are in a temporary file")
			}
			if len(file) > count {
				spilled++
			}
		}
		if err := rows.Next(&b); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for row := range b.Rows() {
			if _, k := b.Value(row, 0); string(k) != fmt.Sprint(seen) {
				t.Fatalf("row %d is %s", seen, k)
			}
			_, value := b.Value(row, 1)
			read += len(value)
			seen++
		}
	}
	if seen != count || read != count*len(secret) {
		t.Errorf("%d rows of %d bytes", seen, read)
	}
	if spilled == 0 {
		t.Error("nothing was sorted in a file, so that the test shows nothing")
	}
}

// unnamedFiles are the contents of the files of a directory that this process has open without a name.
func unnamedFiles(t *testing.T, directory string) (files [][]byte) {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		link := filepath.Join("/proc/self/fd", fd.Name())
		target, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(target, directory) || !strings.HasSuffix(target, "(deleted)") {
			continue
		}
		content, err := os.ReadFile(link)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, content)
	}
	return files
}
