package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/source"
)

// Select gives a part of a table: some of its columns, or rows that meet a condition, or at most so many rows.
//
// Columns have the exact names that [source.Rows.Columns] gives. Those that Table leaves out because they are generated
// may be asked for too. To ask for a column twice is an error.
//
// The condition is any expression that may stand behind WHERE, and nothing else: it cannot end the statement, nor add
// to it. Its names are looked up on the search path of the user, and it may have subqueries on other tables. The rows
// of a selection with a limit cannot be divided, nor those of some conditions; see the comment of the package.
func (db *DB) Select(ctx context.Context, name string, s source.Selection) (source.Rows, error) {
	if s.Limit < 0 {
		return nil, fmt.Errorf("postgres: a limit of %d rows", s.Limit)
	}
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	relation, err := db.session.findRelation(ctx, name)
	if err != nil {
		return nil, err
	}
	relation.where, relation.limit = s.Where, s.Limit
	relation.whole = s.IsZero()
	relation.plain = relation.plain && relation.whole
	columns, err := db.session.columns(ctx, relation)
	if err != nil {
		return nil, err
	}
	wanted, err := choose(relation, columns, s.Columns)
	if err != nil {
		return nil, err
	}
	sql := relation.selectSQL(wanted)
	if err := db.session.checkCondition(ctx, relation); err != nil {
		return nil, err
	}
	description, err := db.session.prepare(ctx, sql)
	if err != nil {
		return nil, db.session.failed(ctx, relation.String(), err)
	}
	if len(description.Fields) != len(wanted) {
		return nil, db.session.failed(ctx, relation.String(), errAnswer)
	}
	// Only now, with the lock that the preparation has taken, will it stay as it is. What is not locked, the rows check
	// again at their end.
	if err := db.session.checkUnchanged(ctx, relation); err != nil {
		return nil, err
	}
	if err := db.keepLocks(ctx, relation); err != nil {
		return nil, err
	}
	r := newRows(ctx, db.session, relation.String(), wanted, sql, description.Fields)
	r.relation = relation
	db.open = r
	return &tableRows{csvRows: csvRows{r}, db: db}, nil
}

// choose gives the columns of the names, in their order, or those that can be loaded back if there are no names.
func choose(r *relation, columns []column, names []string) ([]source.Column, error) {
	var wanted []source.Column
	if len(names) == 0 {
		for _, c := range columns {
			if !c.generated {
				wanted = append(wanted, c.Column)
			}
		}
		return wanted, nil
	}
	for i, name := range names {
		at := slices.IndexFunc(columns, func(c column) bool { return c.Name == name })
		if at < 0 {
			unknown := &source.UnknownError{What: "column", Name: name}
			for _, c := range columns {
				unknown.Known = append(unknown.Known, c.Name)
			}
			return nil, unknown
		}
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("postgres: %s: column %s is asked for twice", r, strconv.Quote(name))
		}
		wanted = append(wanted, columns[at].Column)
	}
	return wanted, nil
}

// checkCondition makes sure that the condition of a relation is one expression. What the server parses behind WHERE
// both as it is and in parentheses is one: as it is, no parenthesis may close that has not been opened, so those around
// it enclose all of it, and allow nothing but an expression.
func (s *session) checkCondition(ctx context.Context, r *relation) error {
	if r.where == "" {
		return nil
	}
	doing := r.String() + ": condition"
	if strings.IndexByte(r.where, 0) >= 0 {
		return fmt.Errorf("postgres: %s: there is a NUL character in it", doing)
	}
	for _, paren := range [][2]string{{"", ""}, {"(", "\n)"}} { // the text may end in a comment
		head := "SELECT FROM " + r.sqlName() + " WHERE " + paren[0]
		description, err := s.prepare(ctx, head+r.where+paren[1])
		refused, ok := errors.AsType[*pgconn.PgError](err)
		switch {
		case ok && isSeveral(refused):
			return fmt.Errorf("postgres: %s: more than one statement", doing)
		case ok && refused.Code == codeIndeterminateDatatype, err == nil && len(description.ParamOIDs) > 0:
			return fmt.Errorf("postgres: %s: it has parameters ($1), for which there are no values", doing)
		case ok:
			refused.Position = max(0, refused.Position-int32(utf8.RuneCountInString(head)))
		}
		if err != nil {
			return s.failedAt(ctx, doing, err)
		}
	}
	return nil
}
