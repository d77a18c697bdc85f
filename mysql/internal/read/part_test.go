package read_test

import (
	"io"
	"strconv"
	"testing"

	"culvert/mysql/internal/read"
	"culvert/source"
	"culvert/source/sourcetest"
)

// keys are primary keys whose order is not that of their texts or bytes. Each row has a page of filling, since the
// server tells the size in pages.
var keys = []sourcetest.Key{
	keyed("Unsigned", "k bigint unsigned PRIMARY KEY", "0", "18446744073709551615", "9223372036854775808", "7"),
	keyed("Decimal", "k decimal(30,5) PRIMARY KEY", "0.1", "-0.1", "1e20", "9", "10", "-99999.99999"),
	keyed("General", "k varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY", texts...),
	keyed("Unicode", "k varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci PRIMARY KEY", texts...),
	keyed("German", "k varchar(20) CHARACTER SET latin1 COLLATE latin1_german2_ci PRIMARY KEY", texts...),
	keyed("Binary", "k varchar(20) CHARACTER SET latin1 COLLATE latin1_bin PRIMARY KEY", texts...),
	keyed("Wide", "k char(20) CHARACTER SET utf16 PRIMARY KEY", texts...),
	keyed("Bytes", "k varbinary(20) PRIMARY KEY", "''", "X'00'", "X'FF'", "X'0000'", "X'5C27'", "'a '", "'a'"),
	keyed("FixedBytes", "k binary(4) PRIMARY KEY", "''", "X'01'", "X'FF'", "X'5C27'"),
	keyed("Date", "k date PRIMARY KEY", "'1000-01-01'", "'9999-12-31'", "'2024-02-29'", "'0001-01-01'"),
	keyed("Time", "k datetime(6) PRIMARY KEY", "'2024-02-29 23:59:59.999999'", "'2024-03-01'", "'1000-01-01'",
		"'2024-02-29 23:59:59.999998'"),
	keyed("Stamp", "k timestamp(3) PRIMARY KEY", "'2024-03-31 01:59:59.999'", "'2024-03-31 03:00'", "'1971-01-01'"),
	keyed("Composite", "a varchar(9), b int, `c\"``'` decimal(5,2), PRIMARY KEY (b, a, `c\"``'`)",
		"'a', 1, 1", "'B', 1, 1", "'b', 1, 2", "'a', -1, 1", "'', 1, 1", "'''', 2, 1", "'\\\\', 2, 1", "'\\\\', 2, -1"),
}

// texts are different in every collation of keys.
var texts = []string{
	"''", "'a'", "'B'", "'äx'", "'ae'", "'z'", "'-'", "'a-b'", "'\\\\'", "'\\''", "'\"'", "'ß'", "'ssa'", "'%'",
}

func keyed(name, columns string, rows ...string) sourcetest.Key {
	filled := make([]string, len(rows))
	for i, row := range rows {
		filled[i] = row + ", REPEAT('x', 6000)"
	}
	return sourcetest.Key{Name: name, Columns: columns + ", fill longtext", Rows: filled}
}

// TestCompositeKeyRead counts what the server looks at, if many rows have the same first column of the key.
func TestCompositeKeyRead(t *testing.T) {
	const rows = 20_000
	db, _ := openNew(t, "CREATE TABLE t (a int, b varchar(40) COLLATE utf8mb4_unicode_ci, c int, fill text,"+
		" PRIMARY KEY (a, b, c)) AS SELECT seq % 2 AS a, CONCAT(seq DIV 5000, 'x') AS b, seq AS c,"+
		" REPEAT('x', 100) AS fill FROM seq_1_to_20000; ANALYZE TABLE t")
	before := lookedAt(t, db)
	parts, err := db.Parts(t.Context(), "t", source.Selection{}, 128<<10)
	if err != nil || len(parts) < 8 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	read := 0
	for _, part := range parts {
		found, err := db.Part(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		n, err := drain(found)
		if err != io.EOF {
			t.Fatal(err)
		}
		read += n
	}
	// Counting the rows, walking along the key, and reading them.
	if n := lookedAt(t, db) - before; read != rows || n > 4*rows {
		t.Errorf("for %d rows in %d parts, the server has looked at %d", read, len(parts), n)
	}
}

// lookedAt returns how many rows the server has looked at for a session, one after the other.
func lookedAt(t *testing.T, db *read.DB) (n int) {
	t.Helper()
	for _, name := range []string{"Handler_read_next", "Handler_read_rnd_next", "Handler_read_prev"} {
		found := query(t, db, "SHOW SESSION STATUS LIKE '"+name+"'")
		var b source.Batch
		if err := found.Next(&b); err != nil {
			t.Fatal(err)
		}
		_, text := b.Value(0, 1)
		one, err := strconv.Atoi(string(text))
		if err != nil {
			t.Fatal(err)
		}
		n += one
		if err := found.Close(); err != nil {
			t.Error(err)
		}
	}
	return n
}
