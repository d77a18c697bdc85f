package fill

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"culvert/mysql/internal/catalog"
	"culvert/sink"
)

// The server checks foreign keys row by row, also within one statement. So it removes no row to which another one of
// the same table refers, and takes none that refers to a later one. The rows of such a table are replaced, or put into
// an empty one, without its checks. The sink checks the keys itself, after it has removed rows and before it commits.

// uncheckedSQL and checkedSQL turn the checks of the server off and on.
const (
	uncheckedSQL = "SET SESSION foreign_key_checks = 0"
	checkedSQL   = "SET SESSION foreign_key_checks = 1"
)

// foreignKeyOf is a foreign key with its columns, as SQL.
type foreignKeyOf struct {
	name       string
	table, to  catalog.Table
	columns    []string // of the table
	binary     bool     // the first of them has binary data
	referenced []string // of the table that it refers to
}

// keysToCheck returns the foreign keys that the sink checks itself: those of the table and, if rows are removed, those
// that refer to it. There are none if the server checks them, since no row can refer to another one of the table. It
// also does if the table has triggers, whose statements may need the checks.
func (db *DB) keysToCheck(ctx context.Context, p *plan) ([]foreignKeyOf, error) {
	if p.Create != nil || p.Existing == sink.Append {
		return nil, nil
	}
	keys, err := db.foreignKeys(ctx, p.target)
	toItself := func(key foreignKeyOf) bool { return db.isSame(key.to, p.target) }
	if err != nil || !slices.ContainsFunc(keys, toItself) {
		return nil, db.failed(ctx, p.target.String(), err)
	}
	if triggers, err := db.hasTriggers(ctx, p.target); err != nil || triggers {
		return nil, err
	}
	if p.Existing == sink.Refuse {
		return keys, nil // rows that are added break no key of others
	}
	others, err := db.referencesTo(ctx, p.target)
	for _, other := range others {
		var some []foreignKeyOf
		if err == nil {
			some, err = db.foreignKeys(ctx, other.from)
		}
		for _, key := range some {
			if key.name == other.name {
				keys = append(keys, key)
			}
		}
	}
	return keys, db.failed(ctx, p.target.String(), err)
}

// hasTriggers reports whether a table has triggers, as far as the user may see them.
func (db *DB) hasTriggers(ctx context.Context, t catalog.Table) (bool, error) {
	found, err := db.conn.Query(ctx, 1, `SELECT 1 FROM information_schema.TRIGGERS
		WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ? LIMIT 1`, t.Database, t.Name)
	return len(found) > 0, db.failed(ctx, t.String(), err)
}

// foreignKeys returns the foreign keys of a table. For a join of the two questions, MariaDB opens every table and view
// of the server.
func (db *DB) foreignKeys(ctx context.Context, t catalog.Table) (keys []foreignKeyOf, err error) {
	found, err := db.conn.Query(ctx, 5, `SELECT CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA,
		REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND REFERENCED_COLUMN_NAME IS NOT NULL
		ORDER BY CONSTRAINT_NAME, ORDINAL_POSITION`, t.Database, t.Name)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	binary, err := db.conn.Query(ctx, 1, `SELECT COLUMN_NAME FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND DATA_TYPE IN ('binary', 'varbinary')`, t.Database, t.Name)
	if err != nil {
		return nil, err
	}
	for _, row := range found {
		if len(keys) == 0 || keys[len(keys)-1].name != row[0] {
			keys = append(keys, foreignKeyOf{name: row[0], table: t, to: catalog.Table{Database: row[2], Name: row[3]}})
		}
		key := &keys[len(keys)-1]
		if len(key.columns) == 0 {
			key.binary = slices.ContainsFunc(binary, func(of []string) bool { return of[0] == row[1] })
		}
		key.columns = append(key.columns, catalog.Quote(row[1]))
		key.referenced = append(key.referenced, catalog.Quote(row[4]))
	}
	return keys, nil
}

