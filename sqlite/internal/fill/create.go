package fill

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/sink"
	"culvert/sink/dialect"
	"culvert/source"
)

var _ sink.Creator = (*DB)(nil)

// Finish does nothing: the statement that makes a table has its foreign keys, and SQLite checks them only on request.
func (db *DB) Finish(context.Context, string, sink.Filling) error { return nil }

// resolveNew plans a table that is to be made, or one that exists and is filled in its place.
func (t *table) resolveNew(name string) error {
	d := t.filling.Create
	isOwn := d.Dialect == source.SQLite
	if !isOwn {
		named := *d
		named.Name = dialect.TableName(d, name)
		name, d = named.Name, &named
	}
	switch {
	case isOwn && d.Create == "":
		return fmt.Errorf("sqlite: the definition of table %q has no statement that makes it", name)
	case isOwn && !strings.EqualFold(name, d.Name) && !strings.EqualFold(name, "main."+d.Name):
		return fmt.Errorf("sqlite: a table that is made keeps its name, which is %q, not %q", d.Name, name)
	}
	found, err := t.db.textRows(t.ctx, tablesSQL+" AND name = ? COLLATE NOCASE", d.Name)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		t.name = found[0][0]
		return t.fillExisting()
	}
	if !isOwn {
		d, t.omitted, err = dialect.Translate(d, source.SQLite, t.filling.Related)
	} else if d, err = t.filling.WithoutMissing(t.db.hasTable(t.ctx)); err == nil {
		t.omitted = d.Lacks
		d, err = retyped(d)
	}
	if err != nil {
		return err
	}
	t.filling.Create = d
	t.name = d.Name
	return sink.CheckStatements(d)
}

// hasTable returns what reports whether there is a table.
func (db *DB) hasTable(ctx context.Context) func(schema, table string) (bool, error) {
	return func(_, table string) (bool, error) {
		found, err := db.textRows(ctx, tablesSQL+" AND name = ? COLLATE NOCASE", table)
		return len(found) > 0, err
	}
}

// fillExisting has a table that exists be filled in place of one that is to be made.
func (t *table) fillExisting() error {
	f := t.filling
	t.filling.Create = nil
	t.sql = "main." + sqlite3.QuoteIdentifier(t.name)
	target, err := t.target()
	if err != nil {
		return err
	}
	return target.CheckExisting(f, t)
}

// after are the statements that complete a table that has its rows.
func (t *table) after() (steps []string) {
	d := t.filling.Create
	if d == nil {
		return t.restore
	}
	for _, index := range d.Indexes {
		steps = append(steps, index.Definition)
		if sink.MakesVirtualTable(index.Definition) { // an index of texts, which is filled from the rows of the table
			name := sqlite3.QuoteIdentifier(index.Name)
			steps = append(steps, "INSERT INTO main."+name+" ("+name+") VALUES ('rebuild')")
		}
	}
	for _, s := range d.Sequences {
		if s.Last == nil {
			continue
		}
		name, last := sqlite3.Quote(t.name), strconv.FormatInt(*s.Last, 10)
		steps = append(steps,
			"UPDATE main.sqlite_sequence SET seq = max(seq, "+last+") WHERE name = "+name,
			"INSERT INTO main.sqlite_sequence (name, seq) SELECT "+name+", "+last+
				" WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_sequence WHERE name = "+name+")")
	}
	return append(steps, d.After...)
}

// run runs a single statement, which cannot have a second one in it.
func (db *DB) run(ctx context.Context, sql string) error {
	stmt, rest, err := db.conn.Prepare(sql)
	if err != nil {
		return db.fail(ctx, err)
	}
	defer finish(stmt)
	if stmt == nil || strings.TrimSpace(rest) != "" {
		return fmt.Errorf("sqlite: this is not a single statement: %s", sink.Shorten(sql))
	}
	if err := stmt.Exec(); err != nil {
		return db.fail(ctx, err)
	}
	return nil
}

// runAll runs the statements that make a table, or complete it.
func (t *table) runAll(steps []string) error {
	for _, step := range steps {
		if err := t.db.run(t.ctx, step); err != nil {
			return err
		}
	}
	return nil
}
