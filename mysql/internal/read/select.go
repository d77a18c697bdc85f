package read

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"culvert/internal/sqlsource"
	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/source"
)

// Select returns a part of a table. Letter case does not count in column names. Selecting a column twice is an error.
//
// The condition is any expression that may follow WHERE. It cannot end the statement or add to it. It may have
// subqueries on other tables.
func (db *DB) Select(ctx context.Context, name string, selection source.Selection) (source.Rows, error) {
	t, columns, err := db.look(ctx, name, selection)
	if err != nil {
		return nil, err
	}
	r, err := db.read(ctx, t, columns, "")
	if err != nil {
		return nil, err
	}
	return &tableRows{rows: r, db: db, table: t}, nil
}

// look finds a table and the columns of a selection from it.
func (db *DB) look(ctx context.Context, name string, selection source.Selection) (table, []sqlsource.Column, error) {
	if err := sqlsource.Check("mysql", selection); err != nil {
		return table{}, nil, err
	}
	if err := db.begin(ctx); err != nil {
		return table{}, nil, err
	}
	t, err := db.session.findTable(ctx, name)
	if err != nil {
		return table{}, nil, err
	}
	t.Selection = selection
	columns, err := db.session.examine(ctx, t)
	return t, columns, err
}

// examine returns the columns of a selection, and checks its condition.
func (s *session) examine(ctx context.Context, t table) ([]sqlsource.Column, error) {
	columns, err := s.choose(ctx, t)
	if err != nil {
		return nil, err
	}
	return columns, s.checkCondition(ctx, t)
}

// read prepares the statement of the rows of a selection that are in a range, or of all of them if it is "".
func (db *DB) read(ctx context.Context, t table, columns []sqlsource.Column, inRange string) (*rows, error) {
	r := &rows{session: db.session, ctx: ctx, name: t.String(), counted: t.Base}
	list := sqlsource.List(columns, catalog.Quote)
	check, asBytes, err := db.session.checkSQL(ctx, columns)
	if err != nil {
		return nil, err
	}
	if check != "" {
		list += ", " + check
	}
	r.known, r.table, r.checks, r.asBytes = columns, t, check != "", asBytes
	sql := sqlsource.Select(list, t.SQL(), t.Selection)
	switch {
	case inRange == "":
	case t.Where == "":
		sql += " WHERE " + inRange
	default:
		sql += " AND (" + inRange + ")"
	}
	// The server has allowed to read a known table, and a statement without a condition is none of others.
	known := db.session.known(t.Table)
	r.sql, r.own = sql, t.Where == "" && known != nil
	r.asText = r.own && known.isText(columns)
	if !r.own {
		if err := r.prepare(); err != nil {
			return nil, err
		}
	}
	r.describe(columns)
	db.open = r
	return r, nil
}

// fewRows is up to how many rows a statement takes longer to prepare than the numbers of its rows to read as text.
const fewRows = 1000

// isText reports whether these columns are best read in the text protocol: then a table takes one round trip in place
// of two, and the server opens it once. Text does not have all digits of a FLOAT.
func (f *facts) isText(columns []sqlsource.Column) bool {
	return f.rows <= fewRows && !slices.ContainsFunc(columns, func(c sqlsource.Column) bool {
		return c.Logical.Class == source.FloatClass
	})
}

// choose returns the columns of a selection.
func (s *session) choose(ctx context.Context, t table) ([]sqlsource.Column, error) {
	columns, err := s.columns(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(t.Columns) == 0 && s.known(t.Table) == nil {
		// The server hides the columns that the user may not read, and an export must not leave them out in silence.
		if _, err := s.Query(ctx, wire.AnyColumns, "SELECT * FROM "+t.SQL()+" LIMIT 0"); err != nil {
			return nil, s.Explain(ctx, t.String(), err)
		}
	}
	chosen, err := sqlsource.Choose("mysql: "+t.String(), columns, t.Columns, strings.EqualFold)
	if unknown, ok := errors.AsType[*source.UnknownError](err); ok {
		return nil, s.unknownColumn(ctx, t, unknown)
	}
	if err == nil && len(chosen) == 0 {
		err = fmt.Errorf("mysql: %s has no columns that can be read", t)
	}
	return chosen, err
}

// unknownColumn returns the error for a column that the server does not list: it does not exist, or may not be read.
func (s *session) unknownColumn(ctx context.Context, t table, unknown *source.UnknownError) error {
	_, err := s.Query(ctx, 1, "SELECT "+catalog.Quote(unknown.Name)+" FROM "+t.SQL()+" LIMIT 0")
	refused := wire.Refused(err)
	if err != nil && (refused == nil || slices.Contains(accessDenied, refused.Number)) {
		return s.Explain(ctx, t.String(), err)
	}
	return unknown
}

// accessDenied are ER_TABLEACCESS_DENIED_ERROR and ER_COLUMNACCESS_DENIED_ERROR.
var accessDenied = []uint16{1142, 1143}

// checkCondition makes sure that the condition of a table is a single expression. See package sqlsource.
func (s *session) checkCondition(ctx context.Context, t table) error {
	if t.Where == "" {
		return nil
	}
	statement, err := s.Prepare(ctx, "SELECT 1 FROM "+t.SQL()+" WHERE "+t.Where+"\n", 0)
	if err == nil {
		err = wire.Guarded(statement.Close)
	}
	return s.Explain(ctx, t.String()+": condition", err)
}
