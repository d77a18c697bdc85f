package read_test

import (
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink/dialect"
	"culvert/source"
)

// clauses are tables with a clause each, and what another system is made without. A clause of which the fields of the
// definition have everything is left out by nobody.
var clauses = []struct{ columns, options, left string }{
	{"i int", "", ""},
	{"i int NOT NULL", "", ""},
	{"i int DEFAULT 7", "", ""},
	{"i int AUTO_INCREMENT PRIMARY KEY", "", ""},
	{"i int AUTO_INCREMENT PRIMARY KEY", "AUTO_INCREMENT=77 COMMENT='x'", ""},
	{"i int", "COMMENT='PARTITION BY HASH (`i`) ROW_FORMAT=DYNAMIC'", ""},
	{"i varchar(9) CHARACTER SET latin1 COLLATE latin1_bin", "", `the collation latin1_bin of column "i"`},
	{"i varchar(9)", "COLLATE=utf8mb4_general_ci", "the collation utf8mb4_general_ci"},
	{"i varchar(9)", "COLLATE=utf8mb4_bin", "the collation utf8mb4_bin"},
	{"i varchar(9)", "COLLATE=utf8mb4_nopad_bin", ""},
	{"i int", "COLLATE=utf8mb4_general_ci", ""},
	{
		"i varchar(9) COMPRESSED DEFAULT 'a b' COMMENT 'it''s `x`'", "COLLATE=utf8mb4_nopad_bin",
		`COMPRESSED of column "i"`,
	},
	{"i int INVISIBLE DEFAULT 7, j int", "", `INVISIBLE of column "i"`},
	{"i int COMMENT 'a CHECK (b)'", "", ""},
	{"i datetime(3) DEFAULT current_timestamp(3) ON UPDATE current_timestamp(3) COMMENT 'x'", "", ""},
	{"i int DEFAULT nextval(sq)", "", "the default nextval(`DATABASE`.`sq`) of column \"i\""},
	{"i int DEFAULT (1 + 1)", "", `the default (1 + 1) of column "i"`},
	{"i int CHECK (i > 0 AND i <> ')')", "", "CHECK (`i` > 0 and `i` <> ')') of column \"i\""},
	{"i int, CONSTRAINT small CHECK (i < 3)", "", ""},
	{"i int, CONSTRAINT odd CHECK (i % 2 = 1)", "", `the check "odd"`},
	{"s varchar(9), CONSTRAINT x CHECK (s IN ('a', '?'))", "COLLATE=utf8mb4_nopad_bin", `the check "x"`},
	{"i longtext CHECK (json_valid(i))", "COLLATE=utf8mb4_nopad_bin", "CHECK (json_valid(`i`)) of column \"i\""},
	{"i int, j int AS (i + 1) STORED COMMENT 'x'", "", `the generated column "j"`},
	{"i int, j int AS (i + 1) VIRTUAL INVISIBLE", "", `the generated column "j"`},
	{"i int, PRIMARY KEY (i) USING BTREE COMMENT 'x (y)'", "", `USING BTREE COMMENT 'x (y)' of the primary key`},
	{"i int, UNIQUE KEY `u (` (i) USING HASH", "", `USING HASH of the unique "u ("`},
	{"i int, KEY k (i)", "", ""},
	{"i int, KEY k (i) COMMENT 'x'", "", `the index "k"`},
	{"i int, KEY k (i) IGNORED", "", `the index "k"`},
	{"i text, FULLTEXT KEY k (i)", "COLLATE=utf8mb4_nopad_bin", `the index "k"`},
	{"i int, CONSTRAINT f FOREIGN KEY (i) REFERENCES p (i), KEY f (i)", "", ""},
	{"i int", "WITH SYSTEM VERSIONING", "WITH SYSTEM VERSIONING; the history of its rows"},
	{
		"i int, j int WITHOUT SYSTEM VERSIONING", "WITH SYSTEM VERSIONING",
		`WITHOUT SYSTEM VERSIONING of column "j"; WITH SYSTEM VERSIONING; the history of its rows`,
	},
	{
		"i int, a timestamp(6) GENERATED ALWAYS AS ROW START, b timestamp(6) GENERATED ALWAYS AS ROW END," +
			"PERIOD FOR SYSTEM_TIME (a, b)", "WITH SYSTEM VERSIONING",
		"the generated column \"a\"; the generated column \"b\"; PERIOD FOR SYSTEM_TIME (`a`, `b`); " +
			"WITH SYSTEM VERSIONING; the history of its rows",
	},
	{"i int, a date, b date, PERIOD FOR app (a, b)", "", "PERIOD FOR `app` (`a`, `b`)"},
	{
		"i int, a date, b date, PERIOD FOR app (a, b), UNIQUE u (i, app WITHOUT OVERLAPS)", "",
		"the unique \"u\"; PERIOD FOR `app` (`a`, `b`)",
	},
	{"i int", "PARTITION BY RANGE (i) (PARTITION a VALUES LESS THAN (9) COMMENT 'x')", "PARTITION BY RANGE (`i`)"},
	{"i int", "PARTITION BY HASH (i) PARTITIONS 3", "PARTITION BY HASH (`i`)"},
	{"i int", "ENGINE=Aria TRANSACTIONAL=0", "ENGINE=Aria; PAGE_CHECKSUM=1; TRANSACTIONAL=0"},
	{
		"i int", "ROW_FORMAT=DYNAMIC MIN_ROWS=5 STATS_PERSISTENT=1",
		"MIN_ROWS=5; STATS_PERSISTENT=1; ROW_FORMAT=DYNAMIC",
	},
	{"i int", "PAGE_COMPRESSED=1", "`PAGE_COMPRESSED`='1'"},
	{
		"i int", "ENGINE=MyISAM PACK_KEYS=1 CONNECTION='of root' DELAY_KEY_WRITE=1 CHECKSUM=1",
		"ENGINE=MyISAM; PACK_KEYS=1; CHECKSUM=1; DELAY_KEY_WRITE=1; CONNECTION=",
	},
	{
		"e enum('a', x'98') CHARACTER SET cp1251 COLLATE cp1251_bin", "",
		`the collation cp1251_bin of column "e"; the values of enum('a','?') of column "e"; ` +
			`what each ? in the definition of column "e" is in the character set cp1251`,
	},
}

// TestClauses makes a table with each clause that a server prints, and has it translated.
func TestClauses(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE p (i int PRIMARY KEY); CREATE SEQUENCE sq")
	db := openAgain(t, database.URL())
	for _, test := range clauses {
		database.Exec(t, "SET sql_mode = ''; CREATE OR REPLACE TABLE t ("+test.columns+") "+test.options)
		got, left, err := dialect.Translate(defined(t, db, "t"), source.PostgreSQL, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(test.left, "DATABASE", database.Name)
		if joined := strings.Join(left, "; "); joined != want {
			t.Errorf("%s, %s: left out is %s\nwant %s\n%+v", test.columns, test.options, joined, want, got)
		}
	}
	database.Exec(t, "CREATE OR REPLACE TABLE t (i int);"+
		"CREATE TRIGGER up BEFORE INSERT ON t FOR EACH ROW SET NEW.i = 1")
	d := defined(t, db, "t")
	if len(d.Lacks) != 1 || d.Lacks[0] != `the trigger "up"` {
		t.Errorf("the definition lacks %q", d.Lacks)
	}
	if _, left, err := dialect.Translate(d, source.MySQL, nil); err != nil || len(left) != 1 {
		t.Errorf("in the same system, left out is %q, and the error %v", left, err)
	}
}
