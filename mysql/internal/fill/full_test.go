package fill_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink"
)

// TestFull loads more rows than the tablespace of the server has room for.
func TestFull(t *testing.T) {
	for way, config := range ways {
		t.Run(way, func(t *testing.T) {
			config.Options = append(slices.Clone(config.Options),
				"--innodb-file-per-table=0", "--innodb-data-file-path=ibdata1:12M;ibdata2:8M")
			database := testkit.NewMariaDB(t, config).NewDatabase(t)
			database.Exec(t, "CREATE TABLE t (a int, b longtext) ENGINE=InnoDB; INSERT INTO t VALUES (0, 'old')")
			db := open(t, database)
			rows := make([]string, 1000)
			for i := range rows {
				rows[i] = fmt.Sprintf("%d %s", i+1, strings.Repeat("x", 30_000))
			}
			for _, redact := range []bool{false, true} {
				err := fillRows(t, db, sink.Filling{Existing: sink.Append, Redact: redact}, rows...)
				if !errors.Is(err, sink.ErrFull) || redact != strings.Contains(err.Error(), "table full (error 1114)") {
					t.Errorf("a tablespace that is full: %v", err)
				}
				expect(t, database, "SELECT a FROM t", "0")
			}
			if err := fillRows(t, db, sink.Filling{Existing: sink.Append}, rows[:10]...); err != nil {
				t.Errorf("rows that have room: %v", err)
			}
			expect(t, database, "SELECT COUNT(*) FROM t", "11")
		})
	}
}

// TestFullDisk has a trigger raise the errors with which servers say that the disk is full.
func TestFullDisk(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (a int) ENGINE=InnoDB")
	db := open(t, database)
	for message, full := range map[string]bool{
		"1021 Disk full (/tmp); waiting for someone to free some space... (errno: 28 No space left on device)": true,
		"1026 Error writing file /tmp/ML (errno: 28 No space left on device)":                                  true,
		"1026 Error writing file /tmp/ML (Errcode: 28 - No space left on device)":                              true,
		"1030 Got error 28 No space left on device from storage engine InnoDB":                                 true,
		"1030 Got error 28 from storage engine":                                                                true,
		"1030 Got error 168 Unknown (generic) error from engine from storage engine InnoDB":                    false,
		"1026 Error writing file /tmp/28 (errno: 5 Input/output error)":                                        false,
	} {
		code, text, _ := strings.Cut(message, " ")
		database.Exec(t, "CREATE OR REPLACE TRIGGER full BEFORE INSERT ON t FOR EACH ROW SIGNAL SQLSTATE 'HY000' "+
			"SET MYSQL_ERRNO = "+code+", MESSAGE_TEXT = '"+text+"'")
		if err := fillRows(t, db, sink.Filling{}, "1"); err == nil || errors.Is(err, sink.ErrFull) != full {
			t.Errorf("%s: %v", message, err)
		}
	}
}
