package fill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/postgres/internal/sqltext"
	"culvert/sink"
	"culvert/sink/dialect"
	"culvert/source"
)

var _ sink.Creator = (*DB)(nil)

// firstSchemaSQL returns the schema of the search path $1 in which a table is made, or "".
const firstSchemaSQL = `
SELECT coalesce((SELECT n::text FROM unnest($1::name[]) WITH ORDINALITY AS u(n, i)
WHERE NOT pg_catalog.starts_with(n::text, 'pg_') ORDER BY i LIMIT 1), '')`

// named returns the definition of a table of another system with its name here.
func (s *session) named(ctx context.Context, name string, d *source.Definition) (_ *source.Definition, err error) {
	named := *d
	named.Name = dialect.TableName(d, name)
	named.Schema = ""
	if schema, table, is := strings.Cut(named.Name, "."); is && named.Name != d.Name {
		named.Schema, named.Name = schema, table
	}
	if named.Schema == "" {
		if named.Schema, err = s.one(ctx, firstSchemaSQL, s.schemas); err != nil {
			return nil, s.failed(ctx, "looking for the schema", err)
		}
		if named.Schema == "" {
			return nil, fmt.Errorf("postgres: table %q: no schema of the search path exists", name)
		}
	}
	return &named, nil
}

// translate translates a definition of another system that has its name and schema here.
func translate(named *source.Definition, f sink.Filling) (*source.Definition, []string, error) {
	there := *named
	there.Schema = f.Create.Schema
	return dialect.TranslateInto(named.Schema, &there, source.PostgreSQL, f.Related)
}

// findNew plans a table that is to be made. If there is one of its name, which is empty and fits, or of which the
// ledger has parts, that one is filled.
func (s *session) findNew(ctx context.Context, name string, p *plan) (err error) {
	d, left := p.Create, p.Create.Lacks
	isOwn := d.Dialect == source.PostgreSQL
	var untranslated error
	switch {
	case isOwn && d.Schema == "": // it is that of a file
		if d, err = s.named(ctx, name, d); err != nil {
			return err
		}
		p.Create = d
	case !isOwn:
		f := p.Filling
		if d, err = s.named(ctx, name, d); err != nil {
			return err
		}
		name = d.Schema + "." + d.Name
		for _, part := range []string{d.Schema, d.Name} {
			if err := dialect.CheckTable(source.PostgreSQL, part); err != nil {
				return fmt.Errorf("postgres: %w", err)
			}
		}
		if made, omitted, err := translate(d, f); err == nil {
			d, left = made, omitted
		} else {
			untranslated = err
		}
	}
	if p.target, err = made(name, d); err != nil {
		return err
	}
	if isOwn {
		if d, err = s.withoutMissing(ctx, p.Filling); err != nil {
			return err
		}
	}
	exists, err := s.knows(ctx, p.target.sql)
	switch {
	case err != nil:
	case exists:
		if isOwn {
			p.omitted = d.Lacks[len(left):] // keys that Finish does not add
		}
		err = s.findExisting(ctx, p)
	case isOwn:
		p.omitted = d.Lacks
		err = sink.CheckStatements(d)
	default:
		p.Create, p.omitted, err = d, left, untranslated
	}
	if untranslated == nil {
		p.later = sink.Later(d)
	}
	return err
}

// withoutMissing returns the definition of a table of this system without the keys that refer to no table.
func (s *session) withoutMissing(ctx context.Context, f sink.Filling) (*source.Definition, error) {
	return f.WithoutMissing(func(schema, table string) (bool, error) {
		return s.knows(ctx, sqltext.Quote(cmp.Or(schema, f.Create.Schema))+"."+sqltext.Quote(table))
	})
}

// findExisting has a table that exists be filled in place of one that is to be made.
func (s *session) findExisting(ctx context.Context, p *plan) (err error) {
	f, sql := p.Filling, p.target.sql
	p.Create = nil
	if p.target, err = s.findTarget(ctx, sql); err != nil {
		if isUnknown(err) { // it is an index, or a sequence
			return fmt.Errorf("postgres: table %s: %w, and is none", sql, sink.ErrExists)
		}
		return err
	}
	if err := s.check(ctx, p.target); err != nil {
		return err
	}
	return p.target.describe().CheckExisting(f, content{s, ctx, f.Ledger, p.target, f.OwnRows})
}

