package read

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/source"
)

// virtual is a virtual table: one whose rows a module of SQLite makes, mostly of other tables, its shadow tables.
type virtual struct {
	name   string
	module string            // in lower case
	values map[string]string // of the arguments that are written as name = value
}

// rowidColumn is the column of the number of a row, if it is none of the columns that a virtual table has by itself.
const rowidColumn = "rowid"

// hasRowid reports whether the rows have a number that is none of the columns, and by which others refer to them.
func (v *virtual) hasRowid() bool { return v != nil && (v.module == "fts5" || v.module == "geopoly") }

// isData reports whether the rows are values that no other table has, and can be written again.
func (v *virtual) isData() bool {
	switch v.module {
	case "fts5":
		_, outside := v.content()
		return !outside
	case "rtree", "rtree_i32", "geopoly":
		return true
	}
	return false
}

// shadowEnds are the ends of the names of tables that a module makes, and that have no values of their own. SQLite
// knows those of FTS5, but the driver's module for R*Tree does not name its own, and there is none for FTS3 and FTS4.
var shadowEnds = map[string][]string{
	"rtree": {"_node", "_parent", "_rowid"}, "rtree_i32": {"_node", "_parent", "_rowid"},
	"geopoly": {"_node", "_parent", "_rowid"},
	"fts3":    {"_segments", "_segdir", "_docsize", "_stat"}, "fts4": {"_segments", "_segdir", "_docsize", "_stat"},
}

// isShadow reports whether a table is one of those.
func (v *virtual) isShadow(table string) bool {
	return slices.ContainsFunc(shadowEnds[v.module], func(end string) bool { return sameName(table, v.name+end) })
}

// content returns the table of which an FTS5 table is an index, if it keeps no texts itself. The name is "" if there is
// none: then the texts cannot be read. FTS5 takes any beginning of the word.
func (v *virtual) content() (table string, outside bool) {
	if v.module != "fts5" {
		return "", false
	}
	const option = "content"
	for name, value := range v.values {
		if strings.HasPrefix(option, name) {
			return value, true
		}
	}
	return "", false
}

// virtuals returns the virtual tables, sorted by name.
func (db *DB) virtuals(ctx context.Context) ([]*virtual, error) {
	known, err := db.known(ctx)
	if err != nil {
		return nil, err
	}
	return known.virtual, nil
}

// virtual returns a virtual table, or nil if the table is none.
func (db *DB) virtual(ctx context.Context, table string) (*virtual, error) {
	known, err := db.known(ctx)
	if err != nil || !known.tables[lower(table)].isVirtual {
		return nil, err
	}
	i := slices.IndexFunc(known.virtual, func(v *virtual) bool { return sameName(v.name, table) })
	return known.virtual[i], nil
}

// parseVirtual understands a statement as SQLite keeps it: CREATE VIRTUAL TABLE name USING module(arguments).
func parseVirtual(table, sql string) *virtual {
	v := &virtual{name: table, values: map[string]string{}}
	words := sqlWords(sql)
	const module = 5 // words before the arguments, without the module
	if len(words) <= module {
		return v
	}
	v.module = strings.ToLower(words[module])
	var argument []string
	for _, word := range words[module+1:] {
		if word != "," && word != ")" && word != "(" {
			argument = append(argument, word)
			continue
		}
		if len(argument) == 3 && argument[1] == "=" && argument[0] != "" {
			v.values[strings.ToLower(argument[0])] = argument[2]
		}
		argument = nil
	}
	return v
}

// sqlWords cuts SQL into words without their quotes, and single other characters. It leaves out comments.
func sqlWords(sql string) (words []string) {
	for sql != "" {
		word, kind, n := sqlPiece(sql)
		if kind != spacePiece {
			words = append(words, word)
		}
		sql = sql[n:]
	}
	return words
}

type pieceKind uint8

const (
	spacePiece  pieceKind = iota // or a comment
	quotedPiece                  // a name or a text
	plainPiece                   // a word, or a single other character
)

// sqlPiece returns what SQL begins with, without its quotes, and its length.
func sqlPiece(sql string) (word string, kind pieceKind, n int) {
	switch c := sql[0]; {
	case strings.HasPrefix(sql, "--"):
		return "", spacePiece, lengthTo(sql, "\n")
	case strings.HasPrefix(sql, "/*"):
		return "", spacePiece, 2 + lengthTo(sql[2:], "*/")
	case strings.IndexByte(" \t\r\n\f", c) >= 0:
		return "", spacePiece, 1
	case strings.IndexByte("\"'`[", c) >= 0:
		word, n = unquote(sql)
		return word, quotedPiece, n
	case isWord(c):
		n = len(sql) - len(strings.TrimLeftFunc(sql, func(r rune) bool { return r > 0x7f || isWord(byte(r)) }))
	default:
		n = 1
	}
	return sql[:n], plainPiece, n
}

