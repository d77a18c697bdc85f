package fill_test

import (
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink"
)

// engines are the options of a table in each storage engine that a server of the tests can have, and what a table that
// is made by them lacks. An engine without options has no tables of its own.
var engines = map[string]struct {
	options string
	lacks   []string
	rows    bool // may be loaded into such a table
}{
	"InnoDB": {options: "ENGINE=InnoDB ROW_FORMAT=COMPACT", rows: true},
	"Aria": {
		options: "ENGINE=Aria PAGE_CHECKSUM=0 TRANSACTIONAL=1 ROW_FORMAT=PAGE COMMENT='its TRANSACTIONAL=0 '' '",
		lacks:   []string{"PAGE_CHECKSUM", "TRANSACTIONAL", "ROW_FORMAT"},
	},
	"MyISAM": {
		options: "ENGINE=MyISAM ROW_FORMAT=FIXED KEY_BLOCK_SIZE=1024 MAX_ROWS=9" +
			" PARTITION BY RANGE (i) (PARTITION p VALUES LESS THAN (9))",
		lacks: []string{"KEY_BLOCK_SIZE", "ROW_FORMAT"},
	},
	"MEMORY":    {options: "ENGINE=MEMORY"},
	"CSV":       {options: "ENGINE=CSV"},
	"ARCHIVE":   {options: "ENGINE=ARCHIVE"},
	"BLACKHOLE": {options: "ENGINE=BLACKHOLE"},
	"FEDERATED": {
		options: "ENGINE=FEDERATED CONNECTION='itself/remote'", lacks: []string{"CONNECTION"},
		rows: true, // by a transaction of the other server
	},
	"MRG_MyISAM": {
		options: "ENGINE=MRG_MyISAM UNION=(one) INSERT_METHOD=LAST", lacks: []string{"INSERT_METHOD", "UNION"},
	},
	"SEQUENCE":           {},
	"PERFORMANCE_SCHEMA": {},
}

// TestEngines makes and fills tables that were defined with every storage engine of the server, and refuses to fill
// those whose rows could not be undone.
func TestEngines(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{
		Options: []string{
			"--plugin-load-add=ha_archive", "--plugin-load-add=ha_blackhole", "--plugin-load-add=ha_federatedx",
		},
	})
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	from.Exec(t, "CREATE TABLE one (i int NOT NULL) ENGINE=MyISAM; CREATE TABLE remote (i int NOT NULL);"+
		"INSERT INTO remote VALUES (1); CREATE SERVER itself FOREIGN DATA WRAPPER mysql OPTIONS (USER 'root', SOCKET '"+
		server.SocketPath()+"', DATABASE '"+from.Name+"')")
	db, source := open(t, to), open(t, from)
	for _, row := range from.Query(t, "SELECT ENGINE FROM information_schema.ENGINES"+
		" WHERE SUPPORT IN ('YES', 'DEFAULT')") {
		engine, known := engines[row[0]]
		if !known {
			t.Errorf("no table of the engine %s is tested", row[0])
		}
		if engine.options == "" {
			continue
		}
		from.Exec(t, "CREATE OR REPLACE TABLE t (i int NOT NULL) "+engine.options)
		want := []string{}
		if row[0] != "InnoDB" {
			want = append(want, "the storage engine "+row[0]+" (InnoDB in its place)")
		}
		for _, option := range engine.lacks {
			want = append(want, "its option "+option)
		}
		create := sink.Filling{Create: define(t, from, "t")}
		plan, err := db.Plan(t.Context(), "t", create)
		slices.Sort(plan.Omitted)
		slices.Sort(want)
		if err != nil || !slices.Equal(plan.Omitted, want) {
			t.Errorf("%s: left out is %q, and the error %v, want %q", row[0], plan.Omitted, err, want)
			continue
		}
		if err := fillRows(t, db, create, "1", "-"); err == nil {
			t.Errorf("%s: NULL was taken", row[0])
		}
		expect(t, to, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()")
		if err := fillRows(t, db, create, "1", "2"); err != nil {
			t.Errorf("%s: %v", row[0], err)
		}
		expect(t, to, "SELECT i FROM t ORDER BY i", "1", "2")
		expect(t, to, "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()", "InnoDB")
		to.Exec(t, "DROP TABLE t")

		if engine.rows {
			if err := fillRows(t, source, sink.Filling{Existing: sink.Append}, "7", "-"); err == nil {
				t.Errorf("%s: NULL was taken", row[0])
			}
			expect(t, from, "SELECT * FROM t WHERE i > 1")
			continue
		}
		_, err = source.Table(t.Context(), "t", sink.Filling{Existing: sink.Append})
		if err == nil || !strings.Contains(err.Error(), "no transactions; to change that: ALTER TABLE") {
			t.Errorf("%s: a table that exists: %v", row[0], err)
		}
	}
	expect(t, from, "SELECT * FROM remote", "1")
}
