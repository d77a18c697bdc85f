package read

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"culvert/sink/dialect"
	"culvert/source"
)

var _ source.Definer = (*DB)(nil)

// Define returns the definition of a table, or the columns of a view. Checks are only in Create, which is the statement
// that made the table, and so is whether foreign keys are deferred. Among the indexes are the FTS5 tables whose content
// is the table.
func (db *DB) Define(ctx context.Context, name string) (_ *source.Definition, err error) {
	defer db.catch(&err)
	table, err := db.find(ctx, name)
	if err != nil {
		return nil, err
	}
	d := &source.Definition{Dialect: source.SQLite, Name: table}
	if d.Columns, err = read[source.ColumnDefinition](ctx, db, columnDefinitionsSQL, table); err != nil {
		return nil, err
	}
	known, err := db.known(ctx)
	if err != nil {
		return nil, err
	}
	if d.IsView = known.tables[lower(table)].isView; d.IsView {
		return d, nil
	}
	if d.Create, err = db.statementOf(ctx, table); err != nil {
		return nil, err
	}
	if v, err := db.virtual(ctx, table); err != nil {
		return nil, err
	} else if v != nil {
		v.describe(d)
		return d, nil
	}
	for at, expression := range expressions(d.Create) {
		if at < len(d.Columns) && d.Columns[at].Generated != "" {
			d.Columns[at].Expression = expression
		}
	}
	if d.Constraints, err = read[source.Constraint](ctx, db, constraintsSQL, table); err != nil {
		return nil, err
	}
	if d.Indexes, err = read[source.Index](ctx, db, indexesSQL, table); err != nil {
		return nil, err
	}
	for i := range d.Indexes {
		index := &d.Indexes[i]
		if index.Definition, err = db.sqlOf(ctx, known.indexes[index.Name]); err != nil {
			return nil, err
		}
	}
	texts, err := db.textIndexes(ctx, table)
	if err != nil {
		return nil, err
	}
	d.Indexes = append(d.Indexes, texts...)
	for _, trigger := range known.triggers[lower(table)] {
		d.Lacks = append(d.Lacks, `the trigger "`+trigger+`"`)
		if err := db.updates(ctx, d, trigger); err != nil {
			return nil, err
		}
	}
	return d, db.completeColumns(ctx, d, known)
}

// updates adds to the columns of a table the clause of MySQL for which a trigger stands.
func (db *DB) updates(ctx context.Context, d *source.Definition, trigger string) error {
	if !strings.HasPrefix(trigger, d.Name) {
		return nil
	}
	found, err := db.texts(ctx, "SELECT sql FROM main.sqlite_schema WHERE type = 'trigger' AND name = ?1", trigger)
	if err != nil || len(found) != 1 {
		return err
	}
	var names []string
	for _, c := range d.Columns {
		names = append(names, c.Name)
	}
	for name, now := range dialect.UpdatesOfSQLite(found[0], d.Name, names) {
		i := slices.Index(names, name)
		d.Columns[i].Others = append(d.Columns[i].Others, "ON UPDATE "+now)
	}
	return nil
}

// completeColumns adds to the columns of a table what no statement tells.
func (db *DB) completeColumns(ctx context.Context, d *source.Definition, known *catalog) error {
	for i := range d.Columns {
		c := &d.Columns[i]
		_, collation, _, _, counts, err := db.conn.TableColumnMetadata("main", d.Name, c.Name)
		if err != nil {
			return db.fail(ctx, err)
		}
		if !strings.EqualFold(collation, "BINARY") {
			c.Collation = collation
		}
		if !counts {
			continue
		}
		sequence := source.Sequence{Column: c.Name}
		if last, is := known.sequences[d.Name]; is {
			sequence.Last = &last
		}
		d.Sequences = append(d.Sequences, sequence)
	}
	return nil
}

