package source

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Definer is implemented by sources that know what makes a table again.
type Definer interface {
	// Define returns the definition of the table that Table finds by a name, in the transaction of the rows. No rows
	// may be open. It is nil if the source cannot say. The error is an [*UnknownError] if there is no such table.
	Define(ctx context.Context, table string) (*Definition, error)
}

// MaxDefinition is the most bytes that a definition from [Define] has as JSON.
const MaxDefinition = 256 << 10

// Define returns the definition of a table, or nil if the source is not a [Definer] or the definition is too large.
// Text of it that is not UTF-8 is an error, since JSON would replace it.
func Define(ctx context.Context, s Source, table string) (*Definition, error) {
	definer, ok := s.(Definer)
	if !ok {
		return nil, nil
	}
	d, err := definer.Define(ctx, table)
	if err != nil || d == nil {
		return nil, err
	}
	text, err := json.Marshal(d)
	if err != nil || len(text) > MaxDefinition {
		return nil, err
	}
	if !bytes.Contains(text, []byte(`\ufffd`)) {
		return d, nil
	}
	var again Definition
	if err := json.Unmarshal(text, &again); err != nil {
		return nil, err
	}
	// JSON does not have them.
	again.Ancestors, again.Partitions, again.IsView = d.Ancestors, d.Partitions, d.IsView
	for i := range again.Columns {
		again.Columns[i].RefusesNull = d.Columns[i].RefusesNull
	}
	if !reflect.DeepEqual(&again, d) {
		return nil, fmt.Errorf("source: table %q: the text of its definition is not UTF-8, as a manifest has to be; "+
			"export the table by itself, into one file", table)
	}
	return d, nil
}

// Definition is what makes a table again, in the words of its database. It is data, for JSON or any other encoding. It
// describes the whole table, whatever columns and rows of it are read. Of a view, it has only the columns.
//
// Expressions, statements and definitions are SQL of the Dialect. Names in them are complete: they have a schema where
// the search path might lead elsewhere. Other fields have names as they are, without quotes.
//
// What it has not, Lacks names. These are left out in any case: rights, and the types, functions, collations, sequences
// and other tables that the definition names.
type Definition struct {
	Dialect Dialect `json:"dialect"`
	Schema  string  `json:"schema,omitempty"` // or the database, in MySQL and MariaDB
	Name    string  `json:"name"`

	Columns     []ColumnDefinition `json:"columns,omitempty"` // all, in order, also generated ones
	Constraints []Constraint       `json:"constraints,omitempty"`
	Indexes     []Index            `json:"indexes,omitempty"` // without those that constraints make
	Sequences   []Sequence         `json:"sequences,omitempty"`
	Comment     string             `json:"comment,omitempty"`

	// Others are clauses of the table that only Create has, as SQL, such as "PARTITION BY HASH (`id`)".
	Others []string `json:"others,omitempty"`

	// Lacks names, for people, what the table has in the database and a table that is made by the definition has not,
	// such as "the trigger \"log\"".
	Lacks []string `json:"lacks,omitempty"`

	// Create is the statement that makes the table, as the database prints it: with its constraints, and in MySQL and
	// MariaDB with its indexes. PostgreSQL prints none, but its columns, constraints and indexes are complete.
	Create string `json:"create,omitempty"`

	// Ancestors are the tables from which it inherits, or of which it is a partition, also through others, the nearest
	// first. A rule that masks a column of an ancestor holds for the same column of the table. JSON has none of them,
	// since the table is made without.
	Ancestors []Ancestor `json:"-"`

	// Partitions are those whose rows it has, also through others. A foreign key may refer to one alone.
	Partitions []Partition `json:"-"`

	// Hidden says that the Name without the Schema finds another table or none: in PostgreSQL, by the search path.
	Hidden bool `json:"hidden,omitempty"`

	// IsView says that this is a view. It is a fact of the source only, so it is not in JSON.
	IsView bool `json:"-"`

	// After are statements that complete a table that has its rows, such as triggers that stand for clauses of another
	// system. Only package culvert/sink/dialect writes them, so JSON never has any.
	After []string `json:"-"`
}

// Partition is a partition of a table, or of another partition.
type Partition struct {
	TableName
	Keys []Constraint // foreign keys that only its rows have
}

// Ancestor is a table from which another one inherits, or of which it is a partition.
type Ancestor struct {
	Schema   string
	Name     string
	Distance int      // 1 for a parent, 2 for a parent of a parent, by the shortest way
	Columns  []string // that the other table has from it
	HasRows  bool     // rows of the ancestor, as they are read, have those of the other table
	Hidden   bool     // as in its definition
}

// Dialect is the SQL of a database system.
type Dialect string

// The dialects.
const (
	PostgreSQL Dialect = "postgresql"
	MySQL      Dialect = "mysql"
	MariaDB    Dialect = "mariadb"
	SQLite     Dialect = "sqlite"
)

// dialects are those of systems, by the names in a [Description].
var dialects = map[string]Dialect{"PostgreSQL": PostgreSQL, "MySQL": MySQL, "MariaDB": MariaDB, "SQLite": SQLite}

