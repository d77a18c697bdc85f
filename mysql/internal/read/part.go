package read

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/internal/sqlsource"
	"culvert/mysql/internal/catalog"
	"culvert/source"
)

var _ source.Parter = (*DB)(nil)

// Parts cuts a table by its primary key. This DB can read the parts, and those that were opened together with it: no
// session of MySQL can join the snapshot of another.
//
// The server walks along the key, so for InnoDB it reads all pages of the table once, except those of large values. One
// part is what has no primary key, or one with other types than integers, DECIMAL, DATE, DATETIME, TIMESTAMP, and texts
// and bytes of limited length. The size of a part is by the size of the table that the server estimates.
func (db *DB) Parts(ctx context.Context, name string, s source.Selection, size int64) ([]source.Part, error) {
	if _, err := sqlsource.NumberOfParts("mysql", 0, size); err != nil {
		return nil, err
	}
	t, columns, err := db.look(ctx, name, s)
	if err != nil {
		return nil, err
	}
	object, err := sqlsource.Texts([]string{t.Database, t.Name})
	if err != nil {
		return nil, err
	}
	part := source.Part{Table: name, Object: object, Selection: s, Snapshot: db.snapshot()}
	for _, c := range columns {
		part.Columns = append(part.Columns, c.Column)
	}
	whole := t
	whole.Selection = source.Selection{}
	estimate, err := db.session.size(ctx, whole)
	if err != nil {
		return nil, db.session.Explain(ctx, t.String(), err)
	}
	part.Bytes = estimate.Bytes
	n, err := sqlsource.NumberOfParts("mysql", estimate.Bytes, size)
	if err != nil {
		return nil, err
	}
	var key key
	switch {
	case s.Limit > 0:
		part.Whole = "a limit counts the rows of all parts"
	case !t.Base:
		part.Whole = "a view has no primary key"
	case n > 1:
		if key, err = db.session.primaryKey(ctx, t); err != nil {
			return nil, db.session.Explain(ctx, t.String(), err)
		}
		if len(key) == 0 {
			part.Whole = "it has no primary key, or one of a type that is not cut"
		}
	}
	if len(key) == 0 {
		return []source.Part{part}, nil
	}
	return db.cut(ctx, t, key, part, n)
}

// cut cuts a table into about n parts.
func (db *DB) cut(ctx context.Context, t table, key key, part source.Part, n int64) ([]source.Part, error) {
	counted, err := db.session.Query(ctx, 1, "SELECT COUNT(*) FROM "+t.SQL())
	if err != nil || len(counted) != 1 {
		return nil, db.session.Explain(ctx, t.String(), errors.Join(err, errUncounted))
	}
	total := int64(count(counted[0][0]))
	step := max(1, (total+n-1)/n)
	var names []string
	for _, c := range key {
		names = append(names, c.name)
	}
	by, err := sqlsource.Texts(names)
	if err != nil {
		return nil, err
	}
	var parts []source.Part
	part.Range.By = by
	for read := int64(0); ; read += step {
		next, err := db.session.walk(ctx, t, key, part.Range.To, step)
		if err != nil {
			return nil, db.session.Explain(ctx, t.String(), err)
		}
		part.Range.From, part.Range.To = part.Range.To, next
		if part.Rows = step; next == "" {
			part.Rows = total - read
		}
		if t.Where != "" {
			part.Rows = 0
		}
		if parts = append(parts, part); len(parts) > source.MaxParts {
			return nil, fmt.Errorf("mysql: %s: more than %d parts; choose larger ones", t, source.MaxParts)
		}
		if next == "" {
			break
		}
	}
	for i := range parts {
		parts[i].Bytes = part.Bytes / int64(len(parts))
	}
	if len(parts) == 1 {
		parts[0].Range = source.Range{}
	}
	return parts, nil
}

var errUncounted = errors.New("the server did not count the rows")

// snapshot identifies the transaction, or the first of those that have begun together, which is equal to no other.
func (db *DB) snapshot() source.Snapshot {
	first := cmp.Or(db.first, db.session)
	server := sha256.Sum256([]byte(first.Server)) // it has names of the server's machine
	return source.Snapshot{
		Server: hex.EncodeToString(server[:16]), Database: first.Database,
		State: fmt.Sprintf("connection %d, transaction of %s", first.ID, first.taken),
	}
}

