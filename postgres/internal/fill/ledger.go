package fill

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"culvert/postgres/internal/sqltext"
	"culvert/sink"
)

// ledgerName returns the name of a ledger for statements. It may have a schema; quotes are not special.
func ledgerName(l *sink.Ledger) (schema, name string) {
	schema, name, found := strings.Cut(l.Table, ".")
	if !found {
		return "", sqltext.Quote(schema)
	}
	return sqltext.Quote(schema), sqltext.Quote(schema) + "." + sqltext.Quote(name)
}

// ledgerSQL makes the ledger, and its schema.
func ledgerSQL(l *sink.Ledger) string {
	schema, name := ledgerName(l)
	sql := "CREATE TABLE IF NOT EXISTS " + name + ` (
	load text NOT NULL, table_name text NOT NULL, part text NOT NULL,
	row_count bigint NOT NULL, row_sum text NOT NULL, loaded_at timestamp with time zone NOT NULL DEFAULT now(),
	PRIMARY KEY (load, table_name, part))`
	if schema == "" {
		return sql
	}
	return "CREATE SCHEMA IF NOT EXISTS " + schema + ";\n" + sql
}

// ledgerLock is the number of the advisory lock under which ledgers are made, since CREATE … IF NOT EXISTS of two
// sessions may fail in one of them.
const ledgerLock = "1129664077"

// makeLedger makes the ledger in a transaction of its own, unless it is there.
func (db *DB) makeLedger(ctx context.Context, f sink.Filling) error {
	_, name := ledgerName(f.Ledger)
	exists, err := db.session.knows(ctx, name)
	if err != nil || exists {
		return err
	}
	if err := db.begin(ctx, f); err != nil {
		return err
	}
	err = db.session.exec(ctx, "SELECT pg_catalog.pg_advisory_xact_lock("+ledgerLock+");\n"+ledgerSQL(f.Ledger))
	if err != nil {
		return db.session.failed(ctx, "making the ledger "+name, err)
	}
	if err := db.session.commit(ctx, db.config); err != nil {
		return err
	}
	return db.begin(ctx, f)
}

// knows reports whether a table exists, by its name for statements.
func (s *session) knows(ctx context.Context, name string) (bool, error) {
	result := s.params(ctx, "SELECT pg_catalog.to_regclass($1::text) IS NOT NULL", name)
	if result.Err == nil && len(result.Rows) != 1 {
		result.Err = errAnswer
	}
	if result.Err != nil {
		return false, s.failed(ctx, "looking for "+name, result.Err)
	}
	return string(result.Rows[0][0]) == "t", nil
}

// loaded returns the parts of the load that the ledger has.
func (s *session) loaded(ctx context.Context, ledger *sink.Ledger, t *target) ([]sink.Part, error) {
	if ledger == nil {
		return nil, nil
	}
	if s.facts.knowsParts(ledger, t) {
		return s.facts.parts[t.sql], nil
	}
	parts, err := s.loadedOf(ctx, ledger, []string{t.sql})
	return parts[t.sql], err
}

