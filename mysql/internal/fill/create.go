package fill

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/sink"
	"culvert/sink/dialect"
	"culvert/source"
)

var _ sink.Creator = (*DB)(nil)

func (db *DB) dialect() source.Dialect {
	if db.conn.IsMariaDB {
		return source.MariaDB
	}
	return source.MySQL
}

// isOwn reports whether a definition is of this system.
func isOwn(d *source.Definition) bool {
	return d.Dialect == source.MySQL || d.Dialect == source.MariaDB
}

// newName returns the name of a table that is made: in the opened database, if one is.
func (db *DB) newName(d *source.Definition, name string) string {
	name = dialect.TableName(d, name)
	if name == d.Name && db.conn.Database == "" {
		return d.Schema + "." + d.Name
	}
	return name
}

// planNew plans a table that is to be made, or one that exists and is filled in its place.
func (db *DB) planNew(ctx context.Context, p *plan, name string) error {
	d := p.Create
	name = db.newName(d, name)
	found, is, err := catalog.Lookup(ctx, db.conn, name)
	if err != nil {
		return db.failed(ctx, "looking for the table", err)
	}
	if is {
		p.target = found
		return db.fillExisting(ctx, p, name)
	}
	p.target = catalog.Table{Database: db.conn.Database, Name: name, Base: true}
	if schema, table, is := strings.Cut(name, "."); is && name != d.Name {
		p.target.Database, p.target.Name = schema, table
	}
	if p.Create, p.omitted, err = db.translate(ctx, p.target.Database, name, p.Filling); err != nil {
		return err
	}
	if p.Create, err = retyped(p.Create); err != nil {
		return err
	}
	p.later = sink.Later(p.Create)
	if p.target.Database == "" {
		return fmt.Errorf("mysql: table %q is to be made, but no database is opened", name)
	}
	if err := dialect.CheckTable(db.dialect(), p.target.Name); err != nil {
		return fmt.Errorf("mysql: %w", err)
	}
	var all []catalog.Column
	for _, c := range p.Create.Columns {
		all = append(all, catalog.Column{
			Column: source.Column{Name: c.Name, Type: c.Type}, Generated: c.Generated != "",
		})
	}
	if p.columns, err = chosen(p.target, all, p.Filling); err != nil {
		return err
	}
	left, err := p.withoutSequences()
	if err != nil {
		return err
	}
	engine, err := db.chooseEngine(ctx, p)
	if err != nil {
		return err
	}
	p.omitted = slices.Concat(p.omitted, left, engine)
	p.createSQL, err = createSQL(p.target, p.Create)
	return err
}

// translate returns the definition of a table that is made in a database under a name, without the keys that refer to
// no table, and what it lacks. One of this system keeps the name that is in its statement.
func (db *DB) translate(
	ctx context.Context, database, name string, f sink.Filling,
) (*source.Definition, []string, error) {
	if !isOwn(f.Create) {
		named := *f.Create
		named.Name = name
		return dialect.Translate(&named, db.dialect(), f.Related)
	}
	d, err := f.WithoutMissing(func(schema, table string) (bool, error) {
		_, is, err := catalog.Lookup(ctx, db.conn, catalog.Table{Database: cmp.Or(schema, database), Name: table}.SQL())
		if err != nil {
			err = db.failed(ctx, "looking for the table "+catalog.Quote(table), err)
		}
		return is, err
	})
	if err != nil {
		return nil, nil, err
	}
	return d, d.Lacks, nil
}

// drawn matches a default that draws from a sequence, which MariaDB names with its database.
var drawn = lazyregexp.New("^[^']*\\b(?:next|last|set)val\\(`")

// withoutSequences leaves out the defaults that draw from sequences that are not provided. Sequences are not made with
// a table, and those of the database where it comes from must not be drawn from here.
func (p *plan) withoutSequences() (left []string, err error) {
	d := *p.Create
	d.Columns = slices.Clone(d.Columns)
	for i, c := range d.Columns {
		if !drawn.MatchString(c.Default) {
			continue
		}
		before, line, found := strings.Cut(d.Create, "\n  "+catalog.Quote(c.Name)+" ")
		clause := " DEFAULT " + c.Default
		if !found || !strings.Contains(line, clause) {
			return nil, fmt.Errorf("mysql: the default of column %q is not in the statement that makes %s", c.Name,
				p.target)
		}
		here, provided := p.drawsFromProvided(c.Default)
		clauseHere := " DEFAULT " + here
		if !provided {
			clauseHere = ""
			left = append(left, fmt.Sprintf("the default %s of column %q", c.Default, c.Name))
		}
		d.Create = before + "\n  " + catalog.Quote(c.Name) + " " + strings.Replace(line, clause, clauseHere, 1)
		d.Columns[i].Default = here
	}
	p.Create = &d
	return left, nil
}

// fillExisting has a table that exists be filled in place of one that is to be made.
func (db *DB) fillExisting(ctx context.Context, p *plan, name string) error {
	f := p.Filling
	p.Create = nil
	switch made, lacks, err := db.translate(ctx, p.target.Database, name, f); {
	case err == nil && isOwn(f.Create):
		p.later, p.omitted = sink.Later(made), lacks[len(f.Create.Lacks):] // keys that Finish does not add
	case err == nil:
		p.later = sink.Later(made)
	case isOwn(f.Create):
		return err
	}
	if err := db.readLedger(ctx, p); err != nil {
		return err
	}
	if !p.target.Base {
		return fmt.Errorf("mysql: %s: %w, and is a view", p.target, sink.ErrExists)
	}
	found, err := db.conn.Query(ctx, 1, "SELECT 1 FROM "+p.target.SQL()+" LIMIT 1")
	if err != nil {
		return db.failed(ctx, p.target.String(), err)
	}
	p.rows = int64(len(found))
	all, err := catalog.Columns(ctx, db.conn, p.target)
	if err != nil {
		return db.failed(ctx, p.target.String(), err)
	}
	return describe(p.target, all).CheckExisting(f, content{db, ctx, p})
}

