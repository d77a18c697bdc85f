package sourcetest

import (
	"fmt"
	"slices"
	"strings"
)

// MariaDBSchema returns the clauses of MariaDB 10.11 and later.
func MariaDBSchema() *SchemaDialect {
	var m mariaDBSchema
	return &SchemaDialect{
		Quote:   func(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" },
		MaxName: 60, // of 64, for what the parts of a view get
		// Names have no characters beyond the basic plane.
		Refuses: func(name string) bool {
			return strings.HasSuffix(name, " ") || strings.ContainsFunc(name, func(r rune) bool { return r > 0xffff })
		},
		Types: mariaDBTypes(),
		Steps: []func(s *RandomSchema){
			m.sequences, m.functions, m.tables, m.references, m.partitions, m.views, m.triggers, m.events, m.rare,
		},
	}
}

type mariaDBSchema struct{}

func mariaDBTypes() []RandomType {
	texts := OddTexts()
	for i := range texts { // a backslash begins an escape
		texts[i] = strings.ReplaceAll(texts[i], `\`, `\\`)
	}
	return []RandomType{
		{"int", []string{"0", "-1", "2147483647"}, true, false},
		{"bigint unsigned", []string{"0", "18446744073709551615"}, true, false},
		{"tinyint(1)", []string{"0", "1", "-128"}, true, false},
		{"smallint(5) zerofill", []string{"0", "42"}, true, false},
		{"decimal(30,10)", []string{"0", "-1.5", "12345678901234567890.0123456789"}, true, false},
		{"float", []string{"0", "1.5", "1e30"}, true, false},
		{"double", []string{"0.1", "-1e300"}, true, false},
		{"bit(12)", []string{"b'0'", "b'101000000001'"}, true, false},
		{"char(9)", []string{"''", "'a b'"}, true, false},
		{"varchar(40)", texts, true, false},
		{"varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", texts, true, false},
		{"varchar(20) CHARACTER SET latin1", []string{"'äö'", "''"}, true, false},
		{"text", texts, false, false},
		{"mediumtext CHARACTER SET utf8mb4", texts, false, false},
		{"varbinary(9)", []string{"x''", "x'00ff5c0a'"}, true, false},
		{"blob", []string{"x''", "x'00275c'"}, false, false},
		{"date", []string{"'2026-01-02'", "'9999-12-31'"}, true, false},
		{"datetime(6)", []string{"'2026-01-02 03:04:05.000001'"}, true, false},
		{"timestamp NULL DEFAULT NULL", []string{"'2026-01-02 03:04:05'"}, true, false},
		{"time(2)", []string{"'-838:59:59'", "'25:00:00.5'"}, true, false},
		{"year", []string{"0", "1901"}, true, false},
		{"enum('a','it''s','')", []string{"'a'", "'it''s'", "''"}, true, false},
		{"set('x','y')", []string{"''", "'x,y'"}, true, false},
		{"json", []string{`'{"b" : 1, "a":[]}'`, "'null'"}, false, false},
		{"uuid", []string{"'00000000-0000-0000-0000-0000000000ff'"}, true, false},
		{"inet6", []string{"'::1'"}, true, false},
		{"point", []string{"ST_GeomFromText('POINT(1 2)')"}, false, false},
	}
}

func (mariaDBSchema) sequences(s *RandomSchema) {
	s.Some(2, func() {
		name := s.Name()
		s.Add("CREATE SEQUENCE %s START WITH %d INCREMENT BY %d %s %s", name, 1+s.IntN(9), 1+s.IntN(3),
			s.OneOf("CACHE 5", "NOCACHE"), s.OneOf("", "MAXVALUE 1000 CYCLE"))
		s.Add("DO NEXTVAL(%s)", name)
		s.Keep("sequence", name)
	})
}

func (mariaDBSchema) functions(s *RandomSchema) {
	s.Some(2, func() {
		name := s.Name()
		s.Add("CREATE FUNCTION %s(x int) RETURNS int DETERMINISTIC %s RETURN x + 1", name,
			s.OneOf("", "COMMENT 'it''s; one more'", "SQL SECURITY INVOKER"))
		s.Keep("function", name)
	})
	s.Add("CREATE PROCEDURE %s(OUT x int) BEGIN SELECT %s(1) INTO x; END", s.Name(), s.Kept("function")[0])
}

func (m mariaDBSchema) tables(s *RandomSchema) {
	for i := range 3 + s.IntN(3) {
		t := &RandomTable{SQL: s.Name(), Keyed: i < 2 || s.IntN(2) == 0}
		lines := m.columns(s, t)
		options := s.OneOf("", " COMMENT 'it''s \\\\ `a`'", " DEFAULT CHARSET=latin1", " ROW_FORMAT=COMPRESSED",
			" DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin")
		if strings.Contains(options, "latin1") && slices.ContainsFunc(t.Columns, func(c RandomColumn) bool {
			return c.Type.SQL == "varchar(40)" || c.Type.SQL == "text"
		}) {
			options = "" // it cannot hold their values
		}
		if !t.Keyed && s.IntN(2) == 0 {
			options += " WITH SYSTEM VERSIONING"
		}
		s.Add("CREATE TABLE %s (%s)%s", t.SQL, strings.Join(lines, ", "), options)
		s.Insert(t, s.IntN(5))
		s.Tables = append(s.Tables, t)
	}
}

// columns returns what is between the parentheses of a table.
func (m mariaDBSchema) columns(s *RandomSchema, t *RandomTable) (lines []string) {
	id := RandomColumn{SQL: s.Name(), Written: true}
	t.Columns = []RandomColumn{id}
	line, of := id.SQL+" int NOT NULL", id.SQL // what others are computed from
	if t.Keyed {
		if s.IntN(2) == 0 {
			line, of = line+" AUTO_INCREMENT", "1"
		}
		line += " PRIMARY KEY"
	}
	lines = append(lines, line)
	var keys []string
	s.Some(6, func() {
		c := s.Column()
		line := c.SQL + " " + c.Type.SQL
		if !strings.Contains(line, "NULL") && s.IntN(4) == 0 {
			c.NotNull = true
			line += " NOT NULL"
		}
		line += s.OneOf("", "", " COMMENT 'it''s'", " INVISIBLE")
		if c.NotNull && strings.HasSuffix(line, " INVISIBLE") {
			line = strings.TrimSuffix(line, " INVISIBLE")
		}
		t.Columns, lines = append(t.Columns, c), append(lines, line)
		switch {
		case c.Type.Keyed && s.IntN(3) == 0:
			keys = append(keys, fmt.Sprintf("%s %s (%s, %s%s)", s.OneOf("KEY", "UNIQUE KEY"), s.Name(), c.SQL, id.SQL,
				s.Maybe(" DESC")))
		case c.Type.SQL == "text":
			keys = append(keys, s.OneOf(fmt.Sprintf("FULLTEXT KEY %s (%s)", s.Name(), c.SQL),
				fmt.Sprintf("KEY %s (%s(7))", s.Name(), c.SQL)))
		case c.Type.SQL == "point" && c.NotNull:
			keys = append(keys, fmt.Sprintf("SPATIAL KEY %s (%s)", s.Name(), c.SQL))
		}
	})
	for _, form := range []string{
		"int DEFAULT (7 + 1)", "int AS (" + of + " * 2) STORED", "varchar(20) AS (concat(" + of + ", '''x')) VIRTUAL",
		"datetime(3) DEFAULT '2026-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP(3)",
		"varchar(9) NOT NULL DEFAULT 'it''s\\\\'",
		"bigint DEFAULT NEXTVAL(" + s.OneOf(s.Kept("sequence")...) + ")",
	} {
		if s.IntN(2) == 0 {
			name := s.Name()
			t.Columns, lines = append(t.Columns, RandomColumn{SQL: name}), append(lines, name+" "+form)
		}
	}
	if s.IntN(2) == 0 {
		keys = append(keys, "CONSTRAINT "+s.Name()+" CHECK ("+of+" > 0 and 'it''s' <> '')")
	}
	return append(lines, keys...)
}

func (mariaDBSchema) references(s *RandomSchema) {
	s.reference("int", func() string {
		return s.OneOf("", "ON DELETE CASCADE ON UPDATE SET NULL", "ON DELETE SET NULL")
	})
}

func (m mariaDBSchema) partitions(s *RandomSchema) {
	t := &RandomTable{SQL: s.Name()}
	t.Columns = []RandomColumn{{SQL: s.Name(), Written: true}}
	id := t.Columns[0].SQL
	s.Add("CREATE TABLE %s (%s int NOT NULL PRIMARY KEY) PARTITION BY %s", t.SQL, id, s.OneOf(
		"HASH ("+id+") PARTITIONS 3",
		"RANGE ("+id+") (PARTITION "+s.Name()+" VALUES LESS THAN (2),"+
			" PARTITION "+s.Name()+" VALUES LESS THAN MAXVALUE)",
		"LIST COLUMNS ("+id+") (PARTITION "+s.Name()+" VALUES IN (1, 2), PARTITION "+s.Name()+" DEFAULT)",
	))
	s.Insert(t, 4)
	s.Tables = append(s.Tables, t)
}

func (mariaDBSchema) views(s *RandomSchema) {
	of := s.Tables[0]
	below := of.SQL
	id := of.Columns[0].SQL
	s.Some(3, func() {
		name := s.Name()
		s.Add("CREATE %s %s VIEW %s AS SELECT v.%[4]s, %[5]s(v.%[4]s) AS %[6]s, 'it''s \\\\' AS %[7]s FROM %[8]s v"+
			" WHERE v.%[4]s > 0", s.OneOf("", "ALGORITHM=TEMPTABLE", "ALGORITHM=MERGE"),
			s.OneOf("", "SQL SECURITY INVOKER"), name, id, s.OneOf(s.Kept("function")...), s.Name(), s.Name(), below)
		below, id = name, "`"+strings.TrimLeft(id[1:], " ") // the server leaves out leading spaces in a view
	})
}

func (mariaDBSchema) triggers(s *RandomSchema) {
	for _, t := range s.Tables {
		if s.IntN(2) == 0 {
			s.Add("CREATE TRIGGER %s %s %s ON %s FOR EACH ROW SET @x = 'it''s'", s.Name(), s.OneOf("BEFORE", "AFTER"),
				s.OneOf("INSERT", "UPDATE", "DELETE"), t.SQL)
		}
	}
}

func (mariaDBSchema) events(s *RandomSchema) {
	s.Add("CREATE EVENT %s ON SCHEDULE EVERY %d DAY STARTS '2030-01-01 00:00:00' %s DO SET @x = 'it''s; `'", s.Name(),
		1+s.IntN(9), s.OneOf("", "DISABLE", "COMMENT 'it''s'"))
}
