package fill

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/sink"
)

// arrivals is the temporary table of rows that may be in conflict with others, or whose keys the sink checks part by
// part, without looking at the rows of earlier parts.
const arrivals = "`culvert_arrivals`"

// arrives reports whether the rows go into the temporary table first.
func (p *plan) arrives() bool {
	return p.Conflict != sink.Fail || p.EachPart && len(p.keys) > 0 && !p.direct
}

// arrivalsSQL makes the temporary table with the columns of the rows, which have no keys there. It is in the database
// of the table, since the session need not have opened one. A column with AUTO_INCREMENT holds NULL until the row gets
// its number in the table.
func (p *plan) arrivalsSQL() string {
	numbered := ""
	for _, c := range p.columns {
		if c.Numbered {
			numbered = "(" + catalog.Quote(c.Name) + " " + c.Type + " NULL) "
		}
	}
	return "CREATE TEMPORARY TABLE " + p.arrivals() + " " + numbered + "ENGINE=InnoDB AS SELECT " +
		list(p.columns, "") + " FROM " + p.target.SQL() + " LIMIT 0"
}

// makeArrivals makes the temporary table. If the server refuses it, such as to a user without the right, and it only
// spares the look at the rows of earlier parts, then the rows go into the table at once.
func (t *table) makeArrivals() error {
	err := t.db.conn.Exec(t.ctx, t.arrivalsSQL())
	if t.Conflict == sink.Fail && wire.Refused(err) != nil {
		t.direct = true
		return nil
	}
	return t.db.failed(t.ctx, "making a temporary table", err)
}

func (p *plan) arrivals() string { return catalog.Quote(p.target.Database) + "." + arrivals }

func (p *plan) isKey(name string) bool {
	return slices.ContainsFunc(p.Key, func(key string) bool { return strings.EqualFold(key, name) })
}

// mergeSQL adds the rows of the temporary table. A key column of a row that exists keeps its value. If that is another
// one, the row was found by another unique index, and the subquery fails.
func (p *plan) mergeSQL() string {
	sql := "INSERT INTO " + p.target.SQL() + " (" + list(p.columns, "") + ") SELECT " + list(p.columns, "a.") +
		" FROM " + p.arrivals() + " AS a"
	if p.Conflict == sink.Fail {
		return sql
	}
	var set []string
	for _, c := range p.columns {
		name := catalog.Quote(c.Name)
		own, arrived := p.target.SQL()+"."+name, "a."+name
		switch {
		case p.Conflict == sink.Ignore:
			set = []string{own + " = " + own}
		case p.isKey(c.Name):
			set = append(set, fmt.Sprintf("%s = IF(%[1]s <=> %s, %[1]s, (SELECT 1 UNION SELECT 2))", own, arrived))
		default:
			set = append(set, own+" = "+arrived)
		}
	}
	return sql + " ON DUPLICATE KEY UPDATE " + strings.Join(set, ", ")
}

// checkKey refuses a key by which rows cannot be found.
func (db *DB) checkKey(ctx context.Context, p *plan) error {
	if p.Conflict != sink.Update {
		return nil
	}
	found, err := db.conn.Query(ctx, 3, `SELECT INDEX_NAME, IFNULL(COLUMN_NAME, ''), IFNULL(SUB_PART, '')
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND NON_UNIQUE = 0
		ORDER BY INDEX_NAME`, p.target.Database, p.target.Name)
	if err != nil {
		return db.failed(ctx, p.target.String(), err)
	}
	fits := map[string]bool{}
	columns := map[string]int{}
	for _, row := range found {
		if _, seen := fits[row[0]]; !seen {
			fits[row[0]] = true
		}
		fits[row[0]] = fits[row[0]] && row[2] == "" && p.isKey(row[1])
		columns[row[0]]++
	}
	for index, all := range fits {
		if all && columns[index] == len(p.Key) {
			return nil
		}
	}
	return fmt.Errorf("mysql: %s has no unique index on the columns %s", p.target, strings.Join(p.Key, ", "))
}
