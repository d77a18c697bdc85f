package load

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"culvert/convert"
	"culvert/export"
	"culvert/format"
	"culvert/internal/rowsum"
	"culvert/mask"
	"culvert/pace"
	"culvert/sink"
	"culvert/source"
)

// Plan describes how to load. The zero value loads into empty tables, by one loader each. It may be used many times.
type Plan struct {
	// Filling says what becomes of rows that the table has, and how rows are committed. Its Columns and Loaders must
	// not be set.
	Filling sink.Filling

	// Loaders is the most connections that load: of one table, or of several tables at once if the sink is a
	// [sink.Cloner]. Zero is one.
	Loaders int

	// Jobs is the number of cores that decode rows. Zero means GOMAXPROCS.
	Jobs int

	// Create makes the tables by their definitions in the manifest, or in the source of a copy, if the sink is a
	// [sink.Creator]. A table that is there already is filled as it is, if it is empty and has the columns of the rows.
	// Foreign keys come after all rows: see [Finish] for copies. The statements of the definitions are run and can call
	// functions, so the export must come from a trusted source. PostgreSQL and SQLite make tables of their own system
	// only under the names that they had. Text cannot be loaded like that.
	Create bool

	// Choices say what is meant of the tables of another database with these names, for copies. A table without rows is
	// only made.
	Choices map[string]source.Choice

	// SchemaOnly has [Plan.Database] and [Plan.CopyDatabase] leave the tables empty. Sequences, and numbers such as
	// AUTO_INCREMENT, go on after the rows that there were.
	SchemaOnly bool

	// Masks say which values of another database a copy does not pass on as they are: see [export.Plan]. They are
	// applied on all cores. The names of tables are those of the source.
	Masks *mask.Policy

	// Conversions change values before they reach the sink, after Masks. The names of tables are those of the manifest
	// or the source; of other files, that of the table that is filled. A conversion that is for no column is an error.
	Conversions []convert.Conversion

	// Types are types of columns of tables that are made, in place of those of the definition, or their equals in
	// another system. Each must be for a column of a table, or nothing is made. Tables that exist keep theirs.
	Types []ColumnType

	// Columns are the columns of the files to load. None means all.
	Columns []string

	// Rename says which columns of the files have another name in the table.
	Rename map[string]string

	// ReadBack has the database read all rows back before they are committed, and compares their sum with that of the
	// rows that were read. If the system is another one than that of the source, or if rows were masked, it compares
	// the canonical sum of package manifest, for the types that the source has. If the types of the values are unknown,
	// as in files of other programs, the database must print the values as they were written: it does not for the
	// number 1.0 in a column of type numeric(10,2). With Conversions, it compares the converted rows, and not those of
	// the manifest.
	ReadBack bool

	// Analyze updates the statistics of each table after it was committed, if the sink is a [sink.Analyzer].
	Analyze bool

	// Check, if not nil, sees what would become of all tables that are copied together, before anything is changed. Its
	// error ends the work.
	Check func([]Planned) error

	// Columnar are the formats of columns that exports may have, by the name that the manifest has for them, such as
	// parquet. So nobody compiles one that is not used.
	Columnar map[string]format.Columnar

	// Pace limits how fast rows are passed to the loaders of all tables together.
	Pace pace.Pace

	// Rejects, if not nil, takes rows that are refused, so that the others are loaded. Each block of rows is
	// then sent by itself, and one connection fills a table, unless a ledger has its parts. With ReadBack, the rows
	// that were taken are compared. Small tables do not share transactions.
	Rejects *Rejects

	// Progress, if not nil, counts while rows are loaded.
	Progress *Progress

	// related are the tables that are made together.
	related map[sink.TableName]sink.Related

	computed map[string][]string // columns of tables of a source that a copy leaves out: see leaveOut

	dangling bool // rows that refer to rows which are not there are rejected: these cannot come later
	beside   int  // tables that are filled at the same time, or 0

	fresh bool // a schema has made the tables, which have no triggers and keys yet
}

// Sum is a checksum of rows that does not depend on their order. It is the Sum of package export.
type Sum = rowsum.Sum

