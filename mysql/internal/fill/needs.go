package fill

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/sink"
	"culvert/source"
)

var _ sink.Provider = (*DB)(nil)

// Missing compares the sequences of a schema with those of the opened database, as the server prints both.
func (db *DB) Missing(ctx context.Context, s *source.Schema, f sink.Filling) ([]source.Statement, error) {
	if err := db.ready(ctx, f); err != nil {
		return nil, err
	}
	return db.missing(ctx, s)
}

func (db *DB) missing(ctx context.Context, s *source.Schema) (missing []source.Statement, err error) {
	if s.Dialect != db.dialect() || !s.Needs {
		return nil, fmt.Errorf("mysql: the schema is one of %s, and of a whole database", s.Dialect)
	}
	if _, err := stepsOf(s.Statements); err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, one := range s.Statements {
		made := sequence.FindStringSubmatch(one.SQL)
		if made == nil {
			if !strings.HasPrefix(one.SQL, "DO SETVAL(") {
				return nil, fmt.Errorf("mysql: this makes nothing that a table needs: %s", sink.Shorten(one.SQL))
			}
		} else if there[one.Object], err = db.hasSequence(ctx, one, made[1]); err != nil {
			return nil, err
		}
		if !there[one.Object] {
			missing = append(missing, one)
		}
	}
	return missing, nil
}

// hasSequence reports whether there is the sequence that a statement makes.
func (db *DB) hasSequence(ctx context.Context, one source.Statement, name string) (bool, error) {
	found, err := db.conn.Query(ctx, 1, `SELECT TABLE_TYPE FROM information_schema.TABLES
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?`, unquoted(name))
	if err != nil || len(found) == 0 {
		return false, db.failed(ctx, "looking for a sequence", err)
	}
	different := &sink.DifferentError{Object: one.Object, SQL: one.SQL}
	if found[0][0] != "SEQUENCE" {
		return false, different
	}
	shown, err := db.conn.Query(ctx, 2, "SHOW CREATE SEQUENCE "+name)
	if err == nil && len(shown) != 1 {
		err = wire.ErrAnswer
	}
	if err != nil {
		return false, db.failed(ctx, "looking for a sequence", err)
	}
	if different.Found = shown[0][1]; different.Found != one.SQL {
		return false, different
	}
	return true, nil
}

// Provide makes the sequences that are missing. The server commits each, so if a statement fails, those that were made
// are dropped. Of two that provide at the same time, one waits for the other.
func (db *DB) Provide(ctx context.Context, s *source.Schema, f sink.Filling) (missing []source.Statement, err error) {
	if err := db.ready(ctx, f); err != nil {
		return nil, err
	}
	if db.conn.Database == "" {
		return nil, fmt.Errorf("mysql: the tables need the %s, but no database is opened in which it could be made",
			s.Statements[0].Object)
	}
	if err := db.mayWrite(ctx); err != nil {
		return nil, err
	}
	r := &restoration{filling: f, db: db}
	err = r.alone(ctx, func() error {
		if missing, err = db.missing(ctx, s); err != nil {
			return err
		}
		var undo []string
		for _, one := range missing {
			err := db.conn.Exec(ctx, one.SQL)
			if err == nil {
				if made := sequence.FindStringSubmatch(one.SQL); made != nil {
					undo = append(undo, "DROP SEQUENCE "+made[1])
				}
				continue
			}
			failed := &sink.StatementsError{Before: true, Failed: []sink.StatementError{{
				SQL: one.SQL, Err: db.failed(ctx, "making what the tables need", err),
			}}}
			return db.undo(ctx, failed, undo)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return missing, nil
}

// undo runs statements after an error, which it returns.
func (db *DB) undo(ctx context.Context, err error, statements []string) error {
	for _, sql := range statements {
		if db.conn.Gone {
			return err
		}
		if undoErr := db.conn.Exec(context.WithoutCancel(ctx), sql); undoErr != nil {
			return fmt.Errorf("%w; then %s failed: %w", err, sql, undoErr)
		}
	}
	return err
}

// unquoted returns the name that is in backquotes.
func unquoted(name string) string {
	return strings.ReplaceAll(name[1:len(name)-1], "``", "`")
}

// drawsFromProvided returns a default that draws from a sequence which is provided for the table, without the name of
// the database where the definition comes from. A sequence of another database may have the same name.
func (p *plan) drawsFromProvided(text string) (string, bool) {
	for _, one := range p.provided() {
		made := sequence.FindStringSubmatch(one.SQL)
		if made == nil || one.For != nil && !slices.Contains(one.For, p.Create.Name) &&
			!slices.Contains(one.For, p.Create.Schema+"."+p.Create.Name) {
			continue
		}
		here := "nextval(" + made[1] + ")"
		from := "nextval(" + catalog.Table{Database: p.Create.Schema, Name: unquoted(made[1])}.SQL() + ")"
		if text == from || text == "("+from+")" {
			return strings.Replace(text, from, here, 1), true
		}
	}
	return "", false
}

func (p *plan) provided() []source.Statement {
	if p.Provided == nil {
		return nil
	}
	return p.Provided.Statements
}
