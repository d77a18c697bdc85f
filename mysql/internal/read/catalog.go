package read

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"culvert/mysql/internal/catalog"
	"culvert/source"
)

const listing = "listing the tables"

// Tables returns the names of the tables of a database, sorted by bytes. For "", these are the tables of the opened
// database, or of all databases except the system's if none is opened. A name in the opened database is the table's
// alone; others are database.table, with backticks if Table would otherwise find another table. The list
// is read once, by the first of Tables, Omitted and Schema.
//
// Views, sequences, and MERGE tables, whose rows belong to other tables, are left out: see [DB.Omitted]. So are tables
// on which the user has no rights, since the server hides them, and those in which a load of the whole database keeps
// what it has done.
func (db *DB) Tables(ctx context.Context, schema string) ([]string, error) {
	found, err := db.list(ctx, schema)
	if err != nil {
		return nil, err
	}
	tables := slices.DeleteFunc(slices.Clone(found), func(row []string) bool {
		return !slices.Contains(catalog.BaseTypes, row[2]) || isMerge(row) || isOfLoad(row)
	})
	return db.session.distinctNames(ctx, tables)
}

// Omitted names the views, the sequences of MariaDB, which no table has, and the MERGE tables.
func (db *DB) Omitted(ctx context.Context, schema string) ([]string, error) {
	found, err := db.list(ctx, schema)
	var omitted []string
	for _, row := range found {
		name := row[1]
		if row[0] != db.session.Database {
			name = row[0] + "." + name
		}
		switch {
		case row[2] == "VIEW":
			omitted = append(omitted, fmt.Sprintf("the view %q", name))
		case row[2] == "SEQUENCE":
			omitted = append(omitted, fmt.Sprintf("the sequence %q", name))
		case isMerge(row):
			omitted = append(omitted, fmt.Sprintf("the MERGE table %q, whose rows are those of other tables", name))
		}
	}
	return omitted, err
}

func isMerge(row []string) bool { return strings.EqualFold(row[3], "MRG_MYISAM") }

// isOfLoad reports whether a table is one in which a load that has not ended keeps what it has done.
func isOfLoad(row []string) bool {
	return row[1] == catalog.Restoring || row[1] == catalog.RestoringLedger
}

// list returns the schema, the name, the type and the engine of what is listed as a table, in order. The caller does
// not change it. An export needs it three times, and the server may open each table for it, so it is asked for once.
func (db *DB) list(ctx context.Context, schema string) ([][]string, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	s := db.session
	asked := cmp.Or(schema, s.Database)
	if found := s.listed[asked]; found != nil {
		return found, nil
	}
	all := "TABLE_SCHEMA NOT IN (" + catalog.SystemSchemas + ")"
	if schema = asked; schema != "" {
		known, err := s.schemaNamed(ctx, schema)
		if err != nil {
			return nil, err
		}
		schema, all = known, "TABLE_SCHEMA = ?"
	}
	parameters := slices.DeleteFunc([]string{schema}, func(name string) bool { return name == "" })
	found, err := s.Query(ctx, 4, `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, IFNULL(ENGINE, '')
		FROM information_schema.TABLES WHERE `+all, parameters...)
	if err != nil {
		return nil, s.Explain(ctx, listing, err)
	}
	found = slices.DeleteFunc(found, func(row []string) bool { return schema != "" && row[0] != schema })
	slices.SortFunc(found, slices.Compare[[]string])
	if s.listed == nil {
		s.listed = map[string][][]string{}
	}
	s.listed[asked] = found
	return found, nil
}

// schemaNamed returns the name of a database as the server writes it.
func (s *session) schemaNamed(ctx context.Context, name string) (string, error) {
	found, err := s.Query(ctx, 1, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY SCHEMA_NAME")
	if err != nil {
		return "", s.Explain(ctx, listing, err)
	}
	unknown := &source.UnknownError{What: "schema", Name: name}
	system := catalog.SystemSchemas
	for _, row := range found {
		if row[0] == name || s.FoldCase && strings.EqualFold(row[0], name) {
			return row[0], nil
		}
		if len(unknown.Known) < catalog.KnownLimit && !strings.Contains(system, "'"+row[0]+"'") {
			unknown.Known = append(unknown.Known, row[0])
		}
	}
	return "", unknown
}

// distinctNames returns for each row of a database and a table the name by which Table finds that table.
func (s *session) distinctNames(ctx context.Context, tables [][]string) ([]string, error) {
	known := map[string]bool{}
	if slices.ContainsFunc(tables, func(row []string) bool { return row[0] != s.Database }) {
		found, err := s.Query(ctx, 2, "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES")
		if err != nil {
			return nil, s.Explain(ctx, listing, err)
		}
		for _, row := range found {
			known[s.key(row[0], row[1])] = true
		}
	}
	names := make([]string, len(tables))
	for i, row := range tables {
		if row[0] == s.Database {
			names[i] = row[1] // Table looks for this one first
			continue
		}
		for _, name := range []string{row[0] + "." + row[1], catalog.Quote(row[0]) + "." + catalog.Quote(row[1])} {
			if s.tableOf(name, known) == s.key(row[0], row[1]) {
				names[i] = name
				break
			}
		}
		if names[i] == "" {
			return nil, fmt.Errorf("mysql: no name finds %s, since another table has the same one",
				catalog.Table{Database: row[0], Name: row[1]})
		}
	}
	return names, nil
}

// tableOf returns the key of the table that Table finds by a name.
func (s *session) tableOf(name string, tables map[string]bool) string {
	for _, reading := range catalog.Readings(name) {
		if key := s.key(cmp.Or(reading.Database, s.Database), reading.Name); tables[key] {
			return key
		}
	}
	return ""
}

// key returns the same key for names that the server does not distinguish.
func (s *session) key(database, table string) string {
	key := database + "\x00" + table
	if s.FoldCase {
		return strings.ToLower(key)
	}
	return key
}
