package source

import (
	"context"
	"errors"
	"slices"
)

// Schemer is implemented by sources that know what a database has beside the rows of its tables.
type Schemer interface {
	// Schema returns the schema of the whole database, in the transaction of the rows. No rows may be open. The error
	// is a [*NoSchemaError] if the tables can be read, but the schema cannot.
	Schema(ctx context.Context, config SchemaConfig) (*Schema, error)
}

// SchemaStarter is implemented by sources that can read the schema while rows are read.
type SchemaStarter interface {
	Schemer

	// StartSchema begins to read what Schema returns. It reports whether that has OwnRows, which decides how tables are
	// listed and read. Then finish waits for it and returns it, once; no rows may be open. The context of StartSchema
	// governs what was begun, and Close of the source ends it.
	StartSchema(ctx context.Context, config SchemaConfig) (
		ownRows bool, finish func(context.Context) (*Schema, error), err error)
}

// StartSchema begins to read the schema of a source, as [SchemaOf] does, and returns what finishes that. If the source
// is not a [SchemaStarter], the schema is read at once.
func StartSchema(ctx context.Context, s Source, config SchemaConfig) (
	ownRows bool, finish func(context.Context) (*Schema, error), err error,
) {
	starter, ok := s.(SchemaStarter)
	if !ok {
		schema, err := SchemaOf(ctx, s, config)
		if err != nil {
			return false, nil, err
		}
		return schema.OwnRows, func(context.Context) (*Schema, error) { return schema, nil }, nil
	}
	ownRows, rest, err := starter.StartSchema(ctx, config)
	if err != nil {
		return false, nil, err
	}
	return ownRows, func(ctx context.Context) (*Schema, error) {
		schema, err := rest(ctx)
		if err == nil {
			schema.Lacks = boundOmitted(schema.Lacks)
		}
		return schema, err
	}, nil
}

// SchemaConfig says what belongs to a schema.
type SchemaConfig struct {
	// Grants adds who owns what, and who may do what with it. The roles must exist where the statements are run.
	Grants bool

	// ForTables adds what single tables need, so that they can be made alone.
	ForTables bool

	// LargeObjects adds those of PostgreSQL, whose rows are then those of a table that is Staged.
	LargeObjects bool
	// Without are tables that are left out, with what cannot be made without them: their indexes and triggers, and the
	// views that read them. What else needs them is named in the Lacks of the schema.
	Without []TableName

	// WithoutKeys are foreign keys of other tables that are left out.
	WithoutKeys []KeyName
}

// TableName is what a database calls a table. The schema is the database in MySQL and MariaDB, and "" in SQLite.
type TableName struct{ Schema, Name string }

// KeyName is what a database calls a key of a table.
type KeyName struct {
	Table TableName
	Name  string
}

// SchemaOf returns the schema of a source, or a [*NoSchemaError] if it is not a [Schemer]. What it lacks is bounded as
// by [Omitted].
func SchemaOf(ctx context.Context, s Source, config SchemaConfig) (*Schema, error) {
	schemer, ok := s.(Schemer)
	if !ok {
		return nil, &NoSchemaError{Reason: "the source has none"}
	}
	schema, err := schemer.Schema(ctx, config)
	if err != nil {
		return nil, err
	}
	schema.Lacks = boundOmitted(schema.Lacks)
	return schema, nil
}

// Schema is what makes a database again, beside the rows of its tables: statements that are run before the rows are
// there, and others that are run after that. Those of PostgreSQL make the tables too. In other systems, each table is
// made by its [Definition], after the statements before.
//
// It is data, for JSON or any other encoding.
type Schema struct {
	Dialect Dialect `json:"dialect"`
	By      string  `json:"by,omitempty"`     // who printed it, such as "pg_dump 17.2"; "" for the source itself
	Tables  bool    `json:"tables,omitempty"` // whether statements make the tables

	// Needs says that it is not the schema of a whole database: the statements make only what tables need, each if it
	// does not exist, and the tables are made by their definitions after that. None comes after the rows.
	Needs bool `json:"needs,omitempty"`

	// OwnRows says that tables inherit from others. If they are to be made by the statements, and to have each row
	// once, they must be read and listed by a source after [Separate]. Package export sees to that, except the list.
	OwnRows bool `json:"own_rows,omitempty"`

	Staged []Staged `json:"staged,omitempty"`

	// Lacks names, for people, what the database has and the schema has not, such as "the subscription \"orders\"".
	Lacks []string `json:"lacks,omitempty"`

	Statements []Statement `json:"-"` // in order; there may be many thousands

	// ForTables are the statements of a schema with Needs, so that some of the tables can be made alone.
	ForTables []Statement `json:"-"`
}

