package fill

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"culvert/sink"
)

// danglers are how many rows of other tables refer to rows of a table that are not there, by table and foreign key.
type danglers map[[2]string]int64

// takesKeys reports whether rows or keys of the table can be gone after the filling, to which rows of others refer.
func (t *table) takesKeys() bool {
	return t.filling.Create == nil && (t.filling.Existing > sink.Append || t.filling.Conflict == sink.Update)
}

// countDangling counts the rows of other tables that refer to none. SQLite does not check foreign keys by itself here.
func (t *table) countDangling() (danglers, error) {
	others, err := t.db.texts(t.ctx, `SELECT DISTINCT s.name FROM main.sqlite_schema AS s
		CROSS JOIN pragma_foreign_key_list(s.name, 'main') AS f
		WHERE s.type = 'table' AND f."table" = ?1 COLLATE NOCASE AND s.name <> ?1 ORDER BY s.name`, t.name)
	if err != nil {
		return nil, err
	}
	found := danglers{}
	for _, other := range others {
		rows, err := t.db.texts(t.ctx, `SELECT fkid, count(*) FROM pragma_foreign_key_check(?, 'main')
			WHERE parent = ? COLLATE NOCASE GROUP BY fkid`, other[0], t.name)
		if code, _ := errors.AsType[sqlite3.ErrorCode](err); code == sqlite3.ERROR {
			continue // a foreign key that names no key of the table it refers to, which nothing can check
		}
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if found[[2]string{other[0], row[0]}], err = strconv.ParseInt(row[1], 10, 64); err != nil {
				return nil, t.db.fail(t.ctx, err)
			}
		}
	}
	return found, nil
}

// checkForeignKeys fails if more rows of another table refer to none than before the filling.
func (t *table) checkForeignKeys() error {
	if !t.takesKeys() {
		return nil
	}
	now, err := t.countDangling()
	if err != nil {
		return err
	}
	lost := map[string]int64{} // the most rows of a key, by table
	for key, count := range now {
		lost[key[0]] = max(lost[key[0]], count-t.dangling[key])
	}
	for _, other := range slices.Sorted(maps.Keys(lost)) {
		if lost[other] > 0 {
			return &sink.RowError{
				Table: other, Code: "SQLITE_CONSTRAINT_FOREIGNKEY", Dangling: true,
				Err: fmt.Errorf("%d of its rows would refer to rows of table %q that are not there any more; "+
					"load that table too, or remove these rows first", lost[other], t.name),
			}
		}
	}
	return nil
}
