package mysql

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"culvert/source"
)

// table is a table or view that is there, or the part of one.
type table struct {
	database, name string
	base           bool // not a view
	where          string
	limit          int64
}

// String is the name for errors.
func (t table) String() string { return "table " + strconv.Quote(t.database+"."+t.name) }

// baseTypes are the types of tables that hold rows of their own.
var baseTypes = []string{"BASE TABLE", "SYSTEM VERSIONED"}

// knownLimit bounds the names that an UnknownError has.
const knownLimit = 1000

// findTable finds what a name stands for.
func (s *session) findTable(ctx context.Context, name string) (table, error) {
	for _, candidate := range readings(name) {
		candidate.database = cmp.Or(candidate.database, s.database)
		found, err := s.query(ctx, 3, `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES
			WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, candidate.database, candidate.name)
		if err != nil {
			return table{}, s.failed(ctx, "looking for the table", err)
		}
		// The comparison of the server takes letter case lightly, also where names do not.
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

func exactly(a, b string) bool { return a == b }

// readings are what a name can mean, in the order in which they are looked for.
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

// identifier reads a name as SQL has it at the start of a text: in backticks, which are doubled inside of them, or a
// plain one up to the next point.
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

// unknownTable is the error for a name that stands for no table.
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

// column is a column of a table.
type column struct {
	source.Column
	isJSON    bool
	generated bool
}

// columns gives the columns of a table.
func (s *session) columns(ctx context.Context, t table) ([]column, error) {
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
	var columns []column
	for _, row := range found {
		columns = append(columns, column{
			Column:    source.Column{Name: row[0], Type: row[1]},
			isJSON:    checked["json_valid("+quote(row[0])+")"],
			generated: row[2] == "1",
		})
	}
	return columns, nil
}

// jsonChecks are the checks of a table in MariaDB, whose type JSON is a text with a check.
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

// sql is the name for statements.
func (t table) sql() string { return quote(t.database) + "." + quote(t.name) }

// selectSQL reads the columns of a table.
func (t table) selectSQL(columns []column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = quote(c.Name)
	}
	sql := "SELECT " + strings.Join(names, ", ") + " FROM " + t.sql()
	if t.where != "" {
		sql += " WHERE (" + t.where + "\n)" // it may end in a comment
	}
	if t.limit > 0 {
		sql += fmt.Sprintf(" LIMIT %d", t.limit)
	}
	return sql
}

// quote writes a name as an SQL identifier, in whatever mode the server is.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
