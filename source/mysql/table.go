package mysql

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"culvert/source"
	"culvert/source/internal/sqlsource"
)

// table is an existing table or view, or a part of one.
type table struct {
	database, name string
	base           bool // not a view
	source.Selection
}

// String returns the name for errors.
func (t table) String() string { return "table " + strconv.Quote(t.database+"."+t.name) }

// baseTypes are the types of tables that hold rows of their own.
var baseTypes = []string{"BASE TABLE", "SYSTEM VERSIONED"}

// knownLimit is the most names in an UnknownError.
const knownLimit = 1000

// findTable finds the table that a name stands for.
func (s *session) findTable(ctx context.Context, name string) (table, error) {
	exactly := func(a, b string) bool { return a == b }
	for _, candidate := range readings(name) {
		candidate.database = cmp.Or(candidate.database, s.database)
		found, err := s.query(ctx, 3, `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES
			WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, candidate.database, candidate.name)
		if err != nil {
			return table{}, s.failed(ctx, "looking for the table", err)
		}
		// The server ignores letter case here, even if it counts in names.
		for _, equal := range []func(a, b string) bool{exactly, strings.EqualFold} {
			for _, row := range found {
				if equal(row[0], candidate.database) && equal(row[1], candidate.name) {
					return table{database: row[0], name: row[1], base: slices.Contains(baseTypes, row[2])}, nil
				}
			}
			if !s.foldCase {
				break
			}
		}
	}
	return table{}, s.unknownTable(ctx, name)
}

// readings returns the tables that a name can mean, in the order of the search.
func readings(name string) []table {
	all := []table{{name: name}}
	if database, rest, found := strings.Cut(name, "."); found && database != "" && rest != "" {
		all = append(all, table{database: database, name: rest})
	}
	first, rest, ok := identifier(name)
	switch {
	case !ok:
	case rest == "":
		all = append(all, table{name: first})
	case rest[0] == '.':
		if second, rest, ok := identifier(rest[1:]); ok && rest == "" {
			all = append(all, table{database: first, name: second})
		}
	}
	return all
}

// identifier reads an SQL identifier at the start of a text: in backticks, with backticks inside doubled, or plain up
// to the next period.
func identifier(text string) (name, rest string, ok bool) {
	if !strings.HasPrefix(text, "`") {
		end := strings.IndexByte(text, '.')
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:], end > 0 && !strings.Contains(text[:end], "`")
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] == '`' {
			if !strings.HasPrefix(text[i+1:], "`") {
				return b.String(), text[i+1:], b.Len() > 0
			}
			i++
		}
		b.WriteByte(text[i])
	}
	return "", "", false
}

// unknownTable returns the error for a name that stands for no table.
func (s *session) unknownTable(ctx context.Context, name string) error {
	found, err := s.query(ctx, 2, fmt.Sprintf(`SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES
		WHERE TABLE_SCHEMA NOT IN (`+systemSchemas+`)
		ORDER BY TABLE_SCHEMA <> ?, TABLE_SCHEMA, TABLE_NAME LIMIT %d`, knownLimit), s.database)
	if err != nil {
		return s.failed(ctx, "looking for the table", err)
	}
	unknown := &source.UnknownError{What: "table", Name: name}
	for _, row := range found {
		if row[0] == s.database && !strings.Contains(name, ".") {
			unknown.Known = append(unknown.Known, row[1])
		} else {
			unknown.Known = append(unknown.Known, row[0]+"."+row[1])
		}
	}
	return unknown
}

// columns returns the columns of a table.
func (s *session) columns(ctx context.Context, t table) ([]sqlsource.Column, error) {
	found, err := s.query(ctx, 3, `SELECT COLUMN_NAME, COLUMN_TYPE, IFNULL(GENERATION_EXPRESSION, '') <> ''
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`,
		t.database, t.name)
	if err != nil {
		return nil, s.failed(ctx, t.String(), err)
	}
	checked, err := s.jsonChecks(ctx, t)
	if err != nil {
		return nil, s.failed(ctx, t.String(), err)
	}
	var columns []sqlsource.Column
	for _, row := range found {
		columns = append(columns, sqlsource.Column{
			Column:    source.Column{Name: row[0], Type: row[1]},
			JSON:      checked["json_valid("+quote(row[0])+")"],
			Generated: row[2] == "1",
		})
	}
	return columns, nil
}

// jsonChecks returns the check constraints of a table in MariaDB, whose type JSON is text with a check.
func (s *session) jsonChecks(ctx context.Context, t table) (map[string]bool, error) {
	if !s.isMariaDB || !t.base {
		return nil, nil
	}
	found, err := s.query(ctx, 1, `SELECT CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS
		WHERE CONSTRAINT_SCHEMA = ? AND TABLE_NAME = ?`, t.database, t.name)
	if err != nil {
		return nil, err
	}
	checks := map[string]bool{}
	for _, row := range found {
		checks[row[0]] = true
	}
	return checks, nil
}

// sql returns the name for statements.
func (t table) sql() string { return quote(t.database) + "." + quote(t.name) }

// quote writes a name as an SQL identifier, which is valid in every SQL mode.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
