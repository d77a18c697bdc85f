package pgdump_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culvert/postgres/internal/pgdump"
	"culvert/source"
)

// TestFind looks for a pg_dump where there is none, or only one that is too old or says nothing, and among several.
func TestFind(t *testing.T) {
	const server = 15
	for name, test := range map[string]struct {
		versions     map[string]string // by the directory; that of PATH is "path"
		want, reason string
	}{
		"none":    {nil, "", "is not installed"},
		"silent":  {map[string]string{"path": ""}, "", "is not installed"},
		"old":     {map[string]string{"path": "14.9", "a": "13.2"}, "", "pg_dump 14.9 is older than the server"},
		"equal":   {map[string]string{"path": "15.4"}, "15.4", ""},
		"newer":   {map[string]string{"path": "14.9", "a": "18beta1", "b": "17.1"}, "17.1", ""},
		"several": {map[string]string{"path": "15.4", "a": "15.5", "b": "16.0"}, "15.4", ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for directory, version := range test.versions {
				program := "#!/bin/sh\n" + `echo "pg_dump (PostgreSQL) ` + version + `"` + "\n"
				if version == "" {
					program = "#!/bin/sh\nexit 1\n"
				}
				if err := os.MkdirAll(filepath.Join(root, directory), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, directory, "pg_dump"), []byte(program), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", filepath.Join(root, "path"))
			got, err := pgdump.Find(t, filepath.Join(root, "[a-b]"), server)
			if test.reason == "" && (got != test.want || err != nil) {
				t.Errorf("found %q, %v, want %q", got, err, test.want)
			}
			none, is := errors.AsType[*source.NoSchemaError](err)
			if test.reason != "" && (!is || !strings.Contains(none.Reason, test.reason) ||
				!strings.Contains(none.Hint, "postgresql-client-15")) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
