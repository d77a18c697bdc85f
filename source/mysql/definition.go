package mysql

import (
	"context"
	"math"
	"regexp"
	"strconv"
	"strings"

	"culvert/internal/mysqlconnect"
	"culvert/internal/mysqlrow"
	"culvert/source"
)

var _ source.Definer = (*DB)(nil)

// Define returns the definition of a table, or the columns of a view. It is read when Define is called: definitions are
// not part of the snapshot.
//
// A check that belongs to a column, such as that of JSON in MariaDB, is only in Create. The last number of a sequence
// is one less than the AUTO_INCREMENT that the server shows. If that is too large for Last, it is in Options.
func (db *DB) Define(ctx context.Context, name string) (*source.Definition, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	s := db.session
	t, err := s.findTable(ctx, name)
	if err != nil {
		return nil, err
	}
	d := &source.Definition{Dialect: source.MySQL, Schema: t.Database, Name: t.Name}
	if s.IsMariaDB {
		d.Dialect = source.MariaDB
	}
	collation := ""
	found, err := s.Query(ctx, 2, `SELECT IFNULL(TABLE_COLLATION, ''), IFNULL(TABLE_COMMENT, '')
		FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, t.Database, t.Name)
	if err == nil && len(found) != 1 {
		err = mysqlconnect.ErrAnswer
	}
	if err == nil && t.Base {
		collation, d.Comment = found[0][0], found[0][1]
		d.Create, err = s.showCreate(ctx, t)
	}
	if err == nil {
		d.Columns, err = s.columnDefinitions(ctx, t, collation)
	}
	if err != nil {
		return nil, s.failed(ctx, t.String(), err)
	}
	if t.Base {
		addClauses(d)
	}
	return d, nil
}

// showCreate returns the statement that makes a table. The SQL mode decides how the server quotes in it, and what it
// leaves out.
func (s *session) showCreate(ctx context.Context, t table) (string, error) {
	if err := s.Exec(ctx, "SET SESSION sql_mode = ''"); err != nil {
		return "", err
	}
	found, err := s.Query(ctx, 2, "SHOW CREATE TABLE "+t.SQL())
	if restoreErr := s.Exec(ctx, "SET SESSION sql_mode = '"+s.sqlMode+"'"); err == nil {
		err = restoreErr
	}
	if err == nil && len(found) != 1 {
		err = mysqlconnect.ErrAnswer
	}
	if err != nil {
		return "", err
	}
	return found[0][1], nil
}

func (s *session) columnDefinitions(
	ctx context.Context, t table, collation string,
) (columns []source.ColumnDefinition, err error) {
	found, err := s.Query(ctx, 8, `SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT IS NULL,
		IFNULL(COLUMN_DEFAULT, ''), EXTRA, IFNULL(GENERATION_EXPRESSION, ''), IFNULL(COLLATION_NAME, '')
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`,
		t.Database, t.Name)
	if err != nil {
		return nil, err
	}
	for _, row := range found {
		extra := strings.ToLower(row[5])
		c := source.ColumnDefinition{Name: row[0], Type: row[1], NotNull: row[2] == "NO", Expression: row[6]}
		if row[7] != collation {
			c.Collation = row[7]
		}
		switch {
		case c.Expression != "" && strings.Contains(extra, "virtual"):
			c.Generated = source.Virtual
		case c.Expression != "":
			c.Generated = source.Stored
		case strings.Contains(extra, "auto_increment"):
			c.Identity = source.ByDefault
		case row[3] == "0":
			c.Default = s.defaultOf(c.Type, row[4], extra)
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// defaultOf returns the default of a column as an expression. MariaDB says NULL if there is none. MySQL writes texts
// and numbers as they are, and marks expressions since version 8.
func (s *session) defaultOf(columnType, text, extra string) string {
	const now = "CURRENT_TIMESTAMP"
	isTime := strings.HasPrefix(columnType, "timestamp") || strings.HasPrefix(columnType, "datetime")
	switch {
	case s.IsMariaDB && text == "NULL":
		return ""
	case s.IsMariaDB, isTime && strings.HasPrefix(text, now), strings.HasPrefix(columnType, "bit"):
		return text
	case strings.Contains(extra, "default_generated"):
		return "(" + text + ")"
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}

var (
	namedKey   = regexp.MustCompile("(?s)^(UNIQUE |FULLTEXT |SPATIAL |VECTOR )?KEY (`(?:[^`]|``)*`) (.*)$")
	constraint = regexp.MustCompile("(?s)^CONSTRAINT (`(?:[^`]|``)*`) ((FOREIGN KEY|CHECK) .*)$")
	increment  = regexp.MustCompile(`^\).* AUTO_INCREMENT=([0-9]+)`)
)

// addClauses adds the constraints, indexes and the sequence that the statement Create has.
func addClauses(d *source.Definition) {
	clauses, options := clausesOf(d.Create)
	for _, clause := range clauses {
		if keys, ok := strings.CutPrefix(clause, "PRIMARY KEY "); ok {
			d.Constraints = append(d.Constraints, source.Constraint{
				Kind: source.PrimaryKey, Columns: columnList(keys), Definition: clause,
			})
		} else if key := namedKey.FindStringSubmatch(clause); key != nil {
			name, _, _ := mysqlrow.Identifier(key[2])
			switch key[1] {
			case "UNIQUE ":
				d.Constraints = append(d.Constraints, source.Constraint{
					Name: name, Kind: source.Unique, Columns: columnList(key[3]), Definition: clause,
				})
			case "":
				d.Indexes = append(d.Indexes, source.Index{Name: name, Columns: columnList(key[3]), Definition: clause})
			default:
				d.Indexes = append(d.Indexes, source.Index{Name: name, Definition: clause})
			}
		} else if named := constraint.FindStringSubmatch(clause); named != nil {
			c := source.Constraint{Kind: source.Check, Definition: named[2]}
			c.Name, _, _ = mysqlrow.Identifier(named[1])
			if keys, ok := strings.CutPrefix(c.Definition, "FOREIGN KEY "); ok {
				c.Kind, c.Columns = source.ForeignKey, columnList(keys)
			}
			d.Constraints = append(d.Constraints, c)
		}
	}
	for _, column := range d.Columns {
		if column.Identity == "" {
			continue
		}
		sequence := source.Sequence{Column: column.Name}
		options, _, _ = strings.Cut(options, " COMMENT='")
		if number := increment.FindStringSubmatch(options); number != nil {
			switch next, err := strconv.ParseUint(number[1], 10, 64); {
			case err != nil || next > math.MaxInt64+1:
				sequence.Options = "AUTO_INCREMENT=" + number[1]
			case next > 1:
				last := int64(next - 1)
				sequence.Last = &last
			}
		}
		d.Sequences = append(d.Sequences, sequence)
	}
}

// clausesOf cuts a CREATE TABLE, as the server prints it, into what is between the parentheses, which has a line for
// each column, key and constraint, and what follows.
func clausesOf(create string) (clauses []string, options string) {
	begin, quoted := 0, byte(0)
	for i := 0; i < len(create); i++ {
		c := create[i]
		switch {
		case quoted != 0 && c == '\\' && quoted != '`':
			i++
		case quoted == c:
			quoted = 0 // a doubled one begins another quoted text at once
		case quoted == 0 && (c == '\'' || c == '"' || c == '`'):
			quoted = c
		case quoted == 0 && c == '\n':
			if begin > 0 {
				clauses = append(clauses, strings.TrimSuffix(strings.TrimLeft(create[begin:i], " "), ","))
			}
			begin = i + 1
			if strings.HasPrefix(create[begin:], ")") {
				return clauses, create[begin:]
			}
		}
	}
	return nil, "" // in a form that no server is known to print
}

// columnList returns the columns of a key that begins with a list in parentheses, or none if the key has expressions or
// beginnings of columns.
func columnList(key string) (columns []string) {
	rest, ok := strings.CutPrefix(key, "(")
	for ok {
		var name string
		if name, rest, ok = mysqlrow.Identifier(strings.TrimPrefix(rest, " ")); !ok {
			return nil
		}
		columns = append(columns, name)
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, " ASC"), " DESC")
		if strings.HasPrefix(rest, ")") {
			return columns
		}
		rest, ok = strings.CutPrefix(rest, ",")
	}
	return nil
}
