package dbfile_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/internal/testkit"
	"culvert/sqlite/internal/dbfile"
)

// others are what may differ: what counts, lists or does something, what belongs to the build and not to how a database
// behaves, and secure_delete and fts3_tokenizer, in which Debian's build differs from SQLite's own.
var others = []string{
	"compile_options", "data_version", "default_cache_size", "function_list", "module_list", "pragma_list",
	"schema_version", "incremental_vacuum", "optimize", "shrink_memory", "wal_checkpoint", "max_page_count",
	"secure_delete", "temp_store_directory", "database_list", "collation_list", "cache_spill",
}

// TestSettingsOfProgram compares every PRAGMA and every option of a connection with those of the sqlite3 program, in a
// database with a WAL and without.
func TestSettingsOfProgram(t *testing.T) {
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		testkit.Missing(t, "sqlite3", "apt-get install sqlite3")
	}
	for _, journal := range []string{"DELETE", "WAL"} {
		path := filepath.Join(t.TempDir(), "new.db")
		run(t, program, path, "PRAGMA journal_mode = "+journal+"; CREATE TABLE t (a)")
		conn, err := dbfile.Open(dbfile.File{Path: path, Mode: "rw"})
		if err == nil {
			err = conn.Exec(dbfile.Settings)
		}
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := map[string]string{}, map[string]string{}
		for _, name := range strings.Fields(run(t, program, path, "PRAGMA pragma_list")) {
			if !slices.Contains(others, name) {
				ours[name] = pragma(t, conn, name)
				theirs[name] = strings.TrimSpace(run(t, program, path, "PRAGMA "+name))
			}
		}
		options(t, conn, ours)
		for line := range strings.Lines(run(t, program, path, ".dbconfig")) {
			if words := strings.Fields(line); len(words) == 2 && optionNames[words[0]] != 0 {
				theirs[words[0]] = words[1]
			}
		}
		// Since version 3.41 the program itself is stricter here than SQLite with the schemas that it has.
		theirs["dqs_ddl"], theirs["dqs_dml"] = "on", "on"
		for name := range theirs {
			if ours[name] != theirs[name] {
				t.Errorf("%s with %s is %q, and %q in the sqlite3 program", name, journal, ours[name], theirs[name])
			}
		}
		if len(theirs) < 40 || theirs["foreign_keys"] != "0" || theirs["defensive"] != "off" {
			t.Errorf("the sqlite3 program has the settings %q", theirs)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

// optionNames are the options of a connection under the names of the sqlite3 program.
var optionNames = map[string]sqlite3.DBConfig{
	"defensive": sqlite3.DBCONFIG_DEFENSIVE, "dqs_ddl": sqlite3.DBCONFIG_DQS_DDL, "dqs_dml": sqlite3.DBCONFIG_DQS_DML,
	"enable_fkey": sqlite3.DBCONFIG_ENABLE_FKEY, "enable_qpsg": sqlite3.DBCONFIG_ENABLE_QPSG,
	"enable_trigger": sqlite3.DBCONFIG_ENABLE_TRIGGER, "enable_view": sqlite3.DBCONFIG_ENABLE_VIEW,
	"legacy_alter_table": sqlite3.DBCONFIG_LEGACY_ALTER_TABLE,
	"legacy_file_format": sqlite3.DBCONFIG_LEGACY_FILE_FORMAT,
	"no_ckpt_on_close":   sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, "reset_database": sqlite3.DBCONFIG_RESET_DATABASE,
	"trigger_eqp": sqlite3.DBCONFIG_TRIGGER_EQP, "trusted_schema": sqlite3.DBCONFIG_TRUSTED_SCHEMA,
	"writable_schema": sqlite3.DBCONFIG_WRITABLE_SCHEMA,
}

func options(t *testing.T, conn *sqlite3.Conn, into map[string]string) {
	t.Helper()
	for name, option := range optionNames {
		on, err := conn.Config(option)
		if err != nil {
			t.Fatal(err)
		}
		into[name] = map[bool]string{true: "on", false: "off"}[on]
	}
}

// pragma returns the rows of a PRAGMA as the sqlite3 program prints them.
func pragma(t *testing.T, conn *sqlite3.Conn, name string) string {
	t.Helper()
	stmt, _, err := conn.Prepare("PRAGMA " + name)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for stmt.Step() {
		var values []string
		for i := range stmt.ColumnCount() {
			values = append(values, stmt.ColumnText(i))
		}
		lines = append(lines, strings.Join(values, "|"))
	}
	if err := errors.Join(stmt.Err(), stmt.Close()); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func run(t *testing.T, program, path, input string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, "-batch", path)
	command.Stdin = strings.NewReader(input)
	text, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", input, err, text)
	}
	return string(text)
}
