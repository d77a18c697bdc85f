package pgdump

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestFindWrapper has a wrapper in PATH, as Debian does. It is asked only if no other pg_dump will do.
func TestFindWrapper(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its programs are no scripts")
	}
	path := t.TempDir()
	wrapper, called := filepath.Join(path, "pg_dump"), filepath.Join(path, "called")
	script := "#!/bin/sh\n: > '" + called + "'\necho 'pg_dump (PostgreSQL) 99.1'\n"
	if err := os.WriteFile(filepath.Join(path, "pg_wrapper"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("pg_wrapper", wrapper); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path)
	all, _, err := candidates()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) > 1 {
		found, err := find(t.Context(), 1)
		if _, asked := os.Stat(called); err != nil || found.path == wrapper || asked == nil {
			t.Errorf("found %+v, error %v; the wrapper was asked: %v", found, err, asked == nil)
		}
	}
	if found, err := find(t.Context(), 99); err != nil || found.path != wrapper || found.version != "99.1" {
		t.Errorf("found %+v, error %v", found, err)
	}
}
