package dialect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"culvert/internal/lazyregexp"
	"culvert/sink"
	"culvert/source"
)

// Translate returns the definition of an equal table in another system, with the same schema and name, and what is left
// out, by name. None of its statements has SQL of the original one. A definition of the same system, or of MySQL for
// MariaDB, is returned as it is, and left out is what it lacks. The error is a [*TypeError] if a column has a
// type without an equal, and a [*NameError] if it cannot have its name.
//
// Foreign keys refer to the related tables, as [sink.Filling] has them.
func Translate(
	d *source.Definition, to source.Dialect, related map[sink.TableName]sink.Related,
) (*source.Definition, []string, error) {
	return TranslateInto(d.Schema, d, to, related)
}

// TranslateInto is Translate for a table that is made in another schema than its own.
func TranslateInto(
	schema string, d *source.Definition, to source.Dialect, related map[sink.TableName]sink.Related,
) (*source.Definition, []string, error) {
	if d.Dialect.Family() == to.Family() {
		return d, d.Lacks, nil
	}
	if types[d.Dialect.Family()] == nil || types[to.Family()] == nil {
		return nil, nil, fmt.Errorf("dialect: a table of %s cannot be made in %s: %w", Name(d.Dialect), Name(to),
			errors.ErrUnsupported)
	}
	t := &translation{
		from: d, to: to, related: related,
		result: &source.Definition{Dialect: to, Schema: schema, Name: d.Name},
	}
	if to.Family() == source.MySQL {
		t.short = t.shortTexts()
	}
	narrow := t.narrowed()
	for _, c := range d.Columns {
		if narrow[c.Name] {
			c.Type = "bigint"
		}
		if err := t.column(c); err != nil {
			return nil, nil, err
		}
	}
	if len(t.result.Columns) == 0 {
		return nil, nil, fmt.Errorf("dialect: table %q has no columns that take values", d.Name)
	}
	if err := t.checkColumns(); err != nil {
		return nil, nil, err
	}
	for _, c := range d.Constraints {
		if err := t.constraint(c); err != nil {
			return nil, nil, err
		}
	}
	for _, index := range d.Indexes {
		t.index(index)
	}
	t.numbering()
	t.rest()
	t.triggers()
	switch to.Family() {
	case source.SQLite:
		t.result.Create = t.sqlite()
	case source.MySQL:
		t.withoutChecks()
		t.result.Create = t.mysql()
	}
	return t.result, t.leftOut, nil
}

// TableName returns the name of a table that is made under a name: if that is the name of the definition, with its
// schema or without, it is the same without the schema, since other systems have other ones.
func TableName(d *source.Definition, name string) string {
	if name == d.Schema+"."+d.Name {
		return d.Name
	}
	return name
}

// translation is a definition that is being translated.
type translation struct {
	from, result *source.Definition
	to           source.Dialect
	leftOut      []string
	related      map[sink.TableName]sink.Related
	short        map[string]int      // columns that get a limit, in characters
	checked      map[string][]string // the columns of each check
	updated      []updated
}

func (t *translation) leave(format string, args ...any) {
	t.leftOut = append(t.leftOut, fmt.Sprintf(format, args...))
}

// numbers reports whether the database numbers the rows in a column.
func (t *translation) numbers(c source.ColumnDefinition) bool {
	return c.Identity != "" || strings.HasPrefix(c.Default, "nextval(") &&
		slices.ContainsFunc(t.from.Sequences, func(s source.Sequence) bool { return s.Column == c.Name })
}