// createSQL returns the statement that makes a table, without its foreign keys.
func createSQL(t catalog.Table, d *source.Definition) (string, error) {
	rest, found := strings.CutPrefix(d.Create, "CREATE TABLE "+catalog.Quote(d.Name)+" (")
	if !found {
		return "", fmt.Errorf("mysql: the definition of %s has no statement that makes it", t)
	}
	for _, c := range d.Constraints {
		if c.Kind != source.ForeignKey {
			continue
		}
		if rest, found = cut(rest, ",\n  "+foreignKey(c)); !found {
			return "", fmt.Errorf("mysql: the foreign key %q of %s is not in the statement that makes it", c.Name, t)
		}
	}
	return "CREATE TABLE " + t.SQL() + " (" + rest, nil
}

// cut removes the first occurrence of a clause from a text.
func cut(text, clause string) (string, bool) {
	before, after, found := strings.Cut(text, clause)
	return before + after, found
}

func foreignKey(c source.Constraint) string {
	return "CONSTRAINT " + catalog.Quote(c.Name) + " " + c.Definition
}

// makeAnew makes the table, and before that forgets what the ledger has of a former one. That is committed at once: if
// this process were killed and the ledger still had them, the next load would leave out rows of the new table.
func (t *table) makeAnew() error {
	if len(t.recorded) > 0 {
		_, is, err := catalog.Lookup(t.ctx, t.db.conn, t.target.SQL())
		switch {
		case err != nil:
			return t.db.failed(t.ctx, "looking for the table", err)
		case is:
			return fmt.Errorf("mysql: %s: %w", t.target, sink.ErrExists) // another load has made it meanwhile
		}
		if err := t.db.forget(t.ctx, t.plan); err != nil {
			return err
		}
	}
	t.loaded, t.recorded, t.clear = nil, nil, true
	return t.make()
}

// make makes the table. The server commits that at once, so an error or Discard drops the table again.
func (t *table) make() error {
	if err := t.db.conn.Exec(t.ctx, t.createSQL); err != nil {
		if refused := wire.Refused(err); refused != nil && refused.Number == codeTableExists {
			return fmt.Errorf("mysql: %s: %w", t.target, sink.ErrExists)
		}
		return t.db.failed(t.ctx, "making "+t.target.String(), err)
	}
	t.made = true
	if isRetyped(t.Create) { // what the server calls these types decides which values the columns keep
		columns, err := t.db.choose(t.ctx, t.target, t.Filling)
		if err != nil {
			return err
		}
		t.columns = columns
	}
	if t.engined {
		return nil
	}
	return t.db.checkEngine(t.ctx, t.target)
}

// drop removes the table that was made, if it is not known to have rows that are committed. If the connection is gone,
// another one does it.
func (t *table) drop() error {
	if !t.made {
		return nil
	}
	t.made = false
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	conn := t.db.conn
	if conn.Gone {
		var err error
		if conn, err = t.db.conn.After(ctx); err != nil {
			return fmt.Errorf("mysql: %s was made, and remains without rows: %w", t.target, err)
		}
		defer conn.Close()
	}
	if err := conn.Exec(ctx, "DROP TABLE "+t.target.SQL()); err != nil {
		return fmt.Errorf("mysql: %s was made, and remains without rows: %w", t.target, err)
	}
	return nil
}

// Finish adds the foreign keys of a table that was made.
func (db *DB) Finish(ctx context.Context, name string, f sink.Filling) error {
	if len(sink.Later(f.Create)) == 0 {
		return nil
	}
	if err := db.ready(ctx, f); err != nil {
		return err
	}
	name = db.newName(f.Create, name)
	t, err := db.find(ctx, name)
	if err != nil {
		return err
	}
	d, _, err := db.translate(ctx, t.Database, name, f)
	if err != nil && isOwn(f.Create) {
		return err
	}
	if err != nil {
		return nil // it was filled as it was there, and gets no keys
	}
	found, err := db.conn.Query(ctx, 2, `SELECT CONSTRAINT_NAME, COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND REFERENCED_TABLE_NAME IS NOT NULL ORDER BY ORDINAL_POSITION`,
		t.Database, t.Name)
	if err != nil {
		return db.failed(ctx, t.String(), err)
	}
	has := map[string][]string{} // the columns of each foreign key
	for _, row := range found {
		has[row[0]] = append(has[row[0]], row[1])
	}
	for _, c := range d.Constraints {
		// In another system, the same key has another name.
		isThere := has[c.Name] != nil || !isOwn(f.Create) && slices.ContainsFunc(
			slices.Collect(maps.Values(has)), func(columns []string) bool { return slices.Equal(columns, c.Columns) })
		if c.Kind != source.ForeignKey || isThere {
			continue
		}
		if err := db.conn.Exec(ctx, "ALTER TABLE "+t.SQL()+" ADD "+foreignKey(c)); err != nil {
			return db.failed(ctx, t.String(), err)
		}
	}
	return nil
}
