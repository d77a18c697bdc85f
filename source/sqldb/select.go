package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"culvert/source"
	"culvert/source/internal/sqlsource"
)

var _ source.Selector = (*DB)(nil)

// Table gives all rows of a table or view. A name is looked for as it is written, then with a schema before the first
// point, and then without regard to case. If the names of the tables cannot be read, the name is given to the
// database as it is, and an unknown one is an error of the database, not an [*source.UnknownError].
func (db *DB) Table(ctx context.Context, name string) (source.Rows, error) {
	from, explain, err := db.find(ctx, name)
	if err != nil {
		return nil, err
	}
	rows, err := db.query(ctx, "SELECT * FROM "+from)
	if err != nil {
		return nil, explain(err)
	}
	return db.config.converted(rows), nil
}

// Select gives a part of a table or view. The names of columns are looked for as they are written, and then without
// regard to case, among those that Table gives. A limit is written as LIMIT, which some databases do not know.
//
// The condition is any expression that may stand both behind WHERE and behind CASE WHEN. It is tried before it is used,
// so that it does not become anything else in parentheses; but a driver that takes several statements at a time would
// take them here, too.
func (db *DB) Select(ctx context.Context, name string, s source.Selection) (source.Rows, error) {
	if err := sqlsource.Check("sqldb", s); err != nil {
		return nil, err
	}
	if s.IsZero() {
		return db.Table(ctx, name)
	}
	from, explain, err := db.find(ctx, name)
	if err != nil {
		return nil, err
	}
	sql := "SELECT * FROM " + from + " WHERE 1 = 0"
	known, err := db.columns(ctx, sql)
	if err != nil {
		return nil, explain(err)
	}
	list := "*"
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
		if _, err := db.columns(ctx, sql+" AND CASE WHEN "+s.Where+"\n THEN 1 ELSE 0 END = 1"); err != nil {
			return nil, fmt.Errorf("sqldb: the condition cannot be used: %w", err)
		}
	}
	rows, err := db.query(ctx, sqlsource.Select(list, from, s))
	if err != nil {
		return nil, err
	}
	return db.config.converted(rows), nil
}

// find gives the name of a table as SQL has it, and what explains an error of the first statement that uses it.
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

// columns gives the names of the columns of a query that has no rows.
func (db *DB) columns(ctx context.Context, query string) (names []string, err error) {
	rows, err := db.query(ctx, query)
	if err != nil {
		return nil, err
	}
	for _, column := range rows.Columns() {
		names = append(names, column.Name)
	}
	var b source.Batch
	err = rows.Next(&b) // with some drivers, an error of the statement comes only now
	if err == io.EOF {
		err = nil
	}
	return names, errors.Join(err, rows.Close())
}
