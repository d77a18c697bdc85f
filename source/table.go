package source

import "context"

// Selection is the part of a table that is wanted. The zero value is all of it.
type Selection struct {
	// Columns are the names of the columns, each once, in the order in which they are wanted. None means all that Table
	// gives. What Table leaves out, such as generated columns, may be named.
	Columns []string

	// Where is a condition in the SQL of the database that the rows must meet, such as "id > 1000". It must be one
	// expression. It is part of a statement, and so must not come from anyone whose statements would not be run.
	Where string

	// Limit is the most rows that are wanted, which are any ones. Zero means all.
	Limit int64
}

// IsZero reports whether the selection is the whole table.
func (s Selection) IsZero() bool { return len(s.Columns) == 0 && s.Where == "" && s.Limit == 0 }

// Selector is implemented by sources that can read a part of a table.
type Selector interface {
	// Select gives the rows of a table as Table does, but only those, and of them the columns, that are selected. It
	// fails with an [*UnknownError] if there is no such table or column.
	Select(ctx context.Context, name string, s Selection) (Rows, error)
}

// Lister is implemented by sources that know what tables they have.
type Lister interface {
	// Tables gives the names of the tables of a schema, or of all schemas if it is "", in order. Table takes each name
	// for exactly this table. Together the tables have every value of the database: a view is none of them, nor is a
	// table whose rows come in full with those of another, such as a partition. Those of the system are left out. It
	// fails with an [*UnknownError] if there is no such schema.
	Tables(ctx context.Context, schema string) ([]string, error)
}

// Describer is implemented by sources that can say which state of which database they give.
type Describer interface {
	Describe(ctx context.Context) (Description, error)
}

// Description says which state of which database the rows of a source show. What the database does not tell is "".
type Description struct {
	System   string // the database system and its version, such as "PostgreSQL 17.2"
	Database string // the name of the database, or its file
	Snapshot string // the one state that all rows show, as the system calls it; "" if there is none
	Position string // the place in the log of the system at which it was taken, such as an LSN, or shortly before
}

// Size is about how large something is. What is not known is 0.
type Size struct {
	Rows  int64
	Bytes int64 // as the database keeps them, or sends them
}
