package read

import (
	"context"
	"maps"
	"slices"
	"strings"

	"culvert/mysql/internal/catalog"
	"culvert/source"
)

var _ source.Needer = (*DB)(nil)

// Needs returns the sequences of MariaDB from which defaults of the tables draw, with their positions as they are now.
// They are those of the databases of the tables. Nothing else that a table needs is outside of it.
func (db *DB) Needs(ctx context.Context, tables []string) (*source.Schema, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	s := db.session
	r := &schemaReading{session: s, ctx: ctx, schema: &source.Schema{Dialect: source.MySQL, Needs: true}}
	if !s.IsMariaDB {
		return r.schema, nil
	}
	r.schema.Dialect = source.MariaDB
	drawn, err := r.draws(tables)
	if err != nil {
		return nil, s.Explain(ctx, "reading what the tables need", err)
	}
	needing := map[catalog.Table][]string{} // the tables that need a sequence
	for _, name := range tables {
		if len(drawn) == 0 {
			break
		}
		t, err := s.findTable(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, sequence := range drawn[catalog.Table{Database: t.Database, Name: t.Name}] {
			needing[sequence] = append(needing[sequence], name)
		}
	}
	err = s.inPlainMode(ctx, func() error { return r.addNeeded(needing, len(tables)) })
	return r.schema, s.Explain(ctx, "reading what the tables need", err)
}

// draws returns the sequences from which defaults draw, by the tables that have them, in the opened database and those
// that begin one of the names.
func (r *schemaReading) draws(names []string) (map[catalog.Table][]catalog.Table, error) {
	databases := map[string]bool{r.Database: true}
	for _, name := range names {
		if database, _, is := strings.Cut(name, "."); is {
			databases[database] = true
		}
	}
	drawn := map[catalog.Table][]catalog.Table{}
	for _, database := range slices.Sorted(maps.Keys(databases)) {
		found, err := r.Query(r.ctx, 2, `SELECT TABLE_NAME, COLUMN_DEFAULT FROM information_schema.COLUMNS
			WHERE TABLE_SCHEMA = ? AND COLUMN_DEFAULT LIKE '%nextval(%'`, database)
		if err != nil {
			return nil, err
		}
		for _, row := range found {
			draw := nextOfSequence.FindStringSubmatch(withoutDatabase(row[1], database, r.FoldCase))
			if draw == nil {
				continue // of another database, or more than a number
			}
			t := catalog.Table{Database: database, Name: row[0]}
			drawn[t] = append(drawn[t], catalog.Table{Database: database, Name: unquoted(draw[1])})
		}
	}
	return drawn, nil
}

// addNeeded adds sequences, with the tables that need each, unless all of the given number do.
func (r *schemaReading) addNeeded(needing map[catalog.Table][]string, tables int) error {
	sequences := slices.SortedFunc(maps.Keys(needing), func(a, b catalog.Table) int {
		return strings.Compare(a.SQL(), b.SQL())
	})
	has := map[string]bool{}
	for _, t := range sequences {
		key := strings.ToLower(t.Name)
		if has[key] {
			r.lack("the sequence %q of database %q, since another database has one of that name", t.Name, t.Database)
			continue
		}
		has[key] = true
		made, position, err := r.sequence(t)
		if err != nil {
			return err
		}
		if made == "" {
			continue
		}
		by := slices.Compact(needing[t])
		if len(by) == tables {
			by = nil
		}
		object := "sequence " + t.Name
		for _, sql := range []string{made, position} {
			if err := r.add(source.Statement{SQL: sql, Object: object, For: by}); err != nil {
				return err
			}
		}
	}
	return nil
}

// addForTables adds what single tables of the opened database need to its schema.
func (db *DB) addForTables(ctx context.Context, schema *source.Schema, listed [][]string) error {
	var tables []string
	for _, row := range listed {
		if row[2] != "SEQUENCE" && row[2] != "VIEW" && !isMerge(row) && !isOfLoad(row) {
			tables = append(tables, row[1])
		}
	}
	needs, err := db.Needs(ctx, tables)
	if err == nil {
		schema.ForTables = needs.Statements
	}
	return err
}