func isUnknown(err error) bool {
	_, is := errors.AsType[*source.UnknownError](err)
	return is
}

// made returns the target of a table that is to be made. Its name must be that of the definition, which other
// statements of the definition contain.
func made(name string, d *source.Definition) (*target, error) {
	if d.Schema == "" || d.Name == "" {
		return nil, fmt.Errorf("postgres: table %q: the definition has no name", name)
	}
	t := &target{sql: sqltext.Quote(d.Schema) + "." + sqltext.Quote(d.Name), kind: "r", copied: d.Name, rows: "0"}
	if !slices.Contains([]string{d.Name, d.Schema + "." + d.Name, t.sql, sqltext.Quote(d.Name)}, name) {
		return nil, fmt.Errorf("postgres: a table that is made keeps its name, which is %s, not %q", t.sql, name)
	}
	for _, c := range d.Columns {
		column := source.Column{Name: c.Name, Type: cmp.Or(c.As, c.Type)}
		t.all = append(t.all, sink.TableColumn{Column: column, Computed: c.Generated != ""})
	}
	return t, nil
}

// beforeSQL are the statements that make a table without what would slow the rows down.
func beforeSQL(t *target, d *source.Definition) ([]string, error) {
	var statements []string
	identity := map[string]source.Sequence{}
	for _, s := range d.Sequences {
		i := slices.IndexFunc(d.Columns, func(c source.ColumnDefinition) bool { return c.Name == s.Column })
		switch {
		case i >= 0 && d.Columns[i].Identity != "":
			identity[s.Column] = s
		case s.Name != "":
			statements = append(statements, "CREATE SEQUENCE "+s.Name+" AS "+s.Type+" "+s.Options)
		}
	}
	var columns []string
	for _, c := range d.Columns {
		sql, err := columnSQL(c, identity[c.Name])
		if err != nil {
			return nil, fmt.Errorf("postgres: table %s: %w", t.sql, err)
		}
		columns = append(columns, sql)
	}
	statements = append(statements, "CREATE TABLE "+t.sql+" ("+strings.Join(columns, ", ")+")")
	for _, s := range d.Sequences {
		if _, is := identity[s.Column]; !is && s.Name != "" {
			statements = append(statements, "ALTER SEQUENCE "+s.Name+" OWNED BY "+t.sql+"."+sqltext.Quote(s.Column))
		}
	}
	valid, _ := checksOf(d)
	return append(statements, constraintsSQL(t, valid, source.Check)...), nil
}

// columnSQL is a column in CREATE TABLE.
func columnSQL(c source.ColumnDefinition, s source.Sequence) (string, error) {
	made := cmp.Or(c.As, c.Type)
	if made == "" {
		return "", fmt.Errorf("column %q has no type", c.Name)
	}
	sql := sqltext.Quote(c.Name) + " " + made
	if c.Collation != "" && c.As == "" {
		sql += " COLLATE " + c.Collation
	}
	switch {
	case c.Generated != "":
		if c.Expression == "" {
			return "", fmt.Errorf("column %q is generated, but its expression is not known", c.Name)
		}
		sql += " GENERATED ALWAYS AS (" + c.Expression + ") " + strings.ToUpper(c.Generated)
	case c.Identity != "":
		sql += " GENERATED " + strings.ToUpper(c.Identity) + " AS IDENTITY"
		if s.Name != "" {
			sql += " (SEQUENCE NAME " + s.Name + " " + s.Options + ")"
		}
	case c.Default != "":
		sql += " DEFAULT " + c.Default
	}
	if c.NotNull {
		sql += " NOT NULL"
	}
	return sql, nil
}

// constraintsSQL are the statements that add the constraints of some kinds.
func constraintsSQL(t *target, d *source.Definition, kinds ...source.ConstraintKind) []string {
	var statements []string
	for _, c := range d.Constraints {
		if !slices.Contains(kinds, c.Kind) {
			continue
		}
		sql := "ALTER TABLE " + t.sql + " ADD "
		if c.Name != "" {
			sql += "CONSTRAINT " + sqltext.Quote(c.Name) + " "
		}
		statements = append(statements, sql+c.Definition)
	}
	return statements
}

