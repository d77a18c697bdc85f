package postgres

import (
	"slices"
	"strings"

	"culvert/sink"
)

// arrivals is the temporary table of rows that may be in conflict with others.
const (
	arrivals    = "culvert_arrivals"
	arrivalsSQL = "pg_temp." + arrivals
)

// arrivalsSQL makes the temporary table with the columns of the rows, which have no constraints there.
func (p *plan) arrivalsSQL() string {
	return "CREATE TEMPORARY TABLE " + arrivals + " ON COMMIT DROP AS SELECT " + list(p.columns) + " FROM " +
		p.target.sql + " WITH NO DATA"
}

// mergeSQL adds the rows of the temporary table.
func (p *plan) mergeSQL() string {
	names := list(p.columns)
	sql := "INSERT INTO " + p.target.sql + " (" + names + ") OVERRIDING SYSTEM VALUE SELECT " + names + " FROM " +
		arrivalsSQL + " ON CONFLICT "
	if p.Conflict == sink.Ignore {
		return sql + "DO NOTHING"
	}
	var key, set []string
	for _, name := range p.Key {
		key = append(key, quote(name))
	}
	for _, c := range p.columns {
		if !slices.Contains(p.Key, c.Name) {
			set = append(set, quote(c.Name)+" = excluded."+quote(c.Name))
		}
	}
	sql += "(" + strings.Join(key, ", ") + ") "
	if len(set) == 0 {
		return sql + "DO NOTHING"
	}
	return sql + "DO UPDATE SET " + strings.Join(set, ", ")
}

// expect makes the temporary table, and has the server plan the statement that will add its rows, so that a key without
// a unique index is refused before any row is sent.
func (l *loader) expect() error {
	doing := "preparing table " + l.t.target.sql
	if err := l.s.exec(l.t.ctx, l.t.arrivalsSQL()); err != nil {
		return l.fail(l.s.failed(l.t.ctx, doing, err))
	}
	if err := l.s.exec(l.t.ctx, "EXPLAIN "+l.t.mergeSQL()); err != nil {
		return l.fail(l.s.failed(l.t.ctx, doing, err))
	}
	return nil
}

// merge adds the rows that have arrived.
func (l *loader) merge() error {
	if err := l.s.exec(l.t.ctx, l.t.mergeSQL()); err != nil {
		return l.fail(l.s.rowFailed(l.t.ctx, l.t.target, err))
	}
	return nil
}