// loadedOf returns the parts of the load that the ledger has of some tables.
func (s *session) loadedOf(ctx context.Context, ledger *sink.Ledger, tables []string) (map[string][]sink.Part, error) {
	_, name := ledgerName(ledger)
	if exists, err := s.knows(ctx, name); err != nil || !exists {
		return nil, err
	}
	result := s.params(ctx, "SELECT table_name, part, row_count, row_sum FROM "+name+
		" WHERE load = $1 AND table_name = ANY ($2::pg_catalog.text[]) ORDER BY loaded_at, part",
		ledger.Load, sqltext.Array(tables))
	if result.Err != nil {
		return nil, s.failed(ctx, "reading the ledger "+name, result.Err)
	}
	parts := map[string][]sink.Part{}
	for _, row := range result.Rows {
		rows, err := strconv.ParseInt(string(row[2]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("postgres: reading the ledger %s: %w", name, errAnswer)
		}
		table := string(row[0])
		parts[table] = append(parts[table], sink.Part{Name: string(row[1]), Rows: rows, Sum: string(row[3])})
	}
	return parts, nil
}

// count returns the number of rows that are FROM what is given.
func (s *session) count(ctx context.Context, t *target, from string) (int64, error) {
	s.counted = true
	found, err := s.one(ctx, "SELECT pg_catalog.count(*) FROM (SELECT FROM "+from+") AS counted")
	if err != nil {
		return 0, s.failed(ctx, "counting the rows of table "+t.sql, err)
	}
	rows, err := strconv.ParseInt(found, 10, 64)
	if err != nil {
		return 0, errAnswer
	}
	return rows, nil
}

// content is what a table and the ledger have.
type content struct {
	s      *session
	ctx    context.Context
	ledger *sink.Ledger
	t      *target
	own    bool // rows of tables that inherit from it do not count
}

// Parts returns the parts of the load.
func (c content) Parts() ([]sink.Part, error) { return c.s.loaded(c.ctx, c.ledger, c.t) }

// Count counts the rows. A table from which others inherit has their rows too if it must have none, unless the rows to
// come are its own alone.
func (c content) Count(most int64) (int64, error) {
	switch {
	case c.s.facts.knowsEmpty(c.t) && (c.own || most > 0 || !c.t.inherited):
		return 0, nil
	case most == 0 && c.own:
		return c.s.count(c.ctx, c.t, c.t.only()+" LIMIT 1")
	case most == 0:
		return c.s.count(c.ctx, c.t, c.t.sql+" LIMIT 1")
	}
	return c.s.count(c.ctx, c.t, c.t.only())
}

// look decides what becomes of the rows that a table has.
func (s *session) look(ctx context.Context, p *plan, t *target) (err error) {
	p.loaded, p.clear, err = t.describe().Look(p.Filling, content{s, ctx, p.Ledger, t, p.OwnRows})
	if err == nil && p.truncates() && p.Ledger != nil && !p.Grouped {
		err = s.references(ctx, t)
	}
	return err
}

// record is what the ledger gets of a part of a table.
type record struct {
	table string
	part  sink.Part
}

// record adds parts, of which there is at least one, to the ledger.
func (s *session) record(ctx context.Context, ledger *sink.Ledger, records ...record) error {
	var columns [4][]string
	for _, r := range records {
		for i, value := range []string{r.table, r.part.Name, strconv.FormatInt(r.part.Rows, 10), r.part.Sum} {
			columns[i] = append(columns[i], value)
		}
	}
	_, name := ledgerName(ledger)
	result := s.params(ctx, "INSERT INTO "+name+" (load, table_name, part, row_count, row_sum)"+
		" SELECT $1::pg_catalog.text, * FROM ROWS FROM (pg_catalog.unnest($2::pg_catalog.text[]),"+
		" pg_catalog.unnest($3::pg_catalog.text[]), pg_catalog.unnest($4::pg_catalog.int8[]),"+
		" pg_catalog.unnest($5::pg_catalog.text[]))", ledger.Load,
		sqltext.Array(columns[0]), sqltext.Array(columns[1]), sqltext.Array(columns[2]), sqltext.Array(columns[3]))
	return s.failed(ctx, "recording part "+strconv.Quote(records[0].part.Name), result.Err)
}

// forget removes what the ledger, if there is one, has of tables, whose rows are gone.
func (s *session) forget(ctx context.Context, ledger *sink.Ledger, tables ...*target) error {
	if ledger == nil {
		return nil
	}
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.sql
	}
	_, name := ledgerName(ledger)
	return s.failed(ctx, "clearing the ledger", s.params(ctx, "DELETE FROM "+name+
		" WHERE table_name = ANY ($1::pg_catalog.text[])", sqltext.Array(names)).Err)
}
