package read_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"culvert/internal/testkit"
	"culvert/source"
)

// protocolsSQL is a table with values that the text and the binary protocol print in different ways.
const protocolsSQL = "SET sql_mode = ''; CREATE TABLE t (" +
	"i1 tinyint, u1 tinyint unsigned, z1 tinyint(3) zerofill, i2 smallint, u2 smallint unsigned, i3 mediumint, " +
	"z3 mediumint zerofill, i4 int, z4 int(7) zerofill, i8 bigint, u8 bigint unsigned, z8 bigint zerofill, b bool, " +
	"y year, y2 year, b1 bit(1), b9 bit(9), b64 bit(64), d decimal(65,30), zd decimal(12,3) zerofill, " +
	"d0 decimal(65,0), day date, t0 time, t3 time(3), t6 time(6), dt0 datetime, dt1 datetime(1), dt6 datetime(6), " +
	"ts0 timestamp NULL, ts6 timestamp(6) NULL, e enum('','a','é,'), s set('a','b','c'), c char(5), " +
	"cb char(5) CHARACTER SET latin1, bin binary(4), vb varbinary(9), tx longtext, lb longblob, g geometry, j json, " +
	"u16 varchar(9) CHARACTER SET utf16, nat varchar(9) COLLATE utf8mb4_bin); " +
	"INSERT INTO t VALUES " +
	"(-128, 255, 7, -32768, 65535, -8388608, 42, -2147483648, 99, -9223372036854775808, 18446744073709551615, 0, 1, " +
	"0, 2155, 1, 257, 18446744073709551615, -0.000000000000000000000000000001, 1.5, " +
	"-99999999999999999999999999999999999999999999999999999999999999999, '0000-00-00', '-838:59:59', " +
	"'838:59:58.999', '-00:00:00.000001', '0000-00-00 00:00:00', '0000-00-00 00:00:00.1', " +
	"'9999-12-31 23:59:59.999999', '0000-00-00 00:00:00', '2038-01-19 03:14:07.999999', '', '', " +
	"'', 'é', 'a', '', '', '', POINT(1, -2.5), '{\"a\": 1.0}', 'é😀', 'A'), " +
	"(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9223372036854775808, 18446744073709551615, 0, 1901, 70, 0, 0, 0, 0, 0, 0, " +
	"'2026-00-00', '00:00:00', '0:0:0.5', '24:00:00', '2026-01-00 00:00:00', '2026-01-02 00:00:00.0', " +
	"'1000-01-01 00:00:00', '1970-01-01 00:00:01', '1970-01-01 00:00:01.000001', 'é,', 'a,c', ' a ', 'a\\\\', " +
	"x'00ff', x'00', 'a\\nb\\0c', x'ff00', LINESTRING(POINT(0, 0), POINT(1e300, 1)), '[]', '', '')"

// TestProtocols reads a small table that is known, in the text protocol, and one that is not, by a statement that is
// prepared. The values are the same.
func TestProtocols(t *testing.T) {
	for _, mode := range []string{"", "ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH"} {
		server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Options: []string{"--sql-mode=" + mode}})
		database := server.NewDatabase(t)
		database.Exec(t, protocolsSQL+"; INSERT INTO t (i1) VALUES (NULL)")
		var read [2][]string
		for i := range read {
			db := open(t, database.URL())
			if isText := i == 1; isText {
				if err := db.Prepare(context.Background(), []string{"t"}); err != nil {
					t.Fatal(err)
				}
			}
			rows := table(t, db, "t")
			var b source.Batch
			if err := rows.Next(&b); err != nil {
				t.Fatal(err)
			}
			for row := range b.Rows() {
				for at, c := range rows.Columns() {
					kind, value := b.Value(row, at)
					read[i] = append(read[i], fmt.Sprintf("%s: %v %q", c.Name, kind, value))
				}
			}
		}
		if len(read[0]) == 0 || !slices.Equal(read[0], read[1]) {
			for at := range min(len(read[0]), len(read[1])) {
				if read[0][at] != read[1][at] {
					t.Errorf("%s: as binary %s, as text %s", mode, read[0][at], read[1][at])
				}
			}
			t.Errorf("%s: %d and %d values", mode, len(read[0]), len(read[1]))
		}
	}
}