// DialectOf returns the dialect of a system as a [Description] names it, or "" if there is none.
func DialectOf(system string) Dialect {
	name, _, _ := strings.Cut(system, " ")
	return dialects[name]
}

// Family returns the dialect under whose name the types of a system are listed: MySQL for MariaDB.
func (d Dialect) Family() Dialect {
	if d == MariaDB {
		return MySQL
	}
	return d
}

// IsDynamic reports whether each value has a type of its own, whatever its column, and JSON is text.
func (d Dialect) IsDynamic() bool { return d == SQLite }

// What [ColumnDefinition.Ignores] may be.
const (
	IgnoresCase    = "case"
	IgnoresAccents = "case and accents"
)

// ColumnDefinition is what makes a column again.
type ColumnDefinition struct {
	Name      string `json:"name"`
	Type      string `json:"type,omitempty"` // as Column has it
	NotNull   bool   `json:"not_null,omitempty"`
	Default   string `json:"default,omitempty"`   // an expression
	Collation string `json:"collation,omitempty"` // if it is not the one of the type, or in MySQL of the table; as SQL

	// Ignores is in what texts may differ that are equal by the Collation, if that is all that is said of it:
	// [IgnoresCase] or [IgnoresAccents]. Only PostgreSQL says so; the names of the other systems do.
	Ignores string `json:"ignores,omitempty"`

	Comment string `json:"comment,omitempty"`

	// RefusesNull says that the type refuses NULL, as a domain of PostgreSQL may. The type says so where the table is
	// made, so JSON has not.
	RefusesNull bool `json:"-"`

	// Values are the labels of an enum type of PostgreSQL, in their order. Type is only its name.
	Values []string `json:"values,omitempty"`

	// Identity is Always or ByDefault if the database numbers the rows in this column: as an identity column, by
	// AUTO_INCREMENT, or as an INTEGER PRIMARY KEY of SQLite.
	Identity string `json:"identity,omitempty"`

	// Generated is Stored or Virtual if the Expression computes the value, which then cannot be written.
	Generated  string `json:"generated,omitempty"`
	Expression string `json:"expression,omitempty"`

	// Others are clauses of the column that only Create has, as SQL, such as "ON UPDATE current_timestamp()". In
	// PostgreSQL, this clause is there if a trigger stands for it, which a table that is made there lacks.
	Others []string `json:"others,omitempty"`

	// As, if not "", is the type that the column gets where its table is made, as SQL of that system, in place of Type
	// or its equal. The user says so, so JSON never has any.
	As string `json:"-"`
}

// What an identity column does with values that are written into it: Always refuses them unless the statement insists.
const (
	Always    = "always"
	ByDefault = "by default"
)

// What a generated column keeps: Stored its values, Virtual nothing.
const (
	Stored  = "stored"
	Virtual = "virtual"
)

// Constraint is a constraint of a table. NOT NULL is part of a [ColumnDefinition].
type Constraint struct {
	Name string         `json:"name,omitempty"`
	Kind ConstraintKind `json:"kind"`

	// Columns are those of a primary, unique or foreign key, in its order. None if it has anything but whole columns.
	Columns []string `json:"columns,omitempty"`

	// Definition follows ALTER TABLE … ADD CONSTRAINT name, or only ADD without a name, such as "CHECK (price > 0)". It
	// is "" if only Create has it, as in SQLite, but for foreign keys.
	Definition string `json:"definition,omitempty"`
}

// ConstraintKind says what a constraint is. Readers must expect others.
type ConstraintKind string

// The kinds of constraints.
const (
	PrimaryKey ConstraintKind = "primary key"
	Unique     ConstraintKind = "unique"
	Check      ConstraintKind = "check"
	ForeignKey ConstraintKind = "foreign key"
	Exclude    ConstraintKind = "exclude"
)

// Index is an index of a table that is not part of a constraint.
type Index struct {
	Name   string `json:"name"`
	Unique bool   `json:"unique,omitempty"`

	// Columns are the columns of the index, in its order. None if it has anything but whole columns, or a condition.
	Columns []string `json:"columns,omitempty"`

	// Definition is the statement that makes the index. In MySQL and MariaDB, it follows ALTER TABLE … ADD.
	Definition string `json:"definition,omitempty"`
}

// Sequence numbers the rows of a table.
type Sequence struct {
	Column  string `json:"column"`            // that owns it
	Name    string `json:"name,omitempty"`    // of the sequence, with its schema, as SQL; "" if it has none
	Type    string `json:"type,omitempty"`    // of the sequence
	Options string `json:"options,omitempty"` // as SQL, such as "START WITH 1 INCREMENT BY 1 …"

	// Last is the last number that was given, when the definition was read: sequences are not part of a snapshot, so
	// this may be later than the rows. It is nil if none was given, or if it is not known.
	Last *int64 `json:"last,omitempty"`

	// Next is the number that PostgreSQL will give, if it was set and none was given since: at the beginning, by
	// RESTART, or by setval. Otherwise it is nil.
	Next *int64 `json:"next,omitempty"`
}

// PrimaryKey returns the columns of the primary key, or none.
func (d *Definition) PrimaryKey() []string {
	for _, constraint := range d.Constraints {
		if constraint.Kind == PrimaryKey {
			return constraint.Columns
		}
	}
	return nil
}
