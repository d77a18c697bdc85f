package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gomysql "github.com/go-sql-driver/mysql"

	"culvert/source"
	"culvert/source/internal/sqlsource"
)

// Select returns a part of a table. Letter case does not count in column names. Selecting a column twice is an error.
//
// The condition is any expression that may follow WHERE. It cannot end the statement or add to it. It may have
// subqueries on other tables.
func (db *DB) Select(ctx context.Context, name string, selection source.Selection) (source.Rows, error) {
	if err := sqlsource.Check("mysql", selection); err != nil {
		return nil, err
	}
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	t, err := db.session.findTable(ctx, name)
	if err != nil {
		return nil, err
	}
	t.Selection = selection
	columns, err := db.session.choose(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := db.session.checkCondition(ctx, t); err != nil {
		return nil, err
	}
	r := &rows{session: db.session, ctx: ctx, name: t.String(), counted: t.base}
	if err := r.prepare(sqlsource.Select(sqlsource.List(columns, quote), t.sql(), selection)); err != nil {
		return nil, err
	}
	r.describe(columns)
	db.open = r
	return &tableRows{rows: r, table: t}, nil
}

// choose returns the columns of a selection.
func (s *session) choose(ctx context.Context, t table) ([]sqlsource.Column, error) {
	columns, err := s.columns(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(t.Columns) == 0 {
		// The server hides the columns that the user may not read, and an export must not leave them out in silence.
		if _, err := s.query(ctx, anyColumns, "SELECT * FROM "+t.sql()+" LIMIT 0"); err != nil {
			return nil, s.failed(ctx, t.String(), err)
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
	_, err := s.query(ctx, 1, "SELECT "+quote(unknown.Name)+" FROM "+t.sql()+" LIMIT 0")
	refused, ok := errors.AsType[*gomysql.MySQLError](err)
	if err != nil && !ok || ok && slices.Contains(accessDenied, refused.Number) {
		return s.failed(ctx, t.String(), err)
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
	statement, err := s.prepare(ctx, "SELECT 1 FROM "+t.sql()+" WHERE "+t.Where+"\n", 0)
	if err == nil {
		err = guarded(statement.Close)
	}
	return s.failed(ctx, t.String()+": condition", err)
}
