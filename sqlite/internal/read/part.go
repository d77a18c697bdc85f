package read

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/internal/sqlsource"
	"culvert/source"
)

var _ source.Parter = (*DB)(nil)

// Parts cuts a table by its rowid, in this DB, which alone can read the parts: SQLite does not name the state that a
// transaction shows. It reads the table once, except large values, for the sizes of the rows. One part is what has no
// rowid: views, virtual tables, and tables WITHOUT ROWID.
func (db *DB) Parts(ctx context.Context, name string, s source.Selection, size int64) (_ []source.Part, err error) {
	defer db.catch(&err)
	if err := sqlsource.Check("sqlite", s); err != nil {
		return nil, err
	}
	if _, err := sqlsource.NumberOfParts("sqlite", 0, size); err != nil {
		return nil, err
	}
	table, err := db.find(ctx, name)
	if err != nil {
		return nil, err
	}
	rows, err := db.read(ctx, table, s, "")
	if err != nil {
		return nil, err
	}
	part := source.Part{
		Table: name, Object: table, Selection: s, Columns: rows.columns, Snapshot: db.snapshot(),
	}
	if err := rows.Close(); err != nil {
		return nil, err
	}
	rowid, err := db.rowid(ctx, table)
	switch {
	case err != nil:
		return nil, err
	case s.Limit > 0:
		part.Whole = "a limit counts the rows of all parts"
	case rowid == "":
		part.Whole = "it has no rowid"
	}
	if part.Whole != "" {
		return []source.Part{part}, nil
	}
	return db.cut(ctx, table, rowid, part, size)
}

// cut cuts a table into parts of a size.
func (db *DB) cut(
	ctx context.Context, table, rowid string, part source.Part, size int64,
) (parts []source.Part, err error) {
	columns, err := db.texts(ctx, "SELECT name FROM pragma_table_info(?, 'main')", table)
	if err != nil {
		return nil, err
	}
	list := []string{rowid}
	for _, column := range columns {
		list = append(list, "octet_length("+sqlite3.QuoteIdentifier(column)+")")
	}
	stmt, err := db.prepare(ctx, fmt.Sprintf("SELECT %s FROM main.%s ORDER BY %s",
		strings.Join(list, ", "), sqlite3.QuoteIdentifier(table), rowid))
	if err != nil {
		return nil, err
	}
	defer finish(stmt)
	part.Range.By = byRowid
	for stmt.Step() {
		rowSize := int64(leastRow)
		for i := range columns {
			rowSize += stmt.ColumnInt64(i + 1)
		}
		if part.Rows > 0 && part.Bytes+rowSize > size {
			part.Range.To = strconv.FormatInt(stmt.ColumnInt64(0), 10)
			if parts = append(parts, part); len(parts) >= source.MaxParts {
				return nil, fmt.Errorf("sqlite: table %q: more than %d parts; choose larger ones",
					table, source.MaxParts)
			}
			part.Range.From, part.Range.To, part.Bytes, part.Rows = part.Range.To, "", 0, 0
		}
		part.Bytes += rowSize
		part.Rows++
	}
	if err := stmt.Err(); err != nil {
		return nil, db.fail(ctx, err)
	}
	if parts = append(parts, part); len(parts) == 1 {
		parts[0].Range = source.Range{}
	}
	for i := range parts {
		if part.Selection.Where != "" {
			parts[i].Rows = 0
		}
	}
	return parts, nil
}

const byRowid = "rowid" // the Range.By of all parts

// rowid returns a name by which a table has its rowid, or "" if it has none.
func (db *DB) rowid(ctx context.Context, table string) (string, error) {
	plain, err := db.texts(ctx, `SELECT name FROM pragma_table_list
		WHERE schema = 'main' AND name = ? AND type = 'table' AND wr = 0`, table)
	if err != nil || len(plain) == 0 {
		return "", err
	}
	columns, err := db.texts(ctx, "SELECT name FROM pragma_table_xinfo(?, 'main')", table)
	if err != nil {
		return "", err
	}
	for _, name := range []string{"rowid", "_rowid_", "oid"} {
		if !slices.ContainsFunc(columns, func(column string) bool { return sameName(column, name) }) {
			return name, nil
		}
	}
	return "", nil
}

// snapshot identifies the transaction, which is equal to no other.
func (db *DB) snapshot() source.Snapshot {
	if db.state == "" {
		db.state = "transaction " + rand.Text()
	}
	return source.Snapshot{Database: db.path, State: db.state}
}

// Part returns the rows of a part that this DB has cut.
func (db *DB) Part(ctx context.Context, p source.Part) (_ source.Rows, err error) {
	defer db.catch(&err)
	name := fmt.Sprintf("sqlite: a part of table %q", p.Table)
	if !p.Snapshot.Same(db.snapshot()) {
		return nil, fmt.Errorf("%s: %w", name, source.ErrOtherSnapshot)
	}
	table, err := db.find(ctx, p.Object)
	if err != nil {
		return nil, err
	}
	inRange, err := db.condition(ctx, table, p.Range)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	rows, err := db.read(ctx, table, p.Selection, inRange)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(rows.columns, p.Columns) {
		return nil, errors.Join(fmt.Errorf("%s: its columns are not those of the table", name), rows.Close())
	}
	rows.exact = p.Rows
	return partRows{rows, p}, nil
}

var errRange = errors.New("its range is not one of the table")

// condition returns the condition of a range, or "" for all rows.
func (db *DB) condition(ctx context.Context, table string, r source.Range) (string, error) {
	if r == (source.Range{}) {
		return "", nil
	}
	rowid, err := db.rowid(ctx, table)
	if err != nil {
		return "", err
	}
	if rowid == "" || r.By != byRowid {
		return "", errRange
	}
	var conditions []string
	for _, end := range []struct{ operator, text string }{{" >= ", r.From}, {" < ", r.To}} {
		if end.text == "" {
			continue
		}
		limit, err := strconv.ParseInt(end.text, 10, 64)
		if err != nil {
			return "", errRange
		}
		conditions = append(conditions, rowid+end.operator+strconv.FormatInt(limit, 10))
	}
	return strings.Join(conditions, " AND "), nil
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
