package fill

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"culvert/sink"
)

// SQLite does not enforce foreign keys here, so rows that a load brings may refer to none, as in their source. But rows
// of tables that it does not fill must not lose those that they refer to.

const codeForeignKey = "SQLITE_CONSTRAINT_FOREIGNKEY"

// takesKeys reports whether rows or keys of the table can be gone after the filling, to which rows of others refer.
func (t *table) takesKeys() bool {
	return t.filling.Create == nil && (t.clear || t.filling.Conflict == sink.Update)
}

// checksKeys reports whether rows of others are looked at. Parts that were committed earlier may have taken keys.
func (t *table) checksKeys() bool {
	return t.takesKeys() || t.filling.Create == nil && t.filling.EachPart && t.filling.Existing > sink.Append
}

// lostBefore is a table, in memory, of the rows of other tables that refer to none before the filling. A row of a table
// WITHOUT ROWID has no number.
const lostBefore = `temp."culvert: rows that refer to none"`

// noteLost finds those of the tables that stay as they are.
func (t *table) noteLost(stays func(other string) bool) error {
	if !t.checksKeys() {
		return nil
	}
	found, err := t.db.textRows(t.ctx, `SELECT DISTINCT s.name FROM main.sqlite_schema AS s
		CROSS JOIN pragma_foreign_key_list(s.name, 'main') AS f
		WHERE s.type = 'table' AND f."table" = ?1 COLLATE NOCASE AND s.name <> ?1 ORDER BY s.name`, t.name)
	if err != nil {
		return err
	}
	t.others = nil
	for _, row := range found {
		if stays(row[0]) {
			t.others = append(t.others, row[0])
		}
	}
	if len(t.others) == 0 {
		return nil
	}
	err = t.db.exec(t.ctx,
		"CREATE TABLE IF NOT EXISTS "+lostBefore+" (name, fkid, number, UNIQUE (name, fkid, number))")
	if err != nil {
		return err
	}
	for _, other := range t.others {
		if !t.takesKeys() {
			break
		}
		_, err := t.db.textRows(t.ctx, "INSERT INTO "+lostBefore+` SELECT ?1, fkid, rowid
			FROM pragma_foreign_key_check(?1, 'main') WHERE parent = ?2 COLLATE NOCASE`, other, t.name)
		if err != nil && !isUncheckable(err) {
			return err
		}
	}
	return nil
}

// forgetLost drops the table of noteLost. A filling that was discarded may have left it.
func (t *table) forgetLost() error { return t.db.exec(t.ctx, "DROP TABLE IF EXISTS "+lostBefore) }

// isUncheckable reports whether an error is that of a foreign key that names no key of the table it refers to.
func isUncheckable(err error) bool {
	code, _ := errors.AsType[sqlite3.ErrorCode](err)
	return code == sqlite3.ERROR
}

// links returns the tables to which foreign keys of the table refer, and those whose keys refer to it.
func (t *table) links() (refers, referred []string, err error) {
	found, err := t.db.textRows(t.ctx, `SELECT DISTINCT 0, s.name FROM pragma_foreign_key_list(?1, 'main') AS f
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

// checkLost fails if rows of another table refer to none that did not before the filling.
func (t *table) checkLost() error {
	for _, other := range t.others {
		found, err := t.db.textRows(t.ctx, `SELECT max(
			sum(f.rowid IS NOT NULL AND NOT EXISTS (SELECT 1 FROM `+lostBefore+` AS b
				WHERE b.name = ?1 AND b.fkid = f.fkid AND b.number = f.rowid)),
			sum(f.rowid IS NULL) - (SELECT count(*) FROM `+lostBefore+` AS b
				WHERE b.name = ?1 AND b.fkid = f.fkid AND b.number IS NULL)) AS lost
			FROM pragma_foreign_key_check(?1, 'main') AS f WHERE f.parent = ?2 COLLATE NOCASE
			GROUP BY f.fkid ORDER BY lost DESC LIMIT 1`, other, t.name)
		switch {
		case isUncheckable(err):
		case err != nil:
			return err
		case len(found) > 0 && found[0][0] != "0":
			return &sink.RowError{
				Table: other, Code: codeForeignKey, Dangling: true,
				Err: fmt.Errorf("%s of its rows would refer to rows of table %q that are not there any more; "+
					"load that table too, or remove these rows first", found[0][0], t.name),
			}
		}
	}
	return nil
}