// read returns the values that a statement returns as JSON.
func read[T any](ctx context.Context, db *DB, sql string, args ...string) ([]T, error) {
	texts, err := db.texts(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	var values []T
	for _, text := range texts {
		var value T
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return nil, db.fail(ctx, err)
		}
		values = append(values, value)
	}
	return values, nil
}

// isRowid is SQL that is true if the column c of the table ?1 is an INTEGER PRIMARY KEY, and so the rowid, by which
// SQLite numbers the rows. Any other primary key has an index.
const isRowid = `(c.pk = 1 AND c.type = 'INTEGER' COLLATE NOCASE
	AND NOT EXISTS (SELECT 1 FROM pragma_index_list(?1, 'main') AS i WHERE i.origin = 'pk'))`

// columnDefinitionsSQL describes the columns of a table.
const columnDefinitionsSQL = `
SELECT json_object('name', c.name, 'type', c.type, 'not_null', json(iif(c."notnull", 'true', 'false')),
	'default', c.dflt_value, 'generated', CASE c.hidden WHEN 2 THEN 'virtual' WHEN 3 THEN 'stored' END,
	'identity', iif(` + isRowid + `, 'by default', NULL))
FROM pragma_table_xinfo(?1, 'main') AS c WHERE c.hidden <> 1 ORDER BY c.cid`

// constraintsSQL describes the keys of a table. A foreign key that names no columns refers to the primary key of its
// table, which may not be there. Names are as their table has them, whatever the letters of the reference.
const constraintsSQL = `
SELECT json_object('kind', 'primary key', 'columns', json_group_array(c.name ORDER BY c.pk))
FROM pragma_table_info(?1, 'main') AS c WHERE c.pk > 0 HAVING count(*) > 0
UNION ALL SELECT * FROM (
	SELECT json_object('kind', 'unique', 'columns',
		json((SELECT json_group_array(c.name ORDER BY c.seqno) FROM pragma_index_info(i.name, 'main') AS c)))
	FROM pragma_index_list(?1, 'main') AS i WHERE i.origin = 'u' ORDER BY i.seq DESC)
UNION ALL SELECT * FROM (
	SELECT json_object('kind', 'foreign key', 'columns', json_group_array("from" ORDER BY seq), 'definition',
		'FOREIGN KEY (' || group_concat(format('"%w"', "from"), ', ' ORDER BY seq) ||
		') REFERENCES ' || format('"%w"', "table") || iif(count(parent) < count(*), '',
			' (' || group_concat(format('"%w"', parent), ', ' ORDER BY seq) || ')') ||
		iif(on_update = 'NO ACTION', '', ' ON UPDATE ' || on_update) ||
		iif(on_delete = 'NO ACTION', '', ' ON DELETE ' || on_delete))
	FROM (
		SELECT k.id, k.seq, k.on_update, k.on_delete, c.name AS "from", coalesce(t.name, k."table") AS "table",
			coalesce((SELECT p.name FROM pragma_table_info(k."table", 'main') AS p
				WHERE iif(k."to" IS NULL, p.pk = k.seq + 1, p.name = k."to" COLLATE NOCASE)), k."to") AS parent
		FROM pragma_foreign_key_list(?1, 'main') AS k
		JOIN pragma_table_xinfo(?1, 'main') AS c ON c.name = k."from" COLLATE NOCASE
		LEFT JOIN main.sqlite_schema AS t ON t.type = 'table' AND t.name = k."table" COLLATE NOCASE)
	GROUP BY id ORDER BY id DESC)`

// indexesSQL describes the indexes of a table, without their statements.
const indexesSQL = `
SELECT json_object('name', i.name, 'unique', json(iif(i."unique", 'true', 'false')),
	'columns', json(iif(i.partial OR EXISTS (
			SELECT 1 FROM pragma_index_info(i.name, 'main') AS c WHERE c.name IS NULL), NULL,
		(SELECT json_group_array(c.name ORDER BY c.seqno) FROM pragma_index_info(i.name, 'main') AS c))))
FROM pragma_index_list(?, 'main') AS i WHERE i.origin = 'c' ORDER BY i.name`
