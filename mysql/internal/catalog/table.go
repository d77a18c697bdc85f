// Package catalog finds the tables of MySQL and MariaDB, and reads their values, for what is exported and what is read
// back after a load.
package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/internal/sqlsource"
	"culvert/mysql/internal/wire"
	"culvert/source"
)

// Table is an existing table or view.
type Table struct {
	Database, Name string
	Base           bool // not a view
	Versioned      bool // its rows have a history
}

// String returns the name for errors.
func (t Table) String() string { return "table " + strconv.Quote(t.Database+"."+t.Name) }

// SQL returns the name for statements.
func (t Table) SQL() string { return Quote(t.Database) + "." + Quote(t.Name) }

// Quote writes a name as an SQL identifier, which is valid in every SQL mode.
func Quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// BaseTypes are the types of tables that hold rows of their own.
var BaseTypes = []string{"BASE TABLE", "SYSTEM VERSIONED"}

// SystemSchemas are the databases of the system, as SQL.
const SystemSchemas = "'information_schema', 'performance_schema', 'mysql', 'sys'"

// SnapshotEngines are the storage engines that take part in a consistent snapshot, as SQL. Others have no older rows,
// such as MyISAM and Aria, or ask another server for them, such as FEDERATED, whatever transactions they have.
const SnapshotEngines = "'InnoDB', 'ROCKSDB', 'TokuDB'"

// Restoring and RestoringLedger are the tables in which the load of a whole database keeps what it has done until it
// ends. They are no part of the database.
const (
	Restoring       = "culvert_restore"
	RestoringLedger = "culvert_restore_ledger"
)

// KnownLimit is the most names in an UnknownError.
const KnownLimit = 1000

// Find finds the table that a name stands for: as it is in the opened database, then as database.table with both parts
// as they are, then as SQL reads it. The error is a [*source.UnknownError] if there is none, or one of the connection.
func Find(ctx context.Context, c *wire.Conn, name string) (Table, error) {
	found, is, err := Lookup(ctx, c, name)
	if err == nil && !is {
		err = unknown(ctx, c, name)
	}
	return found, err
}

