package read

import (
	"context"
	"strconv"
	"strings"
)

// catalog is what a database has, by name. SQLite has no index of names, so each question would read all of them. The
// transaction keeps them as they are.
type catalog struct {
	tables    map[string]object // and views, by their names in lower case
	triggers  map[string][]string
	indexes   map[string]int64 // their rows of sqlite_schema
	virtual   []*virtual       // sorted by name
	rows      map[string]int64 // of tables, by the last ANALYZE
	sequences map[string]int64 // the last numbers of AUTOINCREMENT
}

// object is a table or a view.
type object struct {
	name      string // as the database writes it
	isView    bool
	isVirtual bool
	row       int64 // of sqlite_schema
}

// lower returns a name with small ASCII letters, as SQLite compares names.
func lower(name string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r | 0x20
		}
		return r
	}, name)
}

// known returns the catalog.
func (db *DB) known(ctx context.Context) (*catalog, error) {
	if db.catalog != nil {
		return db.catalog, nil
	}
	c := &catalog{
		tables: map[string]object{}, triggers: map[string][]string{}, indexes: map[string]int64{},
		rows: map[string]int64{}, sequences: map[string]int64{},
	}
	found, err := db.textRows(ctx, `SELECT type, name, tbl_name, rowid, ifnull(rootpage, 0) = 0 FROM main.sqlite_schema
		WHERE name IS NOT NULL ORDER BY name`)
	if err != nil {
		return nil, err
	}
	var virtuals []object
	for _, row := range found {
		o := object{name: row[1], isView: row[0] == "view"}
		if o.row, err = strconv.ParseInt(row[3], 10, 64); err != nil {
			return nil, db.fail(ctx, err)
		}
		switch row[0] {
		case "table", "view":
			if o.isVirtual = !o.isView && row[4] == "1"; o.isVirtual {
				virtuals = append(virtuals, o)
			}
			c.tables[lower(o.name)] = o
		case "trigger":
			c.triggers[lower(row[2])] = append(c.triggers[lower(row[2])], o.name)
		case "index":
			c.indexes[o.name] = o.row
		}
	}
	for _, o := range virtuals {
		sql, err := db.sqlOf(ctx, o.row)
		if err != nil {
			return nil, err
		}
		c.virtual = append(c.virtual, parseVirtual(o.name, sql))
	}
	if err := db.learnNumbers(ctx, c); err != nil {
		return nil, err
	}
	db.catalog = c
	return c, nil
}

// learnNumbers reads what SQLite keeps in tables of its own, if they are there.
func (db *DB) learnNumbers(ctx context.Context, c *catalog) error {
	for _, kept := range []struct {
		table, sql string
		numbers    map[string]int64
	}{
		{
			"sqlite_stat1", "SELECT tbl, max(CAST(stat AS INTEGER)) FROM main.sqlite_stat1 WHERE tbl IS NOT NULL" +
				" GROUP BY tbl", c.rows,
		},
		{"sqlite_sequence", "SELECT name, seq FROM main.sqlite_sequence WHERE name IS NOT NULL", c.sequences},
	} {
		if _, is := c.tables[kept.table]; !is {
			continue
		}
		found, err := db.textRows(ctx, kept.sql)
		if err != nil {
			return err
		}
		for _, row := range found {
			if n, err := strconv.ParseInt(row[1], 10, 64); err == nil {
				kept.numbers[row[0]] = n
			}
		}
	}
	return nil
}

// sqlOf returns a statement of sqlite_schema.
func (db *DB) sqlOf(ctx context.Context, row int64) (string, error) {
	found, err := db.texts(ctx, "SELECT sql FROM main.sqlite_schema WHERE rowid = CAST(? AS INTEGER)",
		strconv.FormatInt(row, 10))
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}

// statementOf returns the statement that made a table.
func (db *DB) statementOf(ctx context.Context, table string) (string, error) {
	known, err := db.known(ctx)
	if err != nil {
		return "", err
	}
	return db.sqlOf(ctx, known.tables[lower(table)].row)
}
