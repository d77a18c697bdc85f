package read_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/mysql/internal/read"
	"culvert/source"
)

func defined(tb testing.TB, db *read.DB, table string) *source.Definition {
	tb.Helper()
	d, err := db.Define(tb.Context(), table)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// TestDefineAll makes a table again from its definition, and compares the two definitions. The default SQL mode of the
// server changes how it prints definitions.
func TestDefineAll(t *testing.T) {
	testkit.NeedsMariaDB(t, "a definition that is printed so")
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Options: []string{"--sql-mode=ANSI,NO_BACKSLASH_ESCAPES"}})
	database := server.NewDatabase(t)
	const odd = "`odd\n``name```"
	database.Exec(t, strings.ReplaceAll("SET sql_mode = '';"+
		"CREATE TABLE customers (id int PRIMARY KEY, region char(2), UNIQUE (region, id)) DEFAULT CHARSET=latin1;"+
		"CREATE TABLE `Orders` (id bigint unsigned AUTO_INCREMENT,"+
		"ODD varchar(60) COLLATE latin1_bin NOT NULL DEFAULT 'it''s\n\\\\ ) AUTO_INCREMENT=9',"+
		"region char(2), customer int DEFAULT NULL, price decimal(10,2) DEFAULT (1 + 1) COMMENT 'a, `b`',"+
		"twice int AS (price * 2) VIRTUAL, kept int AS (price) STORED,"+
		"at timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),"+
		"tags json, place point NOT NULL,"+
		"PRIMARY KEY (id, region), UNIQUE KEY `u\n``,` (region, ODD DESC), UNIQUE KEY start (ODD(3)),"+
		"KEY by_price (price), FULLTEXT KEY words (ODD), SPATIAL KEY places (place),"+
		"CONSTRAINT `f ``k` FOREIGN KEY (region, customer) REFERENCES customers (region, id) ON DELETE CASCADE,"+
		"CONSTRAINT positive CHECK (price > 0 and region <> ') KEY `x` (`y`)')"+
		") DEFAULT CHARSET=latin1 COMMENT='all'';'';\n'; CREATE VIEW v AS SELECT id, price FROM `Orders`;"+
		"INSERT INTO `Orders` (region, place) VALUES ('de', point(1, 1))", "ODD", odd))
	first := defined(t, openAgain(t, database.URL()), "Orders")
	database.Exec(t, "SET sql_mode = ''; DROP TABLE `Orders`; "+first.Create)
	again := defined(t, openAgain(t, database.URL()), "Orders")
	if !reflect.DeepEqual(first, again) {
		t.Errorf("%+v\nbecomes\n%+v", first, again)
	}

	var columns, constraints, indexes []string
	for _, c := range first.Columns {
		columns = append(columns, strings.Join([]string{c.Name, c.Default, c.Collation, c.Identity, c.Generated}, "|"))
	}
	for _, c := range first.Constraints {
		constraints = append(constraints, c.Name+"|"+string(c.Kind)+"|"+strings.Join(c.Columns, ","))
	}
	for _, i := range first.Indexes {
		indexes = append(indexes, i.Name+"|"+strings.Join(i.Columns, ","))
	}
	for _, list := range []struct{ got, want []string }{
		{columns, []string{
			"id|||by default|",
			"odd\n`name`|'it''s\\n\\\\ ) AUTO_INCREMENT=9'|latin1_bin||",
			"region||||", "customer||||",
			"price|(1 + 1)|||", "twice||||virtual", "kept||||stored", "at|current_timestamp()|||",
			"tags||utf8mb4_bin||", "place||||",
		}},
		{constraints, []string{
			"|primary key|id,region", "u\n`,|unique|region,odd\n`name`", "start|unique|",
			"f `k|foreign key|region,customer", "positive|check|",
		}},
		{indexes, []string{"by_price|price", "places|", "f `k|region,customer", "words|"}},
	} {
		if strings.Join(list.got, "\x00") != strings.Join(list.want, "\x00") {
			t.Errorf("%q, want %q", list.got, list.want)
		}
	}
	if len(first.Sequences) != 1 || first.Sequences[0].Last == nil || *first.Sequences[0].Last != 1 ||
		first.Dialect != source.MariaDB || first.Comment != "all';';\n" {
		t.Errorf("definition %+v", first)
	}
	for sql, last := range map[string]int64{
		"bigint AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT=9223372036854775807":          math.MaxInt64 - 1,
		"bigint unsigned AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT=9223372036854775808": math.MaxInt64,
		"bigint unsigned AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT=9223372036854775809": 0,
	} {
		database.Exec(t, "CREATE OR REPLACE TABLE numbered (id "+sql)
		s := defined(t, openAgain(t, database.URL()), "numbered").Sequences[0]
		_, next, _ := strings.Cut(sql, "AUTO_INCREMENT=")
		if last == 0 && (s.Last != nil || s.Options != "AUTO_INCREMENT="+next) || last > 0 && *s.Last != last {
			t.Errorf("%s: %+v", sql, s)
		}
	}
	if view := defined(t, openAgain(t, database.URL()), "v"); len(view.Columns) != 2 || view.Create != "" {
		t.Errorf("definition %+v", view)
	}
}
