package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	gomysql "github.com/go-sql-driver/mysql"

	"culvert/source"
)

// Select gives a part of a table: some of its columns, or rows that meet a condition, or at most so many rows. Letter
// case does not count in the names of columns. To ask for a column twice is an error.
//
// The condition is any expression that may stand behind WHERE, and nothing else: it cannot end the statement, nor add
// to it. It may have subqueries on other tables.
func (db *DB) Select(ctx context.Context, name string, selection source.Selection) (source.Rows, error) {
	if selection.Limit < 0 {
		return nil, fmt.Errorf("mysql: a limit of %d rows", selection.Limit)
	}
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	t, err := db.session.findTable(ctx, name)
	if err != nil {
		return nil, err
	}
	t.where, t.limit = selection.Where, selection.Limit
	columns, err := db.session.columns(ctx, t)
	if err != nil {
		return nil, err
	}
	wanted, err := db.session.choose(ctx, t, columns, selection.Columns)
	if err != nil {
		return nil, err
	}
	if err := db.session.checkCondition(ctx, t); err != nil {
		return nil, err
	}
	r := &rows{session: db.session, ctx: ctx, name: t.String(), counted: t.base}
	if err := r.prepare(t.selectSQL(wanted)); err != nil {
		return nil, err
	}
	r.describe(wanted)
	db.open = r
	return &tableRows{rows: r, table: t}, nil
}

// choose gives the columns of the names, in their order, or those that can be loaded back if there are no names.
func (s *session) choose(ctx context.Context, t table, columns []column, names []string) ([]column, error) {
	if len(names) == 0 {
		// The server hides the columns that the user may not read, and an export must not leave them out in silence.
		if _, err := s.query(ctx, anyColumns, "SELECT * FROM "+t.sql()+" LIMIT 0"); err != nil {
			return nil, s.failed(ctx, t.String(), err)
		}
		columns = slices.DeleteFunc(columns, func(c column) bool { return c.generated })
		if len(columns) == 0 {
			return nil, fmt.Errorf("mysql: %s has no columns that can be read", t)
		}
		return columns, nil
	}
	var wanted []column
	taken := map[string]bool{}
	for _, name := range names {
		at := slices.IndexFunc(columns, func(c column) bool { return strings.EqualFold(c.Name, name) })
		if at < 0 {
			return nil, s.unknownColumn(ctx, t, columns, name)
		}
		c := columns[at]
		if taken[c.Name] {
			return nil, fmt.Errorf("mysql: %s: column %s is asked for twice", t, strconv.Quote(name))
		}
		taken[c.Name] = true
		wanted = append(wanted, c)
	}
	return wanted, nil
}

// unknownColumn is the error for a column that the server does not list: there is none, or the user may not read it.
func (s *session) unknownColumn(ctx context.Context, t table, columns []column, name string) error {
	_, err := s.query(ctx, 1, "SELECT "+quote(name)+" FROM "+t.sql()+" LIMIT 0")
	refused, ok := errors.AsType[*gomysql.MySQLError](err)
	if err != nil && !ok || ok && slices.Contains(accessDenied, refused.Number) {
		return s.failed(ctx, t.String(), err)
	}
	unknown := &source.UnknownError{What: "column", Name: name}
	for _, c := range columns {
		unknown.Known = append(unknown.Known, c.Name)
	}
	return unknown
}

// accessDenied are ER_TABLEACCESS_DENIED_ERROR and ER_COLUMNACCESS_DENIED_ERROR.
var accessDenied = []uint16{1142, 1143}

// checkCondition makes sure that the condition of a table is one expression. What the server parses behind WHERE both
// as it is and, in the statement that is run, in parentheses, is one: as it is, no parenthesis may close that has not
// been opened, so those around it enclose all of it, and allow nothing but an expression.
func (s *session) checkCondition(ctx context.Context, t table) error {
	if t.where == "" {
		return nil
	}
	statement, err := s.prepare(ctx, "SELECT 1 FROM "+t.sql()+" WHERE "+t.where+"\n", 0)
	if err == nil {
		err = guarded(statement.Close)
	}
	return s.failed(ctx, t.String()+": condition", err)
}
