package fill

import (
	"context"
	"fmt"

	"culvert/postgres/internal/needs"
	"culvert/postgres/internal/pgdump"
	"culvert/postgres/internal/sqltext"
	"culvert/sink"
	"culvert/source"
)

var _ sink.Provider = (*DB)(nil)

// Missing compares the objects of a schema with those that the database has, as both are printed.
func (db *DB) Missing(ctx context.Context, s *source.Schema, f sink.Filling) ([]source.Statement, error) {
	if err := db.begin(ctx, f); err != nil {
		return nil, err
	}
	defer db.session.rollback()
	return db.session.missing(ctx, s)
}

func (s *session) missing(ctx context.Context, schema *source.Schema) ([]source.Statement, error) {
	if schema.Dialect != source.PostgreSQL || !schema.Needs {
		return nil, fmt.Errorf("postgres: the schema is one of %s, and of a whole database", schema.Dialect)
	}
	var names []string
	for _, one := range schema.Statements {
		if !needs.Allowed(one.SQL) {
			return nil, fmt.Errorf("postgres: the schema has a statement that makes nothing: %s", sink.Shorten(one.SQL))
		}
		names = append(names, one.Object)
	}
	// The server would compile this statement for seconds.
	if err := s.exec(ctx, "SET LOCAL jit = off"); err != nil {
		return nil, s.failed(ctx, "setting up the session", err)
	}
	found, err := s.query(ctx, 2, needs.ExistingSQL, sqltext.Array(names))
	if err != nil {
		return nil, s.failed(ctx, "looking for what the tables need", err)
	}
	exists := map[string]string{}
	for _, row := range found {
		exists[string(row[0])] = string(row[1])
	}
	var missing []source.Statement
	before := ""
	for _, one := range schema.Statements {
		sql, is := exists[one.Object]
		switch {
		case !is:
			missing = append(missing, one)
		case before != one.Object && sql != one.SQL:
			return nil, &sink.DifferentError{Object: one.Object, SQL: one.SQL, Found: sql}
		}
		before = one.Object
	}
	return missing, nil
}

// Provide makes what is missing. Of two that do so at the same time, one waits for the other.
func (db *DB) Provide(ctx context.Context, schema *source.Schema, f sink.Filling) ([]source.Statement, error) {
	if err := db.begin(ctx, f); err != nil {
		return nil, err
	}
	s := db.session
	defer s.rollback() // which is nothing after a commit
	if err := s.exec(ctx, "SELECT pg_catalog.pg_advisory_xact_lock("+ledgerLock+")"); err != nil {
		return nil, s.failed(ctx, "waiting for other loads", err)
	}
	missing, err := s.missing(ctx, schema)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	if err := s.writes(ctx); err != nil {
		return nil, err
	}
	if err := s.exec(ctx, pgdump.Settings); err != nil {
		return nil, s.failed(ctx, "setting up the session", err)
	}
	for _, one := range missing {
		if err := s.params(ctx, one.SQL).Err; err != nil {
			err = s.failed(ctx, "making what the tables need", err)
			return nil, &sink.StatementsError{Before: true, Failed: []sink.StatementError{{SQL: one.SQL, Err: err}}}
		}
	}
	return missing, s.commit(ctx, db.config)
}
