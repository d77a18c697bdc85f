package fill

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/postgres/internal/sqltext"
	"culvert/sink"
	"culvert/source"
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

// keeps reports whether a row of the table stays as it is if a new one has the same key.
func (p *plan) keeps() bool {
	return p.Conflict == sink.Ignore || !slices.ContainsFunc(p.columns, func(c source.Column) bool {
		return !slices.Contains(p.Key, c.Name)
	})
}

// mergeSQL adds the rows of the temporary table.
func (p *plan) mergeSQL() string {
	names := list(p.columns)
	sql := "INSERT INTO " + p.target.sql
	if names != "" {
		sql += " (" + names + ")"
	}
	sql += " OVERRIDING SYSTEM VALUE SELECT " + names + " FROM " + arrivalsSQL + " ON CONFLICT "
	if p.Conflict == sink.Ignore {
		return sql + "DO NOTHING"
	}
	var key, set []string
	for _, name := range p.Key {
		key = append(key, sqltext.Quote(name))
	}
	for _, c := range p.columns {
		if !slices.Contains(p.Key, c.Name) {
			set = append(set, sqltext.Quote(c.Name)+" = excluded."+sqltext.Quote(c.Name))
		}
	}
	sql += "(" + strings.Join(key, ", ") + ") "
	if len(set) == 0 {
		return sql + "DO NOTHING"
	}
	return sql + "DO UPDATE SET " + strings.Join(set, ", ")
}

// ruledSQL returns whether the table $1 has a rule DO INSTEAD NOTHING. The server refuses ON CONFLICT beside others.
const ruledSQL = `SELECT pg_catalog.count(*) > 0 FROM pg_catalog.pg_rewrite
WHERE ev_class = $1::oid AND ev_type = '3' AND is_instead AND ev_enabled <> 'D'`

// expect makes the temporary table, and has the server plan the statement that will add its rows, so that a key without
// a unique index is refused before any row is sent.
func (l *loader) expect() error {
	doing := "preparing table " + l.t.target.sql
	ruled, err := l.s.one(l.t.ctx, ruledSQL, l.t.target.oid)
	switch {
	case err != nil:
		return l.s.failed(l.t.ctx, doing, err)
	case ruled == "t":
		return fmt.Errorf("postgres: %s: a rule of it does something else instead of INSERT", doing)
	}
	if err := l.s.exec(l.t.ctx, l.t.arrivalsSQL()); err != nil {
		return l.s.failed(l.t.ctx, doing, err)
	}
	if err := l.s.exec(l.t.ctx, "EXPLAIN "+l.t.mergeSQL()); err != nil {
		return l.s.failed(l.t.ctx, doing, err)
	}
	return nil
}

// merged is what became of the rows that arrived.
type merged struct {
	rows    int64 // that arrived
	written int64 // that were added, or have replaced others
	matched int64 // that were found to have the key of a row
}

// merge adds the rows that have arrived. Every one of them must have been written, or be one that the filling ignores.
// A trigger of the table can leave rows out without an error, so the server counts them: EXPLAIN says how many rows
// were in conflict, which the tag of INSERT does not.
func (l *loader) merge() error {
	if l.merged != nil {
		return nil
	}
	counting := "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) " + l.t.mergeSQL() + " RETURNING NULL"
	results, err := l.s.conn.Exec(l.t.ctx, counting).ReadAll()
	if err != nil {
		return l.s.rowFailed(l.t.ctx, l.t.target, err)
	}
	m, err := countsOf(results)
	if err != nil {
		return fmt.Errorf("postgres: adding rows to table %s: %w", l.t.target.name(), err)
	}
	counted := m.written
	if l.t.keeps() {
		counted += m.matched
	}
	if m.rows == l.arrived && counted < m.rows && l.t.Conflict == sink.Update {
		// A trigger may leave an update out that would change nothing.
		same, err := l.unchanged()
		if err != nil {
			return err
		}
		counted += same
	}
	if m.rows != l.arrived || counted != m.rows {
		return &sink.CountError{Table: l.t.target.name(), Sent: l.arrived, Counted: counted}
	}
	l.merged = m
	return nil
}

// countsOf reads the answer of EXPLAIN.
func countsOf(results []*pgconn.Result) (*merged, error) {
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) != 1 {
		return nil, errAnswer
	}
	var plans []struct {
		Plan struct {
			Written  *float64 `json:"Actual Rows"`
			Inserted *float64 `json:"Tuples Inserted"`
			Matched  *float64 `json:"Conflicting Tuples"`
		}
	}
	if err := json.Unmarshal(results[0].Rows[0][0], &plans); err != nil {
		return nil, errAnswer
	}
	if len(plans) != 1 {
		return nil, errAnswer
	}
	p := plans[0].Plan
	if p.Written == nil || p.Inserted == nil || p.Matched == nil {
		return nil, errAnswer
	}
	return &merged{
		rows: int64(*p.Inserted) + int64(*p.Matched), written: int64(*p.Written), matched: int64(*p.Matched),
	}, nil
}

// keptSQL are the rows that arrived and were not written: those to which no row that the transaction has written is
// equal. Types without an operator for equality are compared too, as text.
func (l *loader) keptSQL(what, own string) string {
	names := list(l.t.columns)
	return "SELECT " + what + " FROM (SELECT *, ROW(" + names + ")::pg_catalog.text AS culvert_text," +
		" pg_catalog.row_number() OVER (PARTITION BY ROW(" + names + ")::pg_catalog.text) AS culvert_number FROM " +
		arrivalsSQL + ") AS a LEFT JOIN (SELECT ROW(" + names + ")::pg_catalog.text AS culvert_written," +
		" pg_catalog.count(*) AS culvert_count FROM " + l.t.target.sql + " WHERE " + own +
		" GROUP BY 1) AS w ON culvert_text OPERATOR(pg_catalog.=) culvert_written" +
		" WHERE culvert_number OPERATOR(pg_catalog.>) coalesce(culvert_count, 0)"
}

// unchanged returns how many of the rows that were not written are in the table as they arrived.
func (l *loader) unchanged() (int64, error) {
	own, err := l.own()
	if err != nil {
		return 0, err
	}
	names := list(l.t.columns)
	return l.s.count(l.t.ctx, l.t.target, "("+l.keptSQL("culvert_text", own)+") AS k WHERE EXISTS (SELECT FROM "+
		l.t.target.sql+" WHERE NOT ("+own+
		") AND ROW("+names+")::pg_catalog.text OPERATOR(pg_catalog.=) k.culvert_text)")
}

// sumMerged reads the rows back that were written, and adds those that the table kept others for.
func (l *loader) sumMerged() (rows int64, sum sink.Sum, err error) {
	own, err := l.own()
	if err != nil {
		return 0, sum, err
	}
	written, err := l.readBack("(" + l.ownSQL(own) + ")")
	if err != nil {
		return 0, sum, err
	}
	ignored := l.merged.rows - l.merged.written
	if ignored == 0 {
		return written.rows, written.Sum(), nil
	}
	kept, err := l.readBack("(" + l.keptSQL(list(l.t.columns), own) + ")")
	if err != nil {
		return 0, sum, err
	}
	// If another trigger has deleted rows that were written, they count as missing, and not as ignored.
	sum = written.Sum()
	sum.Add(kept.Sum())
	return written.rows + ignored, sum, nil
}
