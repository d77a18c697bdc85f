package sink

import (
	"errors"
	"slices"
	"strings"
	"time"

	"culvert/source"
)

// Filling says how a table is filled. The zero value fills an empty table by one loader, all rows or none. What
// contradicts itself is refused: see Check.
type Filling struct {
	// Columns are the names of the columns of which the rows have values, in order and without repetition. Other
	// columns get their defaults. None means all columns that are not generated.
	Columns []string

	// Create makes the table. If there is one of that name, it must be empty and have the columns of the rows, and is
	// filled as it is ([CheckExisting]); if the ledger has parts of the load in it, it is filled further. PostgreSQL
	// and SQLite make it in the transaction that fills it, and its indexes after the rows. MySQL and MariaDB commit it
	// with its indexes before that transaction, and drop it again if the rows are not committed. Foreign keys are left
	// to [Creator]. The statements of a definition are run after [CheckStatements], and can still call functions, so
	// the definition must come from a trusted source. MySQL and MariaDB have a check of their own. A definition of
	// another system is translated by package culvert/sink/dialect, and none of its statements are run. Nil fills a
	// table that must exist.
	Create *source.Definition

	// Related are the tables that are made together with this one, by their names in the source. Of a definition of
	// another system, foreign keys to other tables are left out. Nil stands for tables of the same names. Of one of the
	// same system, those to tables that are not there are left out: see [Filling.WithoutMissing].
	Related map[TableName]Related

	// Provided is what the table needs beside its definition, which a [Provider] makes before it, or nil. MariaDB
	// leaves out the defaults that draw from other sequences than those of Provided.
	Provided *source.Schema

	// Convert are the names of columns of the table whose type may change values, as the database does by itself: round
	// numbers, or store the text 007 as the number 7. Letter case does not count. Other columns refuse such values: see
	// package culvert/sink/grammar.
	Convert []string

	// From is the system of the source, or "" if it is not known, and Types are the types of its columns, as it names
	// them, in the order of Columns; there are none, or as many. Values that these types exclude are not looked for.
	// Values without a type, such as those of a file of another program, may be escapes of others.
	From  source.Dialect
	Types []string

	// Logical are the types of the values of the rows, whatever the table has for them, in the order of Columns. With
	// them, [Loader.Sum] returns the canonical sum that package manifest describes, which is the same in all systems.
	Logical []source.Type

	// Existing is what becomes of the rows that the table has.
	Existing Existing

	// OwnRows says that the rows have none of the tables that inherit from the table, as after [source.Separate]. So
	// rows that these have do not count.
	OwnRows bool

	// KeepSequences leaves the sequences of columns as they are. Otherwise those of an existing table, if the rows have
	// values for their columns, are set past all rows, so that new numbers are not taken yet. They are never set back.
	// PostgreSQL and MariaDB do it before the commit, for sequences that the user may read and set. The numbers of
	// AUTO_INCREMENT and AUTOINCREMENT are set by the database itself, in any case.
	KeepSequences bool

	// TriggersOff keeps the triggers of the table from firing for the rows, and when rows are removed. PostgreSQL
	// disables them in the transaction, for which the user must own the table, and SQLite drops them and makes them
	// again. Foreign keys and other constraints are checked as ever. MySQL and MariaDB have no way: a table with
	// triggers is an [errors.ErrUnsupported] there. The rows are loaded by one connection, and not part by part.
	TriggersOff bool

	// Grouped says that the table is one of a [Group], so that other tables of it may refer to it: for [Sink.Plan].
	// A group sets it itself, and [Sink.Table] refuses it.
	Grouped bool

	// Linked has [Sink.Plan] tell to which tables foreign keys refer, although the table is not Grouped. SQLite does
	// not: it takes rows in any order.
	Linked bool

	// Conflict is what happens if the table has a row with the same key.
	Conflict Conflict

	// Key are the columns of the key for [Update]: those of a primary key or a unique index.
	Key []string

	// Loaders is how many loaders the caller can use. There may be fewer. Zero is one.
	Loaders int

	// Ledger is where parts are recorded; nil if they are not. With [Truncate] and [Swap], a load goes on only if the
	// table has as many rows as the ledger says. Otherwise it forgets these parts, and begins anew.
	Ledger *Ledger

	// EachPart commits each part when it ends, so that a load that is interrupted can go on later. It requires a
	// ledger, and that all rows are in parts. Others see the parts as they are committed, and may write into the table
	// meanwhile.
	EachPart bool

	// LockTimeout is how long each statement waits at most for locks of others. Zero is 10 seconds.
	LockTimeout time.Duration

	// Redact keeps values out of errors. What remains are codes and the names of tables, columns and constraints.
	Redact bool
}