func (t *translation) column(c source.ColumnDefinition) error {
	if c.Generated != "" {
		t.leave("the generated column %q", c.Name)
		return nil
	}
	name, found := t.typeOf(c)
	if !found {
		return &TypeError{Table: t.from.Name, Column: c.Name, Type: c.Type, To: t.to}
	}
	if t.wasInstant(c) {
		name = "timestamp(6)"
	}
	if characters := t.short[c.Name]; characters > 0 && c.As == "" {
		name = fmt.Sprintf("varchar(%d)", characters)
	}
	made := source.ColumnDefinition{Name: c.Name, Type: name, NotNull: c.NotNull, As: c.As}
	made.Collation = t.collation(c, name)
	t.leaveCollation(c, made.Collation)
	switch {
	case c.Comment == "":
	case t.takesComment(c.Comment, mostOfColumn):
		made.Comment = c.Comment
	default:
		t.leave("the comment of column %q", c.Name)
	}
	switch {
	case t.numbers(c):
		made.Identity = source.ByDefault
	case c.Default != "":
		value, plain := t.literal(c)
		sql, fits := value.sql(t.to, name)
		now, isNow := t.now(c, name)
		switch {
		case plain && fits:
			made.Default = sql
		case isNow:
			made.Default = now
		case !plain || value.kind != null:
			t.leave("the default %s of column %q", c.Default, c.Name)
		}
	}
	t.result.Columns = append(t.result.Columns, made)
	t.checksOf(c, name)
	return nil
}

func (t *translation) constraint(c source.Constraint) error {
	named := fmt.Sprintf("the %s", c.Kind)
	if c.Name != "" {
		named += fmt.Sprintf(" %q", c.Name)
	}
	switch c.Kind {
	case source.ForeignKey:
		t.foreignKey(c, named)
		return nil
	case source.Check:
		if t.check(c.Name, c.Definition) {
			return nil
		}
	}
	if c.Kind != source.PrimaryKey && c.Kind != source.Unique || !t.has(c.Columns) {
		if len(c.Columns) > 0 && c.Name == "" {
			named += " of " + quoted(t.to, c.Columns)
		}
		t.leave("%s", named)
		return nil
	}
	if long := t.unindexed(c); long != nil {
		if c.Kind == source.PrimaryKey {
			return fmt.Errorf("dialect: column %q of table %q has type %s, which a primary key of %s cannot have: %w",
				long.Name, t.from.Name, long.Type, Name(t.to), errors.ErrUnsupported)
		}
		t.leave("%s", named)
		return nil
	}
	if options := keyOptions(c.Definition); options != "" {
		t.leave("%s of %s", sink.Shorten(options), named)
	}
	made := source.Constraint{Kind: c.Kind, Columns: c.Columns}
	made.Definition = strings.ToUpper(string(c.Kind)) + " (" + quoted(t.to, c.Columns) + ")"
	t.result.Constraints = append(t.result.Constraints, made)
	t.fold(c.Columns)
	return nil
}

// keyWords are what precedes the columns of a key. MySQL prints a name there.
var keyWords = lazyregexp.New("^(?:PRIMARY KEY|UNIQUE(?: KEY `(?:[^`]|``)*`)?) ")

// keyOptions returns what the definition of a primary or unique key has besides its columns, such as DEFERRABLE.
func keyOptions(definition string) string {
	depth, quoted := 0, byte(0)
	rest := keyWords.ReplaceAllString(definition, "")
	for i := range len(rest) {
		switch c := rest[i]; {
		case quoted != 0:
			if c == quoted {
				quoted = 0 // a doubled one begins another quoted name at once
			}
		case c == '"' || c == '`':
			quoted = c
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 && strings.HasPrefix(rest, "(") {
				return strings.TrimSpace(rest[i+1:])
			}
		}
	}
	return rest // what precedes the columns, too
}

// has reports whether the table has all columns of a list, and the list has any.
func (t *translation) has(columns []string) bool {
	return len(columns) > 0 && !slices.ContainsFunc(columns, func(name string) bool { return t.find(name) == nil })
}