func lengthTo(sql, end string) int {
	before, _, found := strings.Cut(sql, end)
	if !found {
		return len(sql)
	}
	return len(before) + len(end)
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c > 0x7f || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// unquote returns a word at the beginning of SQL without its quotes, and its length with them.
func unquote(sql string) (word string, length int) {
	end := sql[:1]
	if end == "[" {
		end = "]"
	}
	for length = 1; ; {
		at := strings.Index(sql[length:], end)
		if at < 0 {
			return sql[1:], len(sql)
		}
		length += at + 1
		if end == "]" || !strings.HasPrefix(sql[length:], end) {
			return strings.ReplaceAll(sql[1:length-1], end+end, end), length
		}
		length++
	}
}

// readable reports whether the rows of a virtual table can be read: whether there is its module, and what that needs.
func (db *DB) readable(ctx context.Context, v *virtual) (bool, error) {
	stmt, err := db.prepare(ctx, "SELECT * FROM main."+sqlite3.QuoteIdentifier(v.name))
	switch {
	case err == nil:
		finish(stmt)
		return true, nil
	case ctx.Err() != nil || errors.Is(err, source.ErrUnavailable) || errors.Is(err, source.ErrCorrupt):
		return false, err
	}
	return false, nil
}

// Omitted names the virtual tables that are neither in the list of tables nor indexes of one of them, and those that
// have settings of their own. It also names views with their triggers, and the numbers that programs keep in the header
// of the file.
func (db *DB) Omitted(ctx context.Context, schema string) (_ []string, err error) {
	defer db.catch(&err)
	if _, err := db.Tables(ctx, schema); err != nil {
		return nil, err
	}
	virtuals, err := db.omittedVirtuals(ctx, false)
	if err != nil {
		return nil, err
	}
	others, err := db.texts(ctx, omittedSQL)
	return append(virtuals, others...), err
}

// omittedSQL lists views, their triggers, and what programs keep in the header of the file.
const omittedSQL = `
SELECT 'the ' || type || ' "' || name || '"' FROM main.sqlite_schema AS s
WHERE type = 'view' OR type = 'trigger' AND EXISTS (
	SELECT 1 FROM main.sqlite_schema AS v WHERE v.type = 'view' AND v.name = s.tbl_name COLLATE NOCASE)
UNION ALL SELECT 'the user_version ' || user_version FROM pragma_user_version WHERE user_version <> 0
UNION ALL SELECT 'the application_id ' || application_id FROM pragma_application_id WHERE application_id <> 0`

// omittedVirtuals names virtual tables, or those that a schema lacks too.
func (db *DB) omittedVirtuals(ctx context.Context, bySchema bool) (omitted []string, err error) {
	all, err := db.virtuals(ctx)
	for _, v := range all {
		readable, err := db.readable(ctx, v)
		if err != nil {
			return nil, err
		}
		content, outside := v.content()
		named := fmt.Sprintf("the virtual table %q (%s)", v.name, v.module)
		switch {
		case !readable:
			omitted = append(omitted,
				named+", which cannot be read; the table with its content is kept, if there is one")
		case outside && content == "":
			omitted = append(omitted, named+", which keeps no texts")
		case outside:
			own, err := db.ordinary(ctx, content)
			if err == nil && own == "" && bySchema {
				own, err = db.viewNamed(ctx, content)
			}
			if err != nil {
				return nil, err
			}
			if own == "" {
				omitted = append(omitted, named+fmt.Sprintf(", since its content %q is no table", content))
			}
		case !v.isData():
			omitted = append(omitted, named)
		}
		if set, err := db.settings(ctx, v); err != nil {
			return nil, err
		} else if len(set) > 0 && readable && !bySchema {
			omitted = append(omitted, fmt.Sprintf("the settings of the virtual table %q", v.name))
		}
	}
	return omitted, err
}

// settings returns the settings of an FTS5 table that its definition does not have, such as its rank, each as two
// values in SQL.
func (db *DB) settings(ctx context.Context, v *virtual) ([]string, error) {
	table, err := db.ordinary(ctx, v.name+"_config")
	if err != nil || v.module != "fts5" || table == "" {
		return nil, err
	}
	return db.texts(ctx, "SELECT quote(k) || ', ' || quote(v) FROM main."+sqlite3.QuoteIdentifier(table)+
		" WHERE k <> 'version' ORDER BY k")
}

// ordinary returns the name of a table that is not virtual as the database writes it, or "".
func (db *DB) ordinary(ctx context.Context, name string) (string, error) {
	known, err := db.known(ctx)
	if err != nil {
		return "", err
	}
	if o := known.tables[lower(name)]; !o.isView && !o.isVirtual {
		return o.name, nil
	}
	return "", nil
}

// textIndexes returns the FTS5 tables that index a table, as what makes them again.
func (db *DB) textIndexes(ctx context.Context, table string) (indexes []source.Index, err error) {
	all, err := db.virtuals(ctx)
	for _, v := range all {
		content, outside := v.content()
		if !outside || !sameName(content, table) {
			continue
		}
		sql, err := db.statementOf(ctx, v.name)
		if err != nil {
			return nil, err
		}
		indexes = append(indexes, source.Index{Name: v.name, Definition: sql})
	}
	return indexes, err
}

// describe completes the definition of a virtual table.
func (v *virtual) describe(d *source.Definition) {
	if v.module == "fts5" {
		for i := range d.Columns {
			d.Columns[i].Type = "TEXT" // FTS5 declares no types
		}
	}
	if v.hasRowid() {
		d.Columns = slices.Insert(d.Columns, 0, source.ColumnDefinition{Name: rowidColumn, Type: "INTEGER"})
	}
}
