package read

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"culvert/source"
)

var _ source.Definer = (*DB)(nil)

// Define returns the definition of a table, or the columns of a view. Checks and the expressions of generated columns
// are only in Create, which is the statement that made the table, and so is whether foreign keys are deferred. Among
// the indexes are the FTS5 tables whose content is the table.
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
	create, err := db.texts(ctx, "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?", table)
	if err != nil || len(create) == 0 {
		return d, err
	}
	d.Create = create[0]
	if v, err := db.virtual(ctx, table); err != nil {
		return nil, err
	} else if v != nil {
		v.describe(d)
		return d, nil
	}
	if d.Constraints, err = read[source.Constraint](ctx, db, constraintsSQL, table); err != nil {
		return nil, err
	}
	if d.Indexes, err = read[source.Index](ctx, db, indexesSQL, table); err != nil {
		return nil, err
	}
	texts, err := db.textIndexes(ctx, table)
	if err != nil {
		return nil, err
	}
	d.Indexes = append(d.Indexes, texts...)
	if d.Lacks, err = db.texts(ctx, lacksSQL, table); err != nil {
		return nil, err
	}
	return d, db.completeColumns(ctx, d)
}

// lacksSQL names what a table has and its definition has not.
const lacksSQL = `
SELECT 'the trigger "' || name || '"' FROM main.sqlite_schema
WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE ORDER BY name`

// completeColumns adds to the columns of a table what no statement tells.
func (db *DB) completeColumns(ctx context.Context, d *source.Definition) error {
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
		last, err := db.texts(ctx, "SELECT seq FROM main.sqlite_sequence WHERE name = ?", d.Name)
		if err != nil {
			return err
		}
		if len(last) > 0 {
			if n, err := strconv.ParseInt(last[0], 10, 64); err == nil {
				sequence.Last = &n
			}
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

// columnDefinitionsSQL describes the columns of a table. SQLite numbers the rows of a table in its rowid, of which an
// INTEGER PRIMARY KEY is another name; any other primary key has an index.
const columnDefinitionsSQL = `
SELECT json_object('name', c.name, 'type', c.type, 'not_null', json(iif(c."notnull", 'true', 'false')),
	'default', c.dflt_value, 'generated', CASE c.hidden WHEN 2 THEN 'virtual' WHEN 3 THEN 'stored' END,
	'identity', iif(c.pk = 1 AND c.type = 'INTEGER' COLLATE NOCASE
		AND NOT EXISTS (SELECT 1 FROM pragma_index_list(t.name, 'main') AS i WHERE i.origin = 'pk'),
		'by default', NULL))
FROM main.sqlite_schema AS t, pragma_table_xinfo(t.name, 'main') AS c
WHERE t.name = ? AND t.type IN ('table', 'view') AND c.hidden <> 1 ORDER BY c.cid`

// constraintsSQL describes the keys of a table. A foreign key that names no columns refers to the primary key of its
// table, which may not be there.
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
		SELECT k.*, coalesce(k."to", (
			SELECT c.name FROM pragma_table_info(k."table", 'main') AS c WHERE c.pk = k.seq + 1)) AS parent
		FROM pragma_foreign_key_list(?1, 'main') AS k)
	GROUP BY id ORDER BY id DESC)`

// indexesSQL describes the indexes of a table. With CROSS JOIN, SQLite does not list them again for each table and
// index of the database.
const indexesSQL = `
SELECT json_object('name', i.name, 'unique', json(iif(i."unique", 'true', 'false')), 'definition', s.sql,
	'columns', json(iif(i.partial OR EXISTS (
			SELECT 1 FROM pragma_index_info(i.name, 'main') AS c WHERE c.name IS NULL), NULL,
		(SELECT json_group_array(c.name ORDER BY c.seqno) FROM pragma_index_info(i.name, 'main') AS c))))
FROM pragma_index_list(?, 'main') AS i
CROSS JOIN main.sqlite_schema AS s ON s.type = 'index' AND s.name = i.name
WHERE i.origin = 'c' ORDER BY i.name`
