package sourcetest

import "strings"

// rare makes tables with clauses that few have, and no rows, since the server chooses some of the values.
func (m mariaDBSchema) rare(s *RandomSchema) {
	for _, sql := range []string{
		"CREATE TABLE $1 ($2 int PRIMARY KEY COMMENT 'a;b', $3 varchar(20) CHECK ($3 <> 'it''s'), " +
			"$4 text COMPRESSED, $5 blob, UNIQUE KEY $6 ($5), KEY $7 USING BTREE ($3) COMMENT 'it''s', " +
			"KEY $8 ($3, $2) IGNORED) AUTO_INCREMENT=77 STATS_PERSISTENT=1 MIN_ROWS=5",
		"CREATE TABLE $1 ($2 int, $3 date, $4 date, PERIOD FOR $5 ($3, $4), UNIQUE KEY $6 ($2, $5 WITHOUT OVERLAPS))",
		"CREATE TABLE $1 ($2 int, $3 int WITHOUT SYSTEM VERSIONING, $4 timestamp(6) GENERATED ALWAYS AS ROW START, " +
			"$5 timestamp(6) GENERATED ALWAYS AS ROW END INVISIBLE, PERIOD FOR SYSTEM_TIME ($4, $5)) " +
			"WITH SYSTEM VERSIONING",
		"CREATE TABLE $1 ($2 int) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME " +
			"(PARTITION $3 HISTORY, PARTITION $4 CURRENT)",
		"CREATE TABLE $1 ($2 int, $3 date) PARTITION BY RANGE (YEAR($3)) SUBPARTITION BY HASH (TO_DAYS($3)) " +
			"SUBPARTITIONS 2 (PARTITION $4 VALUES LESS THAN (2000) COMMENT = 'it''s', " +
			"PARTITION $5 VALUES LESS THAN MAXVALUE)",
		"CREATE TABLE $1 ($2 int PRIMARY KEY) PARTITION BY KEY ($2) PARTITIONS 2",
		"CREATE TABLE $1 ($2 uuid DEFAULT uuid(), $3 point REF_SYSTEM_ID=4326, $4 bit DEFAULT b'1', " +
			"$5 timestamp DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP) PAGE_COMPRESSED=1",
	} {
		var names []string
		for _, digit := range "12345678" {
			names = append(names, "$"+string(digit), s.Name())
		}
		s.Add("%s", strings.NewReplacer(names...).Replace(sql))
	}
	of := s.Tables[0]
	id, first := of.Columns[0].SQL, s.Name()
	s.Add("CREATE VIEW %s AS SELECT %s FROM %s WHERE %s > 0 %s", s.Name(), id, of.SQL, id,
		s.OneOf("WITH LOCAL CHECK OPTION", "WITH CASCADED CHECK OPTION"))
	s.Add("CREATE TRIGGER %s BEFORE DELETE ON %s FOR EACH ROW SET @x = 1", first, of.SQL)
	s.Add("CREATE TRIGGER %s BEFORE DELETE ON %s FOR EACH ROW PRECEDES %s BEGIN SET @x = 1; SET @y = ';'; END",
		s.Name(), of.SQL, first)
}
