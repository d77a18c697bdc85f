package fill

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/sink"
)

// reference is a foreign key that refers to a table.
type reference struct {
	from       catalog.Table
	name, rule string // of ON DELETE
}

// checkReferences refuses to delete the rows of a table if foreign keys of others forbid that, or would change the rows
// of these too. Tables for which isGone reports true lose their rows before.
func (db *DB) checkReferences(ctx context.Context, t catalog.Table, isGone func(other catalog.Table) bool) error {
	keys, err := db.referencesTo(ctx, t)
	if err != nil {
		return db.failed(ctx, t.String(), err)
	}
	refused := &sink.ReferencedError{Table: t.SQL()}
	for _, key := range keys {
		if isGone(key.from) {
			continue
		}
		if key.rule == "RESTRICT" || key.rule == "NO ACTION" {
			if used, err := db.isUsed(ctx, key, t); !used || err != nil {
				if err != nil {
					return db.failed(ctx, t.String(), err)
				}
				continue
			}
		}
		refused.Keys = append(refused.Keys, fmt.Sprintf("%q of %s (ON DELETE %s)", key.name, key.from, key.rule))
		refused.Drop = append(refused.Drop,
			"ALTER TABLE "+key.from.SQL()+" DROP FOREIGN KEY "+catalog.Quote(key.name))
	}
	if len(refused.Keys) == 0 {
		return nil
	}
	return refused
}

// referencesTo returns the foreign keys of other tables that refer to a table.
func (db *DB) referencesTo(ctx context.Context, t catalog.Table) (keys []reference, err error) {
	if none, err := db.hasNoReferences(ctx, t); none || err != nil {
		return nil, err
	}
	found, err := db.conn.Query(ctx, 6, `SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, DELETE_RULE,
		UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS
		WHERE UNIQUE_CONSTRAINT_SCHEMA = ? AND REFERENCED_TABLE_NAME = ? ORDER BY 1, 2, 3`, t.Database, t.Name)
	if err != nil {
		return nil, err
	}
	for _, row := range found {
		from, to := catalog.Table{Database: row[0], Name: row[1]}, catalog.Table{Database: row[4], Name: row[5]}
		if db.isSame(to, t) && !db.isSame(from, t) { // the server ignores letter case here
			keys = append(keys, reference{from: from, name: row[2], rule: row[3]})
		}
	}
	return keys, nil
}

// isUsed reports whether rows refer to others by a key. It is false if the user may not read them, so that the server
// is the first to know.
func (db *DB) isUsed(ctx context.Context, key reference, to catalog.Table) (bool, error) {
	columns, err := db.conn.Query(ctx, 2, `SELECT COLUMN_NAME, REFERENCED_COLUMN_NAME
		FROM information_schema.KEY_COLUMN_USAGE
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND CONSTRAINT_NAME = ? AND REFERENCED_COLUMN_NAME IS NOT NULL`,
		key.from.Database, key.from.Name, key.name)
	if err != nil || len(columns) == 0 {
		return false, err
	}
	var equal []string
	for _, row := range columns {
		equal = append(equal, "f."+catalog.Quote(row[0])+" = t."+catalog.Quote(row[1]))
	}
	found, err := db.conn.Query(ctx, 1, "SELECT 1 FROM "+key.from.SQL()+" f JOIN "+to.SQL()+" t ON "+
		strings.Join(equal, " AND ")+" LIMIT 1")
	if wire.Refused(err) != nil {
		return false, nil
	}
	return err == nil && len(found) > 0, err
}

// hasNoReferences asks InnoDB whether foreign keys refer to a table. It spares most tables the question to
// information_schema, for which MariaDB opens every table of the server. It is false if InnoDB does not tell: in MySQL,
// without the privilege PROCESS, or for a name that InnoDB writes in another way.
func (db *DB) hasNoReferences(ctx context.Context, t catalog.Table) (bool, error) {
	name := t.Database + "/" + t.Name
	if !db.conn.IsMariaDB || !plainNames.MatchString(name) {
		return false, nil
	}
	found, err := db.conn.Query(ctx, 1,
		"SELECT 1 FROM information_schema.INNODB_SYS_FOREIGN WHERE REF_NAME = ? LIMIT 1", name)
	if wire.Refused(err) != nil {
		return false, nil
	}
	return err == nil && len(found) == 0, err
}

// links returns the tables to which foreign keys of a table refer, and those whose keys refer to it, if that is asked.
func (db *DB) links(
	ctx context.Context, t catalog.Table, alsoReferred bool,
) (refers, referred []string, err error) {
	add := func(to *[]string, other catalog.Table) {
		if db.isSame(other, t) {
			other = t
		}
		if name := other.SQL(); !slices.Contains(*to, name) {
			*to = append(*to, name)
		}
	}
	keys, err := db.foreignKeys(ctx, t)
	if err != nil {
		return nil, nil, db.failed(ctx, t.String(), err)
	}
	for _, key := range keys {
		if add(&refers, key.to); db.isSame(key.to, t) {
			add(&referred, key.to)
		}
	}
	if !alsoReferred {
		return refers, nil, nil
	}
	others, err := db.referencesTo(ctx, t)
	for _, other := range others {
		add(&referred, other.from)
	}
	return refers, referred, db.failed(ctx, t.String(), err)
}

var plainNames = lazyregexp.New(`^[A-Za-z0-9_]+/[A-Za-z0-9_]+$`)