// Part returns the rows of a part that this DB has cut, or one that was opened together with it.
func (db *DB) Part(ctx context.Context, p source.Part) (source.Rows, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("mysql: a part of table %q", p.Table)
	if !p.Snapshot.Same(db.snapshot()) {
		return nil, fmt.Errorf("%s: %w", name, source.ErrOtherSnapshot)
	}
	names, err := sqlsource.ReadTexts(p.Object)
	if err != nil || len(names) != 2 {
		return nil, fmt.Errorf("%s: it names no table of MySQL", name)
	}
	found, err := db.session.findTable(ctx, catalog.Quote(names[0])+"."+catalog.Quote(names[1]))
	if err != nil {
		return nil, err
	}
	if found.Database != names[0] || found.Name != names[1] {
		return nil, fmt.Errorf("%s: the table that was cut does not exist", name)
	}
	found.Selection = p.Selection
	columns, err := db.session.examine(ctx, found)
	if err != nil {
		return nil, err
	}
	inRange, err := db.session.condition(ctx, found, p.Range)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	sameColumn := func(a sqlsource.Column, b source.Column) bool { return a.Column == b }
	if !slices.EqualFunc(columns, p.Columns, sameColumn) {
		return nil, fmt.Errorf("%s: its columns are not those of the table", name)
	}
	r, err := db.read(ctx, found, columns, inRange)
	if err != nil {
		return nil, err
	}
	r.exact = p.Rows
	return partRows{r, p}, nil
}

// partRows are the rows of a part.
type partRows struct {
	*rows
	part source.Part
}

// Size returns what is known of the part.
func (r partRows) Size() (source.Size, error) {
	return source.Size{Rows: r.part.Rows, Bytes: r.part.Bytes}, nil
}

// key is the primary key of a table.
type key []keyColumn

// keyColumn is a column of a key.
type keyColumn struct {
	name, charset, collation string
	isText, isBytes          bool
	isInteger                bool
	value                    *lazyregexp.Regexp // of other types: what a value is printed as
}

var (
	numberText  = lazyregexp.New(`^-?[0-9]+(\.[0-9]+)?$`)
	instantText = lazyregexp.New(`^[0-9 :.-]+$`)
	hexText     = lazyregexp.New(`^([0-9A-F]{2})*$`)
	setName     = lazyregexp.New(`^[a-z0-9_]+$`) // of a character set, or a collation
)

var integer = keyColumn{value: numberText, isInteger: true}

// keyTypes are the types that are cut. Others are compared in another order than the one in which an index has them,
// such as ENUM, or are not printed exactly, such as FLOAT.
var keyTypes = map[string]keyColumn{
	"tinyint": integer, "smallint": integer, "mediumint": integer, "int": integer, "bigint": integer,
	"decimal": {value: numberText},
	"date":    {value: instantText}, "datetime": {value: instantText}, "timestamp": {value: instantText},
	"char": {isText: true}, "varchar": {isText: true}, "binary": {isBytes: true}, "varbinary": {isBytes: true},
}