// Check returns an error if a filling contradicts itself. Every sink calls it before it looks at the table.
func (f Filling) Check() error {
	switch {
	case f.Existing > Swap || f.Conflict > Update || f.Loaders < 0 || f.LockTimeout < 0:
		return errors.New("sink: the filling has an unknown value")
	case f.Create != nil && (f.Existing != Refuse || f.EachPart):
		return errors.New("sink: a table that is made has no rows, and is committed as a whole")
	case (f.Create != nil || f.Existing == Swap) && f.Conflict != Fail:
		return errors.New("sink: a new table has no rows to be in conflict with")
	case f.EachPart && f.TriggersOff:
		return errors.New("sink: triggers can be off only in the transaction of all rows")
	case f.EachPart && f.Ledger == nil:
		return errors.New("sink: parts can be committed one by one only with a ledger")
	case f.Ledger != nil && (f.Ledger.Table == "" || f.Ledger.Load == ""):
		return errors.New("sink: the ledger needs the name of its table and of the load")
	case f.Conflict == Update && len(f.Key) == 0:
		return errors.New("sink: the columns of the key by which rows are updated are not named")
	case f.Conflict != Update && len(f.Key) > 0:
		return errors.New("sink: a key is named, but no rows are to be updated by it")
	case len(f.Types) > 0 && len(f.Types) != len(f.Columns), len(f.Logical) > 0 && len(f.Logical) != len(f.Columns):
		return errors.New("sink: there are not as many types as columns")
	}
	return nil
}

// Origin is what is known of the values of a column: the system of their source, and the type that they have there, as
// the system names it. Both are "" if nothing is known.
type Origin struct {
	Dialect source.Dialect
	Type    string
}

// Origin returns the origin of the values of a column of the rows.
func (f Filling) Origin(column int) Origin {
	if f.From == "" || len(f.Types) == 0 {
		return Origin{Dialect: f.From}
	}
	return Origin{f.From, f.Types[column]}
}

// Timeout returns how long a statement waits for locks of others: at least a millisecond.
func (f Filling) Timeout() time.Duration {
	if f.LockTimeout <= 0 {
		return 10 * time.Second
	}
	return max(f.LockTimeout, time.Millisecond)
}

// Converts reports whether the type of a column of the table may change values.
func (f Filling) Converts(column string) bool {
	return slices.ContainsFunc(f.Convert, func(name string) bool { return strings.EqualFold(name, column) })
}

// Existing says what becomes of the rows that a table has before it is filled.
type Existing uint8

// What becomes of existing rows.
const (
	Refuse   Existing = iota // the table must be empty, or have only parts of the same load; otherwise [ErrNotEmpty]
	Append                   // they stay; with a ledger and [Fail], there must be as many as it has, or [ErrGone]
	Truncate                 // they are removed in the transaction that adds the new rows
	Swap                     // a new table is filled, and takes the place and the name of the old one at the end
)

// Conflict says what happens if a table has a row with the same key as a new row.
type Conflict uint8

// What happens with conflicting rows.
const (
	Fail   Conflict = iota // the load fails
	Ignore                 // the new row is not added
	Update                 // the values of the new row replace those of the row with the same [Filling.Key]
)

// Ledger is a table in which parts are recorded.
type Ledger struct {
	// Table is the name of the ledger, which is made if it does not exist: NAME, or SCHEMA.NAME, without quotes. It has
	// the columns load, table_name, part, row_count, row_sum and loaded_at.
	Table string

	// Load identifies what is loaded, such as by the hash of its manifest. Only parts of the same load are returned by
	// [Table.Loaded].
	Load string
}

// Part is what the ledger records of rows.
type Part struct {
	Name string // of the part, unique in the load and table, such as the name of a file
	Rows int64
	Sum  string // of the rows, or ""
}

// Plan is what filling a table will do.
type Plan struct {
	Table   string          // its name with its schema, as the database writes it
	Columns []source.Column // of the rows

	// Object identifies the table among all databases of the same system, for comparing it with the table of a source.
	// It is "" if that is not known.
	Object string

	// Database identifies the database among all of the same system. With [Filling.Ledger] it is known, also of a table
	// that is made.
	Database string

	Exists bool  // the table is there already
	Rows   int64 // that it has, about; 0 if it is empty or the number is not known

	// Heirs are the tables that inherit from it, but are no partitions. Filling it leaves them as they are.
	Heirs []Heir

	// Refers are the tables to which its foreign keys refer, and Referred those whose foreign keys refer to it, as in
	// Table and each once. A table that refers to itself is in both. They are known only with [Filling.Grouped], and
	// Refers with Linked, of a table that exists.
	Refers, Referred []string

	Loaders int    // how many there will be
	Alone   string // the reason for fewer loaders than wanted, or ""; it ends a sentence

	// Later are the foreign keys that [Creator] will add, by name.
	Later []string

	// Omitted is what a table that is made will not have of its definition, by name.
	Omitted []string

	// Steps are the statements that change the database, in order.
	Steps []string
}

// Heir is a table that inherits from another one. What reads the other one also returns the rows of its heirs.
type Heir struct {
	Table  string // as in [Plan]
	Filled bool   // it may have rows
}

// TableName is the name of a table as its definition has it.
type TableName struct{ Schema, Name string }

// Related is a table that is made together with others.
type Related struct {
	Name       string // in the database that is filled, as for [Sink.Table]
	Definition *source.Definition
}
