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
		if isUncheckable(err) {
			continue
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

// isUncheckable reports whether an error is that of a foreign key that names no key of the table it refers to.
func isUncheckable(err error) bool {
	code, _ := errors.AsType[sqlite3.ErrorCode](err)
	return code == sqlite3.ERROR
}

// countOwnDangling counts the rows of the table that refer to none.
func (t *table) countOwnDangling() (found danglers, err error) {
	rows, err := t.db.texts(t.ctx, `SELECT parent, fkid, count(*) FROM pragma_foreign_key_check(?, 'main')
		GROUP BY fkid`, t.name)
	if isUncheckable(err) {
		return nil, nil
	}
	found = danglers{}
	for _, row := range rows {
		if found[[2]string{row[0], row[1]}], err = strconv.ParseInt(row[2], 10, 64); err != nil {
			return nil, t.db.fail(t.ctx, err)
		}
	}
	return found, err
}

// checkOwnKeys fails if more rows of the table refer to none than before its rows were replaced.
func (t *table) checkOwnKeys() error {
	if !t.takesKeys() || !t.clear {
		return nil
	}
	now, err := t.countOwnDangling()
	if err != nil {
		return err
	}
	for key, count := range now {
		if more := count - t.ownDangling[key]; more > 0 {
			return &sink.RowError{
				Table: t.name, Code: codeForeignKey, Dangling: true,
				Err: fmt.Errorf("%d of its rows refer to rows that table %q does not have", more, key[0]),
			}
		}
	}
	return nil
}

const codeForeignKey = "SQLITE_CONSTRAINT_FOREIGNKEY"

// links returns the tables to which foreign keys of the table refer, and those whose keys refer to it.
func (t *table) links() (refers, referred []string, err error) {
	found, err := t.db.texts(t.ctx, `SELECT DISTINCT 0, s.name FROM pragma_foreign_key_list(?1, 'main') AS f
		JOIN main.sqlite_schema AS s ON s.type = 'table' AND s.name = f."table" COLLATE NOCASE
		UNION ALL SELECT DISTINCT 1, s.name FROM main.sqlite_schema AS s
		CROSS JOIN pragma_foreign_key_list(s.name, 'main') AS f
		WHERE s.type = 'table' AND f."table" = ?1 COLLATE NOCASE ORDER BY 1, 2`, t.name)
	for _, row := range found {
		if row[0] == "0" {
			refers = append(refers, row[1])
		} else {
			referred = append(referred, row[1])
		}
	}
	return refers, referred, err
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
				Table: other, Code: codeForeignKey, Dangling: true,
				Err: fmt.Errorf("%d of its rows would refer to rows of table %q that are not there any more; "+
					"load that table too, or remove these rows first", lost[other], t.name),
			}
		}
	}
	return nil
}