// Staged is a table that Tables of the source does not list, although its rows belong to the database, such as
// pg_catalog.pg_largeobject. No rows can be loaded into it. They are loaded into another table, which statements before
// the rows make, and from which a statement after the rows takes them.
type Staged struct {
	Table string `json:"table"`
	Into  string `json:"into"`
}

// StagedIn returns the table that takes the rows of a table, if that is Staged, or else "".
func (s *Schema) StagedIn(table string) string {
	for _, one := range s.Staged {
		if one.Table == table {
			return one.Into
		}
	}
	return ""
}

// Count returns the number of statements before the rows, and of those after them.
func (s *Schema) Count() (before, after int) {
	for _, one := range s.Statements {
		if one.After {
			after++
		} else {
			before++
		}
	}
	return before, after
}

// Statement is a statement of a schema.
type Statement struct {
	After bool   `json:"after,omitempty"` // it is run when the tables have their rows
	SQL   string `json:"sql"`             // without a semicolon at its end

	// Object names what the statement makes, in a schema with Needs. All statements of one object follow each other.
	// The first one makes it, and is the same for equal objects.
	Object string `json:"object,omitempty"`

	// For are the tables that need the object, by the names that were asked for. None stands for all of them.
	For []string `json:"for,omitempty"`

	// Tells is the sequence whose position the statement sets, which JSON never has, or nil.
	Tells *Numbering `json:"-"`
}

// Numbering says which columns have their numbers from a sequence, so that its position tells the last one of them.
type Numbering struct {
	Sequence string       // its name for people
	Columns  []ColumnName // of the tables with which their rows are read
}

// ColumnName is what a database calls a column of a table.
type ColumnName struct {
	Table  TableName
	Column string
}

// WithoutPositions returns the schema without the statements that set the positions of some sequences, which are then
// in its Lacks.
func (s *Schema) WithoutPositions(of func(*Numbering) bool) *Schema {
	without := *s
	lacks := slices.Clip(s.Lacks)
	keep := func(all []Statement) []Statement {
		return slices.DeleteFunc(slices.Clone(all), func(one Statement) bool {
			if one.Tells == nil || !of(one.Tells) {
				return false
			}
			lack := "the position of the sequence " + one.Tells.Sequence + ", a masked value"
			if !slices.Contains(lacks, lack) {
				lacks = append(lacks, lack)
			}
			return true
		})
	}
	without.Statements, without.ForTables = keep(s.Statements), keep(s.ForTables)
	without.Lacks = boundOmitted(lacks)
	return &without
}

// MaxSchema is the most bytes that all statements of a schema have together. A schema of 100,000 tables has about half
// of it.
const MaxSchema = 256 << 20

// ErrSchemaTooLarge is the error of a schema with more than [MaxSchema] bytes.
var ErrSchemaTooLarge = errors.New("source: the schema is too large")

// NoSchemaError says why a schema cannot be had, although the rows of the tables can.
type NoSchemaError struct {
	Reason string // for people, such as "pg_dump is not installed"
	Hint   string // what to do about it, or ""
	Err    error  // may be nil
}

func (e *NoSchemaError) Error() string {
	if e.Err != nil {
		return "source: no schema: " + e.Reason + ": " + e.Err.Error()
	}
	return "source: no schema: " + e.Reason
}

func (e *NoSchemaError) Unwrap() error { return e.Err }