// isSame reports whether the server takes two names for those of one table.
func (db *DB) isSame(a, b catalog.Table) bool {
	if db.conn.FoldCase {
		return strings.EqualFold(a.Database, b.Database) && strings.EqualFold(a.Name, b.Name)
	}
	return a.Database == b.Database && a.Name == b.Name
}

// brokenSQL returns the statement that finds a row of some rows whose key refers to none. It locks the rows that it
// looks at, so that the key holds until the commit.
func (key foreignKeyOf) brokenSQL(rows string) string {
	var equal, set []string
	for i, column := range key.columns {
		equal = append(equal, "t."+key.referenced[i]+" = f."+column)
		set = append(set, "f."+column+" IS NOT NULL")
	}
	value := "CAST(f." + key.columns[0] + " AS CHAR)"
	if key.binary {
		value = `CONCAT('\\x', LOWER(HEX(f.` + key.columns[0] + ")))"
	}
	return "SELECT " + value + " FROM " + rows + " f LEFT JOIN " + key.to.SQL() + " t ON " +
		strings.Join(equal, " AND ") + " WHERE " + strings.Join(set, " AND ") +
		" AND t." + key.referenced[0] + " IS NULL LIMIT 1 LOCK IN SHARE MODE"
}

// checkKeys refuses rows that refer to none, if the sink checks the keys itself.
func (t *table) checkKeys() error {
	for _, key := range t.keys {
		if err := t.checkKey(key, key.table.SQL()); err != nil {
			return err
		}
	}
	return nil
}

// checkArrivals is checkKeys for the rows that have arrived in the temporary table. All others hold their keys: they
// did when the transaction began, and rows that are added break no key of others. With other conflicts than Fail, an
// update can take from a row what others refer to, and a row that is ignored may refer to none.
func (t *table) checkArrivals() error {
	arrived := func(name string) bool {
		return slices.ContainsFunc(t.columns, func(c column) bool {
			return catalog.Quote(c.Name) == name && !c.Numbered
		})
	}
	for _, key := range t.keys {
		if !t.db.isSame(key.table, t.target) {
			continue
		}
		rows := t.arrivals()
		if slices.ContainsFunc(key.columns, func(name string) bool { return !arrived(name) }) {
			rows = key.table.SQL() // a default, or the next number, may refer to a row
		}
		if err := t.checkKey(key, rows); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) checkKey(key foreignKeyOf, rows string) error {
	found, err := t.db.conn.Query(t.ctx, 1, key.brokenSQL(rows))
	if err != nil {
		return t.db.failed(t.ctx, fmt.Sprintf("checking the foreign key %q of %s", key.name, key.table), err)
	}
	if len(found) > 0 {
		return t.noParent(key, found[0][0])
	}
	return nil
}

// noParent is the error of a key whose first column has a value that refers to no row.
func (t *table) noParent(key foreignKeyOf, value string) error {
	row := &sink.RowError{
		Table: key.table.SQL(), Constraint: key.name, Code: codeNoParent, Dangling: true,
		Err: fmt.Errorf("it refers to a row that %s does not have", key.to),
	}
	if len(key.columns) == 1 {
		row.Column, _, _ = catalog.Identifier(key.columns[0])
		row.Value = sink.Shorten(value)
	}
	if t.Redact {
		row.Value, row.Err = "", redacted(codeNoParent)
	}
	return row
}

// codeNoParent is ER_NO_REFERENCED_ROW_2.
const codeNoParent = "1452"

// uncheck turns the checks of the server off, if the sink checks the keys itself.
func (t *table) uncheck() error {
	if len(t.keys) == 0 {
		return nil
	}
	return t.db.failed(t.ctx, "preparing the session", t.db.conn.Exec(t.ctx, uncheckedSQL))
}

// check turns the checks of the server on again.
func (t *table) check() {
	if len(t.keys) > 0 {
		t.quietly(func() error { return t.db.conn.Exec(context.Background(), checkedSQL) })
	}
}