// checksOf returns a definition with the checks that every row fulfils, and one with those that only new rows have to.
func checksOf(d *source.Definition) (valid, unproved *source.Definition) {
	valid, unproved = &source.Definition{}, &source.Definition{}
	for _, c := range d.Constraints {
		to := valid
		if strings.HasSuffix(c.Definition, " NOT VALID") || strings.HasSuffix(c.Definition, " NOT ENFORCED") {
			to = unproved
		}
		to.Constraints = append(to.Constraints, c)
	}
	return valid, unproved
}

// afterSQL are the statements that complete a table that has its rows.
func afterSQL(t *target, d *source.Definition) []string {
	_, unproved := checksOf(d)
	statements := constraintsSQL(t, unproved, source.Check)
	statements = append(statements, constraintsSQL(t, d, source.PrimaryKey, source.Unique, source.Exclude)...)
	for _, index := range d.Indexes {
		statements = append(statements, index.Definition)
	}
	for _, s := range d.Sequences {
		switch {
		case s.Name == "":
			statements = append(statements, numberedSQL(t, s))
		case s.Last != nil:
			statements = append(statements,
				"SELECT pg_catalog.setval("+sqltext.Literal(s.Name)+", "+strconv.FormatInt(*s.Last, 10)+")")
		case s.Next != nil:
			statements = append(statements,
				"SELECT pg_catalog.setval("+sqltext.Literal(s.Name)+", "+strconv.FormatInt(*s.Next, 10)+", false)")
		}
	}
	if d.Comment != "" {
		statements = append(statements, "COMMENT ON TABLE "+t.sql+" IS "+sqltext.Literal(d.Comment))
	}
	for _, c := range d.Columns {
		if c.Comment != "" {
			statements = append(statements,
				"COMMENT ON COLUMN "+t.sql+"."+sqltext.Quote(c.Name)+" IS "+sqltext.Literal(c.Comment))
		}
	}
	return append(statements, d.After...)
}

// numberedSQL continues the numbers of a column whose sequence the server has named.
func numberedSQL(t *target, s source.Sequence) string {
	last := "pg_catalog.max(" + sqltext.Quote(s.Column) + ")"
	if s.Last != nil {
		last = "greatest(" + last + ", " + strconv.FormatInt(*s.Last, 10) + ")"
	}
	return "SELECT pg_catalog.setval(pg_catalog.pg_get_serial_sequence(" + sqltext.Literal(t.sql) + ", " +
		sqltext.Literal(s.Column) + "), " + last + ") FROM " + t.sql + " HAVING " + last + " > 0"
}

// runAll runs statements one by one. None can have a second one in it. If rows violate a constraint that is added, the
// error is that of a row.
func (s *session) runAll(ctx context.Context, t *target, statements []string) error {
	for _, sql := range statements {
		if err := s.params(ctx, sql).Err; err != nil {
			if row := s.rowFailed(ctx, t, err); isViolation(row) {
				return row
			}
			return s.failed(ctx, "making table "+t.sql+": "+sink.Shorten(sql), err)
		}
	}
	return nil
}

// needing marks the error of a statement that needs what does not exist as [sink.ErrNeeds].
func needing(err error) error {
	code := ""
	if refused, is := errors.AsType[*pgconn.PgError](err); is {
		code = refused.Code
	} else if redacted, is := errors.AsType[*redactedError](err); is {
		code = redacted.code
	}
	if slices.Contains([]string{codeUndefinedTable, codeUndefinedObject, codeUndefinedFunction}, code) {
		return needsError{err}
	}
	return err
}

type needsError struct{ error }

func (e needsError) Unwrap() []error { return []error{sink.ErrNeeds, e.error} }

// isViolation reports whether a row violates a constraint.
func isViolation(err error) bool {
	row, is := errors.AsType[*sink.RowError](err)
	return is && strings.HasPrefix(row.Code, "23")
}

