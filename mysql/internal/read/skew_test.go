package read_test

import (
	"cmp"
	"fmt"
	"strconv"
	"testing"

	"culvert/mysql/internal/read"
)

// longPrefix is what all texts of a key begin with; one in a hundred differs soon after it, and the others late.
const longPrefix = "CONCAT(REPEAT('tenant/', 6), IF(seq % 100 = 0, CONCAT(CHAR(97 + seq % 26), seq)," +
	" CONCAT('zz', LPAD(seq, 8, '0'))))"

// TestSkewedKeys divides tables whose keys are far from even. No range has more than twice the rows that it is to have,
// and where a range of a key that begins with an integer ends is found without a look at its rows.
func TestSkewedKeys(t *testing.T) {
	const rows = 40_000
	read.SetRangeBytes(t, 64<<10)
	for name, test := range map[string]struct {
		columns, values string
		walked          bool // along the rows
	}{
		"Integer": {columns: "k bigint PRIMARY KEY", values: "IF(seq <= 400," +
			" -9000000000000000000.0 + seq * 40000000000000000.0, 8000000000000000000.0 + seq)"},
		"Gaps": {columns: "k bigint PRIMARY KEY", values: "seq DIV 100 * 5000000000.0 + seq % 100 - 1000000000000"},
		"Unsigned": {
			columns: "k bigint unsigned PRIMARY KEY", walked: true,
			values: "IF(seq <= 400, seq, 18446744073709000000 + seq)",
		},
		"Binary":  {"k varchar(80) COLLATE utf8mb4_bin PRIMARY KEY", longPrefix, true},
		"General": {"k varchar(80) COLLATE utf8mb4_general_ci PRIMARY KEY", longPrefix, true},
		"German":  {"k varchar(80) CHARACTER SET latin1 COLLATE latin1_german2_ci PRIMARY KEY", longPrefix, true},
		"Lines": {
			columns: "a bigint, b int, PRIMARY KEY (a, b)",
			values:  "seq DIV 5 * 1000003.0 * IF(seq % 1000 < 5, -1000000000, 1), seq",
		},
		"Tenant": {
			columns: "a int, b varchar(60), c int, PRIMARY KEY (a, b, c)", walked: true,
			values: "IF(seq <= 400, seq * 5000000.0 - 1000000000, 7), CONCAT('same prefix ', seq % 10), seq",
		},
		"TextFirst": {"b varchar(80), a int, PRIMARY KEY (b, a)", longPrefix + ", seq", true},
	} {
		t.Run(name, func(t *testing.T) {
			db, database := openNew(t, "CREATE TABLE t ("+test.columns+", fill varchar(200)); INSERT INTO t SELECT "+
				test.values+fmt.Sprintf(", REPEAT('x', 100) FROM seq_1_to_%d; ANALYZE TABLE t", rows))
			before := lookedAt(t, db)
			of := table(t, db, "t")
			conditions, shares, err := read.RangesOf(t.Context(), of, 2)
			if err != nil || len(conditions) < 16 {
				t.Fatalf("%d ranges, %v", len(conditions), err)
			}
			if err := of.Close(); err != nil {
				t.Error(err)
			}
			looked, sum := lookedAt(t, db)-before, 0
			for i, condition := range conditions {
				counted := database.Query(t, "SELECT COUNT(*) FROM t WHERE "+cmp.Or(condition, "TRUE"))
				n, err := strconv.Atoi(counted[0][0])
				if err != nil {
					t.Fatal(err)
				}
				if sum += n; float64(n) > 2*shares[i] {
					t.Errorf("range %d has %d rows, and is to have %v: %s", i, n, shares[i], condition)
				}
			}
			if sum != rows {
				t.Errorf("the ranges have %d rows", sum)
			}
			if looked > rows/10 && !test.walked {
				t.Errorf("the server has looked at %d rows", looked)
			}
		})
	}
}
