package read

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/internal/sqlsource"
	"culvert/postgres/internal/sqltext"
	"culvert/source"
)

// Select returns a part of a table. Columns have exactly the names that [source.Rows.Columns] returns; generated
// columns may be selected too. Selecting a column twice is an error.
//
// The condition is any expression that may follow WHERE. It cannot end the statement or add to it. Its names are looked
// up on the user's search path, and it may have subqueries on other tables. Rows of a selection with a limit cannot be
// divided, nor rows of some conditions; see the package comment.
func (db *DB) Select(ctx context.Context, name string, s source.Selection) (source.Rows, error) {
	r, err := db.look(ctx, name, s)
	if err != nil {
		return nil, err
	}
	return &tableRows{csvRows: csvRows{r}, db: db}, nil
}

// look returns the rows of a selection from the table that a name stands for.
func (db *DB) look(ctx context.Context, name string, s source.Selection) (*rows, error) {
	if err := sqlsource.Check("postgres", s); err != nil {
		return nil, err
	}
	if err := db.free(); err != nil {
		return nil, err
	}
	if one := db.known.of(name); one != nil && one.isSmall() && s.IsZero() {
		return db.openKnown(ctx, one)
	}
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	relation, err := db.session.findRelation(ctx, name)
	if err != nil {
		return nil, err
	}
	return db.open(ctx, relation, s)
}

// open locks a relation and prepares the statement of its rows.
func (db *DB) open(ctx context.Context, relation *relation, s source.Selection) (*rows, error) {
	relation.Selection = s
	columns, err := db.session.columns(ctx, relation)
	if err != nil {
		return nil, err
	}
	if columns, err = sqlsource.Choose("postgres: "+relation.String(), columns, s.Columns, nil); err != nil {
		return nil, err
	}
	relation.list = sqlsource.List(columns, sqltext.Quote)
	sql := sqlsource.Select(relation.list, relation.from(), s)
	if err := db.session.checkCondition(ctx, relation); err != nil {
		return nil, err
	}
	description, err := db.session.prepare(ctx, sql)
	if err != nil {
		return nil, db.session.failed(ctx, relation.String(), err)
	}
	if len(description.Fields) != len(columns) {
		return nil, db.session.failed(ctx, relation.String(), errAnswer)
	}
	// Only the lock of the preparation protects it from changes. The rows check again at the end what is not locked.
	if err := db.session.checkUnchanged(ctx, relation); err != nil {
		return nil, err
	}
	if err := db.keepLocks(ctx, relation); err != nil {
		return nil, err
	}
	described := make([]source.Column, len(columns))
	for i, c := range columns {
		described[i] = c.Column
	}
	r := newRows(ctx, db.session, relation.String(), described, sql, description.Fields)
	r.relation = relation
	db.reading = r
	return r, nil
}

// checkCondition makes sure that the condition of a relation is a single expression. See package sqlsource.
func (s *session) checkCondition(ctx context.Context, r *relation) error {
	if r.Where == "" {
		return nil
	}
	doing := r.String() + ": condition"
	for _, paren := range [][2]string{{"", ""}, {"(", "\n)"}} { // it may end in a comment
		head := "SELECT FROM " + r.sqlName() + " WHERE " + paren[0]
		description, err := s.prepare(ctx, head+r.Where+paren[1])
		refused, ok := errors.AsType[*pgconn.PgError](err)
		switch {
		case ok && isSeveral(refused):
			return fmt.Errorf("postgres: %s: more than one statement", doing)
		case ok && refused.Code == codeIndeterminateDatatype, err == nil && len(description.ParamOIDs) > 0:
			return fmt.Errorf("postgres: %s: it has parameters, such as $1, but no values for them", doing)
		case ok:
			refused.Position = max(0, refused.Position-int32(utf8.RuneCountInString(head)))
		}
		if err != nil {
			return s.failedAt(ctx, doing, err)
		}
	}
	return nil
}