// Lookup is Find for a table that need not exist. It does not ask which others there are.
func Lookup(ctx context.Context, c *wire.Conn, name string) (found Table, is bool, err error) {
	exactly := func(a, b string) bool { return a == b }
	for _, candidate := range Readings(name) {
		candidate.Database = cmp.Or(candidate.Database, c.Database)
		if strings.ContainsFunc(candidate.Database+candidate.Name, isBeyond) {
			continue
		}
		found, err := c.Query(ctx, 3, `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES
			WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, candidate.Database, candidate.Name)
		if err != nil {
			return Table{}, false, err
		}
		// The server ignores letter case here, even if it counts in names.
		for _, equal := range []func(a, b string) bool{exactly, strings.EqualFold} {
			for _, row := range found {
				if equal(row[0], candidate.Database) && equal(row[1], candidate.Name) {
					return Table{
						Database: row[0], Name: row[1],
						Base: slices.Contains(BaseTypes, row[2]), Versioned: row[2] == "SYSTEM VERSIONED",
					}, true, nil
				}
			}
			if !c.FoldCase {
				break
			}
		}
	}
	return Table{}, false, nil
}

// isBeyond reports whether no name has a character. The server would not compare it with names.
func isBeyond(r rune) bool { return r > 0xffff }

// Readings returns the tables that a name can mean, in the order of the search.
func Readings(name string) []Table {
	all := []Table{{Name: name}}
	if database, rest, found := strings.Cut(name, "."); found && database != "" && rest != "" {
		all = append(all, Table{Database: database, Name: rest})
	}
	first, rest, ok := Identifier(name)
	switch {
	case !ok:
	case rest == "":
		all = append(all, Table{Name: first})
	case rest[0] == '.':
		if second, rest, ok := Identifier(rest[1:]); ok && rest == "" {
			all = append(all, Table{Database: first, Name: second})
		}
	}
	return all
}

// Identifier reads an SQL identifier at the start of a text: in backticks, with backticks inside doubled, or plain up
// to the next period.
func Identifier(text string) (name, rest string, ok bool) {
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

// unknown returns the error for a name that stands for no table.
func unknown(ctx context.Context, c *wire.Conn, name string) error {
	found, err := c.Query(ctx, 2, fmt.Sprintf(`SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES
		WHERE TABLE_SCHEMA NOT IN (`+SystemSchemas+`)
		ORDER BY TABLE_SCHEMA <> ?, TABLE_SCHEMA, TABLE_NAME LIMIT %d`, KnownLimit), c.Database)
	if err != nil {
		return err
	}
	unknown := &source.UnknownError{What: "table", Name: name}
	for _, row := range found {
		if row[0] == c.Database && !strings.Contains(name, ".") {
			unknown.Known = append(unknown.Known, row[1])
		} else {
			unknown.Known = append(unknown.Known, row[0]+"."+row[1])
		}
	}
	return unknown
}

// Column is a column of a table.
type Column struct {
	source.Column
	JSON      bool
	Generated bool
	Numbered  bool   // by AUTO_INCREMENT: NULL is the next number
	Charset   string // of text; "" for other types
	Draws     string // the sequence of MariaDB from which the number of its default is drawn, as SQL; or ""
}

// draws matches the default of a column that is the next number of a sequence. MariaDB prints a text in quotes.
var draws = lazyregexp.New("^\\(?nextval\\((`(?:[^`]|``)+`\\.`(?:[^`]|``)+`)\\)\\)?$")

// storage is what MariaDB prints behind the type of a compressed column.
var storage = lazyregexp.New(` /\*M?![0-9]+ [A-Z ]+\*/$`)

// TypeOf returns the type in a COLUMN_TYPE of the server.
func TypeOf(columnType string) string { return storage.ReplaceAllString(columnType, "") }

// Described returns a column by a COLUMN_TYPE of the server, and by whether it holds JSON, whatever its type.
func Described(name, columnType string, isJSON bool) source.Column {
	c := source.Column{Name: name, Type: TypeOf(columnType)}
	if c.Logical = sqlsource.Logical(source.MySQL, c.Type); isJSON {
		c.Logical = source.Type{Class: source.JSONClass}
	}
	return c
}

// Columns returns the columns of a table, in order.
func Columns(ctx context.Context, c *wire.Conn, t Table) ([]Column, error) {
	checked, err := jsonChecks(ctx, c, t)
	if err != nil {
		return nil, err
	}
	return columnsOf(ctx, c, t, checked)
}

// ColumnsWithoutJSON is Columns for a table of which it is known that no column has the check of JSON.
func ColumnsWithoutJSON(ctx context.Context, c *wire.Conn, t Table) ([]Column, error) {
	return columnsOf(ctx, c, t, nil)
}

func columnsOf(ctx context.Context, c *wire.Conn, t Table, checked map[string]bool) ([]Column, error) {
	found, err := c.Query(ctx, 7, `SELECT COLUMN_NAME, COLUMN_TYPE, IFNULL(GENERATION_EXPRESSION, '') <> '',
		IS_NULLABLE, EXTRA LIKE '%auto_increment%', IFNULL(CHARACTER_SET_NAME, ''),
		IF(COLUMN_DEFAULT LIKE '%nextval(%', COLUMN_DEFAULT, '') FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`,
		t.Database, t.Name)
	if err != nil {
		return nil, err
	}
	var columns []Column
	for _, row := range found {
		isJSON := checked[JSONCheck(row[0])]
		one := Column{
			Column:    Described(row[0], row[1], isJSON),
			JSON:      isJSON,
			Generated: row[2] == "1",
			Numbered:  row[4] == "1",
			Charset:   row[5],
		}
		one.NotNull = t.Base && row[3] == "NO"
		if drawn := draws.FindStringSubmatch(row[6]); drawn != nil && c.IsMariaDB &&
			sqlsource.KindOf(one.Type) == source.Number {
			one.Draws = drawn[1]
		}
		columns = append(columns, one)
	}
	return columns, nil
}

// JSONCheck is the check that MariaDB gives a column of type JSON.
func JSONCheck(column string) string { return "json_valid(" + Quote(column) + ")" }

// jsonChecks returns the check constraints of a table in MariaDB, whose type JSON is text with a check.
func jsonChecks(ctx context.Context, c *wire.Conn, t Table) (map[string]bool, error) {
	if !c.IsMariaDB || !t.Base {
		return nil, nil
	}
	found, err := c.Query(ctx, 1, `SELECT CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS
		WHERE CONSTRAINT_SCHEMA = ? AND TABLE_NAME = ?`, t.Database, t.Name)
	if err != nil {
		return nil, err
	}
	checks := map[string]bool{}
	for _, row := range found {
		checks[row[0]] = true
	}
	return checks, nil
}
