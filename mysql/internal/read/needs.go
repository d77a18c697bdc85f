package read

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
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
		for _, one := range drawn {
			if one.table.Database == t.Database && one.table.Name == t.Name && one.next &&
				one.sequence.Database == t.Database {
				needing[one.sequence] = append(needing[one.sequence], name)
			}
		}
	}
	err = s.inPlainMode(ctx, func() error { return r.addNeeded(needing, drawn, len(tables)) })
	return r.schema, s.Explain(ctx, "reading what the tables need", err)
}

// draw is a default that draws from a sequence.
type draw struct {
	table    catalog.Table
	column   string
	sequence catalog.Table
	next     bool // it is the next number, with which nothing is computed
}

// drawsFrom matches where a default draws from a sequence.
var drawsFrom = lazyregexp.New("nextval\\((?:(`(?:[^`]|``)+`)\\.)?(`(?:[^`]|``)+`)\\)")

// draws returns the defaults that draw from sequences, of tables of the opened database and those that begin one of the
// names.
func (r *schemaReading) draws(names []string) (all []draw, err error) {
	databases := map[string]bool{r.Database: true}
	for _, name := range names {
		if database, _, is := strings.Cut(name, "."); is {
			databases[database] = true
		}
	}
	for _, database := range slices.Sorted(maps.Keys(databases)) {
		found, err := r.defaultsOf(r.ctx, database)
		if err != nil {
			return nil, err
		}
		for _, row := range found {
			next := nextOfSequence.MatchString(withoutDatabase(row[2], database, r.FoldCase))
			for _, match := range drawsFrom.FindAllStringSubmatch(row[2], -1) {
				of := database
				if match[1] != "" && !sameName(unquoted(match[1]), database, r.FoldCase) {
					of = unquoted(match[1])
				}
				t := catalog.Table{Database: database, Name: row[0]}
				sequence := catalog.Table{Database: of, Name: unquoted(match[2])}
				all = append(all, draw{table: t, column: row[1], sequence: sequence, next: next})
			}
		}
	}
	return all, nil
}

// defaultsOf returns the defaults of tables of a database that may draw from sequences. An export of the whole database
// needs them twice, and the server opens each table for it, so they are asked for once.
func (s *session) defaultsOf(ctx context.Context, database string) ([][]string, error) {
	if found, known := s.drawing[database]; known {
		return found, nil
	}
	found, err := s.Query(ctx, 3, `SELECT TABLE_NAME, COLUMN_NAME, COLUMN_DEFAULT FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = ? AND COLUMN_DEFAULT LIKE '%val(%' ORDER BY TABLE_NAME, ORDINAL_POSITION`, database)
	if err != nil {
		return nil, err
	}
	if s.drawing == nil {
		s.drawing = map[string][][]string{}
	}
	s.drawing[database] = found
	return found, nil
}

// tells returns the columns that draw from a sequence.
func (r *schemaReading) tells(sequence catalog.Table, drawn []draw) *source.Numbering {
	n := &source.Numbering{Sequence: fmt.Sprintf("%q", sequence.Name)}
	for _, one := range drawn {
		if sameName(one.sequence.Database, sequence.Database, r.FoldCase) &&
			sameName(one.sequence.Name, sequence.Name, r.FoldCase) {
			table := source.TableName{Schema: one.table.Database, Name: one.table.Name}
			n.Columns = append(n.Columns, source.ColumnName{Table: table, Column: one.column})
		}
	}
	return n
}

// addNeeded adds sequences, with the tables that need each, unless all of the given number do. Sequences of two
// databases whose names differ in case only are one, since the other server may not distinguish them.
func (r *schemaReading) addNeeded(needing map[catalog.Table][]string, drawn []draw, tables int) error {
	sequences := slices.SortedFunc(maps.Keys(needing), func(a, b catalog.Table) int {
		return strings.Compare(a.SQL(), b.SQL())
	})
	has := map[string]bool{}
	for _, t := range sequences {
		key := strings.ToLower(t.Name)
		if has[key] {
			r.lack("the sequence %q of database %q, since another one has that name", t.Name, t.Database)
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
		for _, one := range []source.Statement{{SQL: made}, {SQL: position, Tells: r.tells(t, drawn)}} {
			one.Object, one.For = object, by
			if err := r.add(one); err != nil {
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
