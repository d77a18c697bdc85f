package sourcetest

import (
	"fmt"
	"strings"
)

// SQLiteSchema returns the clauses of SQLite, with the virtual tables FTS5 and R*Tree. The values are those of which
// CSV tells the type, as most are that have the type of their column.
func SQLiteSchema() *SchemaDialect {
	var q sqliteSchema
	return &SchemaDialect{
		Quote:   func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` },
		MaxName: 200,
		Types: []RandomType{
			{"INTEGER", []string{"0", "-9223372036854775808", "'text'", "1.5"}, true, false},
			{"int", []string{"1", "-1"}, true, false},
			{"REAL", []string{"0.1", "-1e300", "9e999", "7"}, true, false},
			{"TEXT", OddTexts(), true, false},
			{"varchar(7) COLLATE NOCASE", OddTexts(), true, false},
			{"BLOB", []string{"x''", "x'0027'"}, true, false},
			{"NUMERIC", []string{"'1.50'", "12345678901234567890", "'x'"}, true, false},
			{"decimal(10,2)", []string{"1.1", "'a'"}, true, false},
			{"", []string{"'a'", "''", "'b c'"}, true, false},
			{"json", []string{`'{"b" : 1}'`, "'no json'"}, true, false},
		},
		Steps: []func(s *RandomSchema){q.tables, q.strict, q.virtual, q.views, q.triggers, q.numbers},
	}
}

type sqliteSchema struct{}

func (q sqliteSchema) tables(s *RandomSchema) {
	s.Add("PRAGMA foreign_keys = OFF")
	for i := range 3 + s.IntN(3) {
		t := &RandomTable{SQL: s.Name(), Keyed: true}
		id := RandomColumn{SQL: s.Name(), Written: true}
		t.Columns = []RandomColumn{id}
		lines := []string{id.SQL + s.OneOf(" INTEGER PRIMARY KEY", " INTEGER PRIMARY KEY AUTOINCREMENT",
			" int PRIMARY KEY NOT NULL")}
		s.Some(6, func() {
			c := s.Column()
			line := c.SQL + " " + c.Type.SQL
			if c.NotNull = s.IntN(4) == 0; c.NotNull {
				line += " NOT NULL" + s.Maybe(" ON CONFLICT REPLACE DEFAULT 'it''s'")
			}
			line += s.OneOf("", "", " CHECK ("+c.SQL+" IS NOT 'never')", " /* a, comment */")
			t.Columns, lines = append(t.Columns, c), append(lines, line)
		})
		for _, form := range []string{
			"AS (" + id.SQL + " * 2) STORED", "TEXT GENERATED ALWAYS AS (" + id.SQL + " || '''x') VIRTUAL",
			"int DEFAULT (1 + 1)", "TEXT DEFAULT CURRENT_TIMESTAMP", "BLOB DEFAULT x'00'",
		} {
			if s.IntN(3) == 0 {
				name := s.Name()
				t.Columns, lines = append(t.Columns, RandomColumn{SQL: name}), append(lines, name+" "+form)
			}
		}
		lines = append(lines, fmt.Sprintf("CONSTRAINT %s CHECK (%s > 0)", s.Name(), id.SQL))
		if i > 0 {
			to := s.Tables[s.IntN(len(s.Tables))]
			lines = append(lines, fmt.Sprintf("FOREIGN KEY (%s) REFERENCES %s (%s) ON DELETE CASCADE%s", id.SQL, to.SQL,
				to.Columns[0].SQL, s.Maybe(" DEFERRABLE INITIALLY DEFERRED")))
		}
		without := ""
		if strings.Contains(lines[0], "NOT NULL") {
			without = s.Maybe(" WITHOUT ROWID")
		}
		s.Add("CREATE TABLE %s (%s)%s", t.SQL, strings.Join(lines, ", "), without)
		s.Insert(t, s.IntN(5))
		q.index(s, t)
		s.Tables = append(s.Tables, t)
	}
}

func (sqliteSchema) index(s *RandomSchema, t *RandomTable) {
	id := t.Columns[0].SQL
	for _, form := range []string{
		id + " DESC", "abs(" + id + "), " + id, id + ") WHERE (" + id + " > 1",
		t.Columns[1].SQL + " COLLATE NOCASE, " + id,
	} {
		if s.IntN(2) == 0 {
			s.Add("CREATE %s INDEX %s ON %s (%s)", s.Maybe("UNIQUE"), s.Name(), t.SQL, form)
		}
	}
}

func (sqliteSchema) strict(s *RandomSchema) {
	t, a, b := s.Name(), s.Name(), s.Name()
	s.Add("CREATE TABLE %s (%s TEXT, %s ANY, PRIMARY KEY (%[2]s, %[3]s)) STRICT%s", t, a, b, s.Maybe(", WITHOUT ROWID"))
	s.Add("INSERT INTO %s VALUES ('a', 'x'), ('b', '')", t)
}

func (sqliteSchema) virtual(s *RandomSchema) {
	texts, title := s.Name(), s.Name()
	s.Add("CREATE VIRTUAL TABLE %s USING fts5(%s, body, tokenize = 'porter')", texts, title)
	s.Add("INSERT INTO %s VALUES ('Title', 'running words'), (NULL, '')", texts)
	s.Add("CREATE VIRTUAL TABLE %s USING rtree(id, x0, x1, +%s TEXT)", s.Name(), s.Name())
	notes := s.Name()
	s.Add("CREATE TABLE %s (id INTEGER PRIMARY KEY, note TEXT)", notes)
	s.Add("INSERT INTO %s VALUES (1, 'some words'), (7, %s)", notes, s.OneOf(OddTexts()...))
}

func (sqliteSchema) views(s *RandomSchema) {
	below, id := s.Tables[0].SQL, s.Tables[0].Columns[0].SQL
	s.Some(3, func() {
		name := s.Name()
		s.Add("CREATE VIEW %s AS SELECT %s, 'it''s' AS %s FROM %s WHERE %[2]s > 0 /* why */", name, id, s.Name(), below)
		below = name
	})
	s.Keep("view", below)
}

func (sqliteSchema) triggers(s *RandomSchema) {
	for _, t := range s.Tables {
		if s.IntN(2) == 0 {
			s.Add("CREATE TRIGGER %s %s %s ON %s BEGIN SELECT 'it''s; --'; END", s.Name(), s.OneOf("BEFORE", "AFTER"),
				s.OneOf("INSERT", "UPDATE", "DELETE"), t.SQL)
		}
	}
	s.Add("CREATE TRIGGER %s INSTEAD OF DELETE ON %s BEGIN SELECT RAISE(ABORT, 'no'); END", s.Name(), s.Kept("view")[0])
}

func (sqliteSchema) numbers(s *RandomSchema) {
	s.Add("PRAGMA user_version = %d", s.IntN(99)-9)
	s.Add("PRAGMA application_id = %d", s.IntN(99))
}