// create makes the table in the transaction that fills it.
func (t *table) create(s *session) error {
	before, err := beforeSQL(t.target, t.Create)
	if err != nil {
		return err
	}
	if err := s.runAll(t.ctx, t.target, before); err != nil {
		return needing(err)
	}
	t.target.oid, err = s.one(t.ctx, "SELECT pg_catalog.to_regclass($1::text)::oid", t.target.sql)
	if err != nil {
		return s.failed(t.ctx, "making table "+t.target.sql, err)
	}
	t.whole = true
	if err := s.check(t.ctx, t.target); err != nil {
		return err
	}
	// The ledger may still have parts of a table that was dropped.
	if err := s.forget(t.ctx, t.Ledger, t.target); err != nil {
		return err
	}
	return t.choose() // with the types as the server names them
}

// makeSchema makes the schema of a table in a transaction of its own, unless it is there.
func (db *DB) makeSchema(ctx context.Context, f sink.Filling) error {
	s := db.session
	exists, err := s.one(ctx, "SELECT pg_catalog.count(*) FROM pg_catalog.pg_namespace WHERE nspname = $1::text",
		f.Create.Schema)
	if err != nil || exists != "0" {
		return s.failed(ctx, "looking for the schema", err)
	}
	sql := "SELECT pg_catalog.pg_advisory_xact_lock(" + ledgerLock + ");\nCREATE SCHEMA IF NOT EXISTS " +
		sqltext.Quote(f.Create.Schema)
	if err := s.exec(ctx, sql); err != nil {
		return s.failed(ctx, "making the schema "+sqltext.Quote(f.Create.Schema), err)
	}
	if err := s.commit(ctx, db.config); err != nil {
		return err
	}
	return db.begin(ctx, f)
}

// foreignKeysSQL returns the foreign keys of the table $1, by their names, and the columns of each.
const foreignKeysSQL = `
SELECT conname, (
	SELECT pg_catalog.string_agg('"' || pg_catalog.replace(a.attname, '"', '""') || '"', ', ' ORDER BY k.i)
	FROM pg_catalog.unnest(c.conkey) WITH ORDINALITY AS k(n, i)
	JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = k.n)
FROM pg_catalog.pg_constraint AS c
WHERE c.conrelid = pg_catalog.to_regclass($1::text) AND c.contype = 'f'`

// quoteAll writes names as foreignKeysSQL does.
func quoteAll(names []string) string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = sqltext.Quote(name)
	}
	return strings.Join(all, ", ")
}

// Finish adds the foreign keys of a table, in a transaction of its own.
func (db *DB) Finish(ctx context.Context, name string, f sink.Filling) error {
	d := f.Create
	if len(sink.Later(d)) == 0 {
		return nil
	}
	if err := db.begin(ctx, f); err != nil {
		return err
	}
	defer db.session.rollback()
	if d.Dialect == source.PostgreSQL {
		without, err := db.session.withoutMissing(ctx, f)
		if err != nil {
			return err
		}
		d = without
	} else {
		named, err := db.session.named(ctx, name, d)
		if err != nil {
			return err
		}
		if d, _, err = translate(named, f); err != nil {
			return nil // it was filled as it was there, and gets no keys
		}
		name = named.Schema + "." + named.Name
	}
	t, err := made(name, d)
	if err != nil {
		return err
	}
	found, err := db.session.query(ctx, 2, foreignKeysSQL, t.sql)
	if err != nil {
		return db.session.failed(ctx, "reading the foreign keys of table "+t.sql, err)
	}
	missing := *d
	missing.Constraints = slices.DeleteFunc(slices.Clone(d.Constraints), func(c source.Constraint) bool {
		return slices.ContainsFunc(found, func(row [][]byte) bool {
			// In another system, the same key has another name.
			return string(row[0]) == c.Name ||
				f.Create.Dialect != source.PostgreSQL && string(row[1]) == quoteAll(c.Columns)
		})
	})
	if err := db.session.runAll(ctx, t, constraintsSQL(t, &missing, source.ForeignKey)); err != nil {
		return err
	}
	return db.session.commit(ctx, db.config)
}
