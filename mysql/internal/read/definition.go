package read

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/source"
)

var _ source.Definer = (*DB)(nil)

// Define returns the definition of a table, or the columns of a view. It is read when Define is called: definitions are
// not part of the snapshot.
//
// Checks that belong to a column, such as that of JSON in MariaDB, are among its Others. The last number of a sequence
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
	var m *making
	if f := s.known(t.Table); f != nil && f.make != nil {
		m, f.make = f.make, nil
	} else {
		m, err = s.makingOf(ctx, t)
	}
	inherited := false
	if err == nil {
		d.Create, d.Comment = m.create, m.comment
		hideSecrets(d)
		inherited, err = s.addColumns(ctx, d, m)
	}
	if err != nil {
		return nil, s.Explain(ctx, t.String(), err)
	}
	if d.IsView = !t.Base; d.IsView {
		return d, nil
	}
	if t.Versioned {
		d.Lacks = append(d.Lacks, "the history of its rows")
	}
	for _, trigger := range m.triggers {
		d.Lacks = append(d.Lacks, fmt.Sprintf("the trigger %q", trigger))
	}
	addSequence(d, addClauses(d))
	if inherited && !comparesBytes.MatchString(m.collation) {
		d.Others = append(d.Others, "COLLATE="+m.collation)
	}
	return d, nil
}

// ofColumn is what a definition needs of a column, in this order.
const ofColumn = `COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT IS NULL, IFNULL(COLUMN_DEFAULT, ''), EXTRA,
	IFNULL(GENERATION_EXPRESSION, ''), IFNULL(COLLATION_NAME, ''), IFNULL(CHARACTER_SET_NAME, ''),
	IFNULL(COLUMN_COMMENT, '')`

// makingOf asks how a table is made, or for the columns of a view.
func (s *session) makingOf(ctx context.Context, t table) (m *making, err error) {
	m = &making{}
	if t.Base {
		found, err := s.Query(ctx, 2, `SELECT IFNULL(TABLE_COLLATION, ''), IFNULL(TABLE_COMMENT, '')
			FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, t.Database, t.Name)
		if err == nil && len(found) != 1 {
			err = wire.ErrAnswer
		}
		if err != nil {
			return nil, err
		}
		m.collation, m.comment = found[0][0], found[0][1]
		err = s.inPlainMode(ctx, func() (err error) {
			m.create, err = s.showCreate(ctx, t.Table)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	m.columns, err = s.Query(ctx, 10, "SELECT "+ofColumn+
		` FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`,
		t.Database, t.Name)
	if err != nil || !t.Base {
		return m, err
	}
	triggers, err := s.Query(ctx, 1, `SELECT TRIGGER_NAME FROM information_schema.TRIGGERS
		WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ? ORDER BY TRIGGER_NAME`, t.Database, t.Name)
	for _, row := range triggers {
		m.triggers = append(m.triggers, row[0])
	}
	return m, err
}

// inPlainMode calls ask with an empty SQL mode, which decides how the server quotes, and what it leaves out.
func (s *session) inPlainMode(ctx context.Context, ask func() error) error {
	err := s.Exec(ctx, "SET SESSION sql_mode = ''")
	if err != nil {
		return err
	}
	err = ask()
	if restoreErr := s.Exec(ctx, "SET SESSION sql_mode = '"+s.sqlMode+"'"); err == nil {
		err = restoreErr
	}
	return err
}

// showCreate returns the statement that makes a table, in the plain mode.
func (s *session) showCreate(ctx context.Context, t catalog.Table) (string, error) {
	found, err := s.Query(ctx, 2, "SHOW CREATE TABLE "+t.SQL())
	if err == nil && len(found) != 1 {
		err = wire.ErrAnswer
	}
	if err != nil {
		return "", err
	}
	return found[0][1], nil
}

// addColumns adds the columns, and returns whether a text has the collation of the table. The server prints a default,
// or a value of an ENUM, with "?" for what UTF-8 has no character for.
func (s *session) addColumns(ctx context.Context, d *source.Definition, m *making) (inherited bool, err error) {
	for _, row := range m.columns {
		extra := strings.ToLower(row[5])
		c := source.ColumnDefinition{
			Name: row[0], Type: catalog.TypeOf(row[1]), NotNull: row[2] == "NO", Expression: row[6],
			Comment: row[9],
		}
		if row[7] != m.collation {
			c.Collation = row[7]
		}
		inherited = inherited || row[7] != "" && row[7] == m.collation
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
		d.Columns = append(d.Columns, c)
		if !strings.ContainsAny(c.Type+c.Default, "?\uFFFD") {
			continue
		}
		if survives, err := s.survives(ctx, row[8]); err != nil {
			return false, err
		} else if !survives {
			d.Lacks = append(d.Lacks, fmt.Sprintf(
				"what each ? in the definition of column %q is in the character set %s", c.Name, row[8]))
		}
	}
	return inherited, nil
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

var increment = lazyregexp.New(`^\).* AUTO_INCREMENT=([0-9]+)`)

// addSequence adds the sequence of the column that the server numbers, by the options of the table.
func addSequence(d *source.Definition, options string) {
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

// comparesBytes matches the collations for which texts are equal if their bytes are, as in other systems.
var comparesBytes = lazyregexp.New(`_(nopad|0900)_bin$`)