func (t *translation) find(name string) *source.ColumnDefinition {
	i := slices.IndexFunc(t.result.Columns, func(c source.ColumnDefinition) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &t.result.Columns[i]
}

// unindexed returns a column that makes a key of MySQL too long, or nil. MariaDB has unique keys of long texts.
func (t *translation) unindexed(c source.Constraint) *source.ColumnDefinition {
	if t.to.Family() != source.MySQL || t.to == source.MariaDB && c.Kind == source.Unique {
		return nil
	}
	chars := 0
	for _, name := range c.Columns {
		column := t.find(name)
		if chars += charsInKey(column.Type); chars > mostOfKey {
			return column
		}
	}
	return nil
}

// isLong reports whether a type of MySQL has no limited size.
func isLong(name string) bool { return strings.HasPrefix(name, "long") || name == "json" }

// ordinary matches the definition of an index that is equal to one of other systems.
var ordinary = map[source.Dialect]*lazyregexp.Regexp{
	source.PostgreSQL: lazyregexp.New(` USING btree \((?:[^()])*\)$`),
	source.MySQL:      lazyregexp.New(`^KEY .*\)$`),
	source.SQLite:     lazyregexp.New(`(?i)^CREATE[^()]*\([^()]*\)$`),
}

// collated matches the definition of an index that compares otherwise than its columns.
var collated = lazyregexp.New(`(?i)\([^()]*\bCOLLATE\b`)

// isOrdinary reports whether an index has whole columns, all rows, and the collations of its columns. Those of MySQL
// have no collations of their own.
func (t *translation) isOrdinary(i source.Index) bool {
	system := t.from.Dialect.Family()
	return t.has(i.Columns) && ordinary[system].MatchString(i.Definition) &&
		(system == source.MySQL || !collated.MatchString(i.Definition))
}

func (t *translation) index(i source.Index) {
	ok := t.isOrdinary(i)
	made := source.Index{Name: i.Name, Unique: i.Unique, Columns: i.Columns}
	columns := " (" + quoted(t.to, i.Columns) + ")"
	if ok && t.to.Family() == source.MySQL {
		sql, isWhole, fits := t.keyColumns(i.Columns)
		if ok = fits && (isWhole || !i.Unique); !isWhole {
			made.Columns, columns = nil, " ("+sql+")"
		}
	}
	if !ok {
		t.leave("the index %q", i.Name)
		return
	}
	unique := ""
	if i.Unique {
		unique = "UNIQUE "
	}
	table := t.table()
	switch t.to.Family() {
	case source.PostgreSQL: // which finds a name that is free in the schema
		made.Name = ""
		made.Definition = "CREATE " + unique + "INDEX ON " + table + columns
	case source.MySQL:
		made.Definition = unique + "KEY" + columns
		if made.Name = t.indexName(i.Name); made.Name != "" {
			made.Definition = unique + "KEY " + quote(t.to, i.Name) + columns
		}
	case source.SQLite:
		if t.from.Dialect.Family() == source.MySQL { // where each table has names of its own
			made.Name = t.result.Name + "_" + i.Name
		}
		made.Definition = "CREATE " + unique + "INDEX " + quote(t.to, made.Name) + " ON " + table + columns
	}
	t.result.Indexes = append(t.result.Indexes, made)
	if i.Unique {
		t.fold(i.Columns)
	}
}

// table is the table that is made, as SQL.
func (t *translation) table() string {
	if t.result.Schema != "" && t.to == source.PostgreSQL {
		return quote(t.to, t.result.Schema) + "." + quote(t.to, t.result.Name)
	}
	return quote(t.to, t.result.Name)
}

// numbering has the target number the rows in a column, if it can.
func (t *translation) numbering() {
	begun := false
	for i := range t.result.Columns {
		c := &t.result.Columns[i]
		if c.Identity == "" {
			continue
		}
		if !t.isNumbered(c.Name) || !t.canNumber(c.Name) || begun && t.to != source.PostgreSQL {
			t.leave("the numbering of column %q", c.Name)
			c.Identity = ""
			continue
		}
		begun = true
		switch isWhole := slices.Contains(wholes, c.Type); {
		case t.isChosen(c.Name):
		case t.to == source.SQLite:
			c.Type = "INTEGER"
		case t.to == source.PostgreSQL, !isWhole: // MySQL refuses foreign keys of other types to it
			c.Type = "bigint"
		}
		if t.to == source.PostgreSQL {
			c.NotNull = true
		}
		sequence := source.Sequence{Column: c.Name}
		for _, s := range t.from.Sequences {
			if s.Column == c.Name {
				sequence.Last = s.Last
				if s.Next != nil && *s.Next > 1 { // others number from 1
					before := *s.Next - 1
					sequence.Last = &before
				}
			}
		}
		t.result.Sequences = append(t.result.Sequences, sequence)
	}
}

// isChosen reports whether the user has chosen the type of a column.
func (t *translation) isChosen(name string) bool {
	return slices.ContainsFunc(t.from.Columns, func(c source.ColumnDefinition) bool {
		return c.Name == name && c.As != ""
	})
}

// numbered are the types of columns whose numbers a bigint can hold.
var numbered = []string{
	"tinyint", "tinyint unsigned", "smallint", "smallint unsigned", "mediumint", "mediumint unsigned", "int",
	"int unsigned", "integer", "bigint", "bigint unsigned",
}

// isNumbered reports whether the numbers that a column has, and the next one, fit into a bigint. MySQL numbers columns
// of other types too, and a bigint unsigned beyond it.
func (t *translation) isNumbered(name string) bool {
	i := slices.IndexFunc(t.from.Columns, func(c source.ColumnDefinition) bool { return c.Name == name })
	listed, _ := key(t.from.Dialect, t.from.Columns[i].Type)
	isBeyond := func(s source.Sequence) bool {
		return s.Column == name && s.Last == nil && strings.HasPrefix(s.Options, "AUTO_INCREMENT=")
	}
	return slices.Contains(numbered, listed) && !slices.ContainsFunc(t.from.Sequences, isBeyond)
}

// canNumber reports whether a column is one that the target can number: in MySQL one that begins a key, in SQLite the
// primary key.
func (t *translation) canNumber(name string) bool {
	switch t.to.Family() {
	case source.SQLite:
		return slices.Equal(t.result.PrimaryKey(), []string{name})
	case source.MySQL:
		return slices.ContainsFunc(t.result.Constraints, func(c source.Constraint) bool {
			return (c.Kind == source.PrimaryKey || c.Kind == source.Unique) && c.Columns[0] == name
		})
	}
	return true
}

// inCreate, onConflict and isDeferred find the checks of SQLite, what is to become of rows whose key exists, and keys
// that are checked at the end of a transaction, which only the statement has.
var (
	inCreate   = lazyregexp.New(`(?i)\bCHECK\b`)
	onConflict = lazyregexp.New(`(?i)\bCONFLICT\b`)
	isDeferred = lazyregexp.New(`(?i)\bINITIALLY\s+DEFERRED\b`)
)

// rest translates what belongs to the table as a whole.
func (t *translation) rest() {
	for _, clause := range t.from.Others {
		collation, is := strings.CutPrefix(clause, collationOfTable)
		switch {
		case is && t.to == source.SQLite && strings.HasSuffix(collation, "_ci"):
			t.leave("the collation %s beyond ASCII", collation)
		case is:
			t.leave("the collation %s", collation)
		default:
			t.leave("%s", sink.Shorten(clause))
		}
	}
	t.leftOut = append(t.leftOut, t.lacks()...)
	if t.from.Dialect == source.SQLite {
		t.checksOfStatement()
		if isDeferred.MatchString(t.from.Create) {
			t.leave("DEFERRABLE, if a foreign key of %q has it", t.from.Name)
		}
	}
	if t.from.Dialect == source.SQLite && onConflict.MatchString(t.from.Create) {
		t.leave("ON CONFLICT, if a constraint of %q has it", t.from.Name)
	}
	switch {
	case t.from.Comment == "":
	case t.takesComment(t.from.Comment, mostOfTable):
		t.result.Comment = t.from.Comment
	default:
		t.leave("the comment %q", sink.Shorten(t.from.Comment))
	}
}

// The longest comments in MySQL, in characters.
const (
	mostOfTable  = 2048
	mostOfColumn = 1024
)

// takesComment reports whether the target can have a comment, of most characters in MySQL.
func (t *translation) takesComment(comment string, most int) bool {
	if t.to.Family() == source.MySQL {
		return !strings.Contains(comment, `\`) && utf8.RuneCountInString(comment) <= most
	}
	return t.to != source.SQLite
}