// primaryKey returns the primary key of a table, or none if the table cannot be cut by it. For a join of the two
// questions, MariaDB opens every table and view of the server.
func (s *session) primaryKey(ctx context.Context, t table) (key, error) {
	parts, err := s.Query(ctx, 2, `SELECT COLUMN_NAME, IFNULL(SUB_PART, '') FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND INDEX_NAME = 'PRIMARY' ORDER BY SEQ_IN_INDEX`, t.Database, t.Name)
	if err != nil || len(parts) == 0 {
		return nil, err
	}
	types, err := s.Query(ctx, 4, `SELECT COLUMN_NAME, DATA_TYPE, IFNULL(CHARACTER_SET_NAME, ''),
		IFNULL(COLLATION_NAME, '') FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`,
		t.Database, t.Name)
	if err != nil {
		return nil, err
	}
	described := map[string][]string{}
	for _, row := range types {
		described[row[0]] = row[1:]
	}
	var columns key
	for _, part := range parts {
		column, is := described[part[0]]
		if !is { // the user may not see it
			return nil, nil
		}
		c, known := keyTypes[strings.ToLower(column[0])]
		c.name, c.charset, c.collation = part[0], column[1], column[2]
		isSet := setName.MatchString(c.charset) && setName.MatchString(c.collation)
		if !known || part[1] != "" || c.isText != isSet {
			return nil, nil
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// selected returns the expression whose text is a value for a range. Texts have any character set, so their bytes are
// selected.
func (c keyColumn) selected() string {
	if c.isText || c.isBytes {
		return "HEX(" + catalog.Quote(c.name) + ")"
	}
	return catalog.Quote(c.name)
}

// literal writes a value as SQL. A text has the character set and the collation of the column, so that it is compared
// as in the index, whatever those of the session are.
func (c keyColumn) literal(text string) (string, error) {
	switch {
	case c.isText && hexText.MatchString(text):
		return "_" + c.charset + " X'" + text + "' COLLATE " + c.collation, nil
	case c.isBytes && hexText.MatchString(text):
		return "X'" + text + "'", nil
	case c.value == numberText && numberText.MatchString(text):
		return text, nil
	case c.value == instantText && instantText.MatchString(text):
		return "'" + text + "'", nil
	}
	return "", errRange
}

var errRange = errors.New("its range is not one of the table")

// compared returns the condition of the rows from a place on, or before it, in parentheses. A place is the values of
// the key, or of its first columns. The server finds their beginning and their end in the index if a comparison of
// several columns is written as one for each, with equality first: otherwise it would look through all rows that have
// the same first column.
func (k key) compared(before bool, place string) (string, error) {
	values, err := sqlsource.ReadTexts(place)
	if err != nil || len(values) == 0 || len(values) > len(k) {
		return "", errRange
	}
	strict, last := ">", ">="
	if before {
		strict, last = "<", "<"
	}
	condition := ""
	for i, c := range slices.Backward(k[:len(values)]) {
		value, err := c.literal(values[i])
		if err != nil {
			return "", err
		}
		column := catalog.Quote(c.name)
		if condition == "" {
			condition = "(" + column + " " + last + " " + value + ")"
			continue
		}
		condition = fmt.Sprintf("(%s = %s AND %s OR %[1]s %[4]s %[2]s)", column, value, condition, strict)
	}
	return condition, nil
}

// between returns the condition of the rows from a place on and before another one. A place that is "" is no bound.
func (k key) between(from, to string) (string, error) {
	var both []string
	for i, place := range []string{from, to} {
		if place == "" {
			continue
		}
		condition, err := k.compared(i == 1, place)
		if err != nil {
			return "", err
		}
		both = append(both, condition)
	}
	return strings.Join(both, " AND "), nil
}

// walk returns the position that is the given number of rows behind another one, or behind the first row if that is "".
// It is "" if there are fewer rows.
func (s *session) walk(ctx context.Context, t table, k key, from string, rows int64) (string, error) {
	var selected, order []string
	for _, c := range k {
		selected = append(selected, c.selected())
		order = append(order, catalog.Quote(c.name))
	}
	where := ""
	if from != "" {
		condition, err := k.compared(false, from)
		if err != nil {
			return "", err
		}
		where = " WHERE " + condition
	}
	found, err := s.Query(ctx, len(k), fmt.Sprintf("SELECT %s FROM %s%s ORDER BY %s LIMIT 1 OFFSET %d",
		strings.Join(selected, ", "), t.SQL(), where, strings.Join(order, ", "), rows))
	if err != nil || len(found) == 0 {
		return "", err
	}
	return sqlsource.Texts(found[0])
}

// condition returns the condition of a range, or "" for all rows.
func (s *session) condition(ctx context.Context, t table, r source.Range) (string, error) {
	if r == (source.Range{}) {
		return "", nil
	}
	key, err := s.primaryKey(ctx, t)
	if err != nil {
		return "", err
	}
	named := func(name string, c keyColumn) bool { return name == c.name }
	if names, err := sqlsource.ReadTexts(r.By); err != nil || !slices.EqualFunc(names, key, named) {
		return "", errRange
	}
	return key.between(r.From, r.To)
}