// Stats are the figures of a table that was loaded.
type Stats struct {
	Name     string   // of the table in the manifest, the file, or the source
	Table    string   // as the caller or the manifest names it in the database
	Rows     int64    // loaded
	Text     int64    // bytes of their text, or of their binary form
	Sum      Sum      // of the rows as they were read, if they were exported, or were or became CSV; otherwise zero
	Summed   bool     // whether Sum is set
	Loaders  int      // connections that have loaded
	Alone    string   // the reason for fewer connections, or tables at a time, than wanted, or ""; it ends a sentence
	Skipped  int      // parts that the ledger had already
	Omitted  []string // what a table that was made does not have of its definition, by name
	Existed  bool     // a table was to be made, but was there and empty, and was filled as it is
	Rejected int64    // rows that were refused, and are in the files of [Rejects]
	Changed  []string // columns whose values were converted: the rows of the table have another sum
	Err      error    // why not all was loaded; or, if Rows are all of it, what could not be done after that

	tried  bool              // false if the work ended before
	made   *sink.Filling     // of a table that was made
	later  []string          // what Finish adds to it
	target string            // as the sink writes it
	undo   func(error) error // forgets the rows again, if the transaction of several tables fails
}

// PartialError reports that some of several tables could not be loaded, or not be completed. The others are committed.
type PartialError struct {
	Failed, Tables int
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("load: %d of %d tables failed", e.Failed, e.Tables)
}

// SumError reports that the rows that were loaded are not those that were to be loaded. Nothing is committed.
type SumError struct {
	Wanted, Found         Sum
	WantedRows, FoundRows int64
	Where                 string // "in the file" or "in the table"

	// AsPrinted are the columns, with their types, whose values another system may print in other texts, although they
	// are the same. Those of the other columns are not equal, or these are the reason.
	AsPrinted []string
}

func (e *SumError) Error() string {
	if e.WantedRows != e.FoundRows {
		return fmt.Sprintf("load: there are %d rows %s instead of %d", e.FoundRows, e.Where, e.WantedRows)
	}
	text := fmt.Sprintf("load: the rows %s have the sum %v instead of %v", e.Where, e.Found, e.Wanted)
	if len(e.AsPrinted) > 0 {
		text += "; the values of " + strings.Join(e.AsPrinted, ", ") + " are compared as each system prints them"
	}
	return text
}

// MissingTableError reports that the sink has no table of a name. With [Plan.Create], it is made.
type MissingTableError struct{ Err error }

func (e *MissingTableError) Error() string { return e.Err.Error() }

// Unwrap returns the [*source.UnknownError].
func (e *MissingTableError) Unwrap() error { return e.Err }

func (p *Plan) check() error {
	if p.Filling.Columns != nil || p.Filling.Loaders != 0 {
		return errors.New("load: the plan, not its filling, has columns and the number of loaders")
	}
	if len(p.Types) > 0 && !p.Create {
		return errors.New("load: only tables that are made can get types")
	}
	if p.Rejects != nil {
		if err := p.checkRejects(); err != nil {
			return err
		}
	}
	return p.Filling.Check()
}

// checkConvert fails if no column has a name that Convert has.
func (p *Plan) checkConvert(columns []string) error {
	for _, name := range p.Filling.Convert {
		same := func(column string) bool { return strings.EqualFold(column, name) }
		if !slices.ContainsFunc(columns, same) {
			return unknownColumn(name, columns)
		}
	}
	return nil
}

func (p *Plan) loaders() int { return max(1, p.Loaders) }

// single returns the plan for a single table: no row comes later to which another one refers.
func (p *Plan) single() *Plan {
	one := *p
	one.dangling = true
	return &one
}

// readers returns how many readers of a source, or of a file of columns, have work. If rows can be rejected, they are
// read in order: of those with the same key, the first one is taken.
func (p *Plan) readers() int {
	if p.Rejects != nil {
		return 1
	}
	return p.loaders()
}

func (p *Plan) jobs() int { return cmp.Or(p.Jobs, runtime.GOMAXPROCS(0)) }

func (p *Plan) progress() *Progress {
	if p.Progress == nil {
		return new(Progress)
	}
	return p.Progress
}

// damaged is an [export.ErrDamaged] that also is a [*SumError].
func damaged(e *SumError) error { return fmt.Errorf("%w: %w", export.ErrDamaged, e) }

// unknownColumn is the error of a column that the rows do not have.
func unknownColumn(name string, known []string) error {
	return &source.UnknownError{What: "column", Name: name, Known: known}
}
