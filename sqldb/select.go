package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"culvert/internal/sqlsource"
	"culvert/source"
)

var _ source.Selector = (*DB)(nil)

// Table returns all rows of a table or view. It looks for the name as it is, then with a schema before the first
// period, and then without regard to case. If the names of the tables cannot be read, the name is passed to the
// database as it is, and an unknown name is an error of the database, not an [*source.UnknownError].
func (db *DB) Table(ctx context.Context, name string) (source.Rows, error) {
	return db.Select(ctx, name, source.Selection{})
}

// Select returns a part of a table or view. It looks for columns among those of Table, first by their exact names and
// then without regard to case. A limit is written as LIMIT, which some databases do not know.
//
// The condition is any expression that may follow both WHERE and CASE WHEN. It is tried first, so that parentheses
// cannot change its meaning. However, a driver that accepts several statements at once also accepts them here.
func (db *DB) Select(ctx context.Context, name string, s source.Selection) (source.Rows, error) {
	if err := sqlsource.Check("sqldb", s); err != nil {
		return nil, err
	}
	from, explain, err := db.find(ctx, name)
	if err != nil {
		return nil, err
	}
	list := "*"
	if len(s.Columns) > 0 || s.Where != "" {
		none := "SELECT * FROM " + from + " WHERE 1 = 0"
		known, err := db.columns(ctx, none)
		if err != nil {
			return nil, explain(err)
		}
		if len(s.Columns) > 0 {
			columns := sqlsource.Columns(known)
			chosen, err := sqlsource.Choose(fmt.Sprintf("sqldb: table %q", name), columns, s.Columns, strings.EqualFold)
			if err != nil {
				return nil, err
			}
			list = sqlsource.List(chosen, db.config.Quote)
		}
		if s.Where != "" {
			// See package sqlsource. The condition may end in a comment.
			if _, err := db.columns(ctx, none+" AND CASE WHEN "+s.Where+"\n THEN 1 ELSE 0 END = 1"); err != nil {
				return nil, fmt.Errorf("sqldb: the condition cannot be used: %w", err)
			}
		}
		explain = func(err error) error { return err } // the table exists
	}
	rows, err := db.query(ctx, sqlsource.Select(list, from, s))
	if err != nil {
		return nil, explain(err)
	}
	return db.config.converted(rows), nil
}

// find returns the name of a table as SQL, and a function that explains an error of the first statement on it.
func (db *DB) find(ctx context.Context, name string) (identifier string, explain func(error) error, err error) {
	known, listErr := db.tables(ctx)
	if listErr != nil && (ctx.Err() != nil || errors.Is(listErr, source.ErrUnavailable)) {
		return "", nil, listErr
	}
	identifier, found := db.identifier(name, known)
	return identifier, func(err error) error {
		if found || listErr != nil || ctx.Err() != nil || errors.Is(err, source.ErrUnavailable) {
			return err
		}
		unknown := &source.UnknownError{What: "table", Name: name}
		for _, t := range known {
			unknown.Known = append(unknown.Known, t.nameLike(name))
		}
		return fmt.Errorf("%w (%w)", unknown, err)
	}, nil
}

// columns returns the column names of a query that has no rows.
func (db *DB) columns(ctx context.Context, query string) (names []string, err error) {
	rows, err := db.query(ctx, query)
	if err != nil {
		return nil, err
	}
	for _, column := range rows.Columns() {
		names = append(names, column.Name)
	}
	var b source.Batch
	err = rows.Next(&b) // some drivers report an error of the statement only now
	if err == io.EOF {
		err = nil
	}
	return names, errors.Join(err, rows.Close())
}
