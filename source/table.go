package source

import (
	"context"
	"fmt"
	"slices"
)

// Selection is a part of a table. The zero value is the whole table.
type Selection struct {
	// Columns are the names of the columns, in order and without repetition. None means all columns of Table. Columns
	// that Table leaves out, such as generated ones, may be named.
	Columns []string `json:"columns,omitempty"`

	// Where is a condition that the rows must meet, such as "id > 1000": a single expression in the SQL of the
	// database. It becomes part of a statement, so it must come from a source whose statements are trusted.
	Where string `json:"where,omitempty"`

	// Limit is the most rows to return; the database chooses which. Zero means all.
	Limit int64 `json:"limit,omitempty"`
}

// IsZero reports whether the selection is the whole table.
func (s Selection) IsZero() bool { return len(s.Columns) == 0 && s.Where == "" && s.Limit == 0 }

// Selector is implemented by sources that can read a part of a table.
type Selector interface {
	// Select returns the selected rows and columns of a table. The error is an [*UnknownError] if there is no such
	// table or column.
	Select(ctx context.Context, name string, s Selection) (Rows, error)
}

// Lister is implemented by sources that can list their tables.
type Lister interface {
	// Tables returns the names of the tables of a schema, or of all schemas for "", in order. Table finds exactly this
	// table by each name. Together the tables have every value of the database. Views, tables of the system, and tables
	// whose rows come in full with another one, such as partitions, are left out. The error is an [*UnknownError] if
	// there is no such schema.
	Tables(ctx context.Context, schema string) ([]string, error)
}

// Preparer is implemented by sources that look up many tables at once in less time than one after the other.
type Preparer interface {
	// Prepare tells the source which tables will be read or defined next. It changes nothing of what Table, Define and
	// others return, but they need not ask the database for each table. A size may be less exact. Names of unknown
	// tables, and tables that cannot be read, are not an error here. Sources that Join opens later know the same. No
	// rows may be open.
	//
	// The memory that it takes grows with the number of tables. A definition is kept until it was returned once, so
	// callers that define many tables should prepare some hundreds at a time.
	Prepare(ctx context.Context, tables []string) error
}

// Prepare tells a source which tables will be read next. It does nothing if the source is no [Preparer].
func Prepare(ctx context.Context, s Source, tables []string) error {
	if preparer, is := s.(Preparer); is {
		return preparer.Prepare(ctx, tables)
	}
	return nil
}

// Separator is implemented by sources in which a table may come with the rows of others, which inherit from it.
type Separator interface {
	// Separate has the source, and those that it opens by Join from then on, read each table without such rows, and
	// list every table that has some of its own. It also holds for sizes, parts and what is outside of the snapshot. A
	// part says itself which rows it has, so every source can read it.
	Separate()
}

// Separate has a source read each table without the rows of others. It does nothing if the source is no [Separator],
// since its tables have no such rows.
func Separate(s Source) {
	if separator, is := s.(Separator); is {
		separator.Separate()
	}
}

// Omitter is implemented by sources that know what else there is beside the tables that they list.
type Omitter interface {
	// Omitted returns what the tables of a schema, or of all schemas for "", leave out, by kind and name, for people:
	// such as "the view \"sales\"". That is what users take for a table, and what has values of its own, such as a
	// sequence that belongs to no column. The rest is left out by both, such as functions and rights. The error is an
	// [*UnknownError] if there is no such schema.
	Omitted(ctx context.Context, schema string) ([]string, error)
}

// MaxOmitted is the most that [Omitted] names, and MaxOmittedSize the most bytes of these texts: names can be long.
const (
	MaxOmitted     = 1000
	MaxOmittedSize = 64 << 10
)

// Omitted returns what the lists of tables of a source leave out, in the schemas that are listed: nothing if it is not
// an [Omitter]. If that is more than [MaxOmitted] or [MaxOmittedSize], the last text says how much more.
func Omitted(ctx context.Context, s Source, schemas ...string) (omitted []string, err error) {
	omitter, ok := s.(Omitter)
	if !ok {
		return nil, nil
	}
	for _, schema := range schemas {
		all, err := omitter.Omitted(ctx, schema)
		if err != nil {
			return nil, err
		}
		omitted = append(omitted, all...)
	}
	return boundOmitted(omitted), nil
}

// boundOmitted returns the first texts, up to [MaxOmitted] and [MaxOmittedSize], and how many more there are.
func boundOmitted(all []string) []string {
	size := 0
	for i, one := range all {
		if size += len(one); i == MaxOmitted || size > MaxOmittedSize {
			return append(slices.Clip(all[:i]), fmt.Sprintf("%d more", len(all)-i))
		}
	}
	return all
}

// Describer is implemented by sources that can describe the state of the database that they read.
type Describer interface {
	Describe(ctx context.Context) (Description, error)
}

// Describe returns the description of a source, or the zero value if it is not a [Describer].
func Describe(ctx context.Context, s Source) (Description, error) {
	describer, ok := s.(Describer)
	if !ok {
		return Description{}, nil
	}
	return describer.Describe(ctx)
}

// PartialSnapshotter is implemented by sources some of whose tables may show other rows than those of the snapshot that
// they describe.
type PartialSnapshotter interface {
	// OutsideSnapshot returns those of the named tables whose rows may be newer than the snapshot. Names of unknown
	// tables are left out.
	OutsideSnapshot(ctx context.Context, names []string) ([]string, error)

	// QueryOutsideSnapshot reports whether the rows of a query may be newer than the snapshot. It is false for a query
	// that is not valid.
	QueryOutsideSnapshot(ctx context.Context, sql string) (bool, error)
}

// QueryOutsideSnapshot reports whether the snapshot of a source does not hold all rows of a query: it does if the
// source is not a [PartialSnapshotter].
func QueryOutsideSnapshot(ctx context.Context, s Source, sql string) (bool, error) {
	partial, ok := s.(PartialSnapshotter)
	if !ok {
		return false, nil
	}
	return partial.QueryOutsideSnapshot(ctx, sql)
}

// OutsideSnapshot returns the tables that the snapshot of a source does not hold: none if it is not a
// [PartialSnapshotter].
func OutsideSnapshot(ctx context.Context, s Source, names []string) ([]string, error) {
	partial, ok := s.(PartialSnapshotter)
	if !ok {
		return nil, nil
	}
	return partial.OutsideSnapshot(ctx, names)
}

// Description describes the state of the database that the rows of a source show. Unknown fields are "".
type Description struct {
	System   string // the database system and its version, such as "PostgreSQL 17.2"
	Database string // the name of the database, or its file
	Snapshot string // the system's name for the one state that all rows show; "" if there is none
	Position string // the position in the system's log when it was taken, or shortly before, such as an LSN
}

// Size is the approximate size of rows. Unknown fields are 0.
type Size struct {
	Rows  int64
	Bytes int64 // as stored or sent by the database
}
