// Package sink defines where rows go: databases whose tables are filled.
//
// A [Sink] is an open database. [Sink.Table] begins to fill a table, as a [Filling] says. The [Table] has one or
// several loaders, which take rows; then all rows are committed, or none:
//
//	table, err := db.Table(ctx, "orders", sink.Filling{Loaders: 4})
//	if err != nil {
//		return err
//	}
//	defer table.Discard() // does nothing after Commit
//	for _, loader := range table.Loaders() {
//		… // in a goroutine of its own:
//		err := loader.Load(&batch)
//		…
//		rows, sum, err := loader.Sum() // if the caller wants to compare
//		…
//		rows, err := loader.Close()
//	}
//	return table.Commit()
//
// It is the other end of package source, and uses its words: a [culvert/source.Batch] has rows, whose values have a
// [culvert/source.Kind].
//
// Packages postgres, mysql and sqlite fill the tables of a database. Package sinktest is the suite that they pass.
//
// # Text
//
// Some databases read the text of rows faster than a client can bind their values. A table of such a database is a
// [TextTable], and its loaders are [TextLoader]. If a file has the same format, such as CSV for PostgreSQL, its text is
// loaded as it is, without parsing. Otherwise callers can encode batches on all cores, by the encoder of the format. If
// the table is a [BinaryTable] too, callers can take work from the database: they make its binary form of the rows.
//
// # Groups
//
// Several tables can be filled in one transaction, if the sink is a [Grouper]: tables that refer to each other, or many
// small ones. Each is filled as usual, but committing it only completes it. Then [Group.Commit] commits all of them:
//
//	group, err := db.(sink.Grouper).Group(ctx, []sink.Member{
//		{Name: "orders", Filling: f},
//		{Name: "customers", Filling: f},
//	})
//	if err != nil {
//		return err
//	}
//	defer group.Discard() // does nothing after Commit
//	for _, i := range group.Order() {
//		table, err := group.Table(i)
//		…
//		err = table.Commit()
//		…
//	}
//	return group.Commit()
//
// # What is certain
//
// The database counts the rows that a loader has sent, and [Loader.Flush] and [Loader.Close] return its number.
// [Loader.Sum] reads the rows back before they are committed, and returns their checksum, which an export has in its
// manifest.
//
// If the connection is lost while the database commits, its answer is lost too. If it can, a sink then asks over
// another connection what has become of the transaction. Without an answer, the error is [ErrUnconfirmed].
//
// # Parts and the ledger
//
// Rows may come in parts, such as the files of a large table. [Loader.EndPart] records a part in a table of the same
// database, the ledger, in the transaction of its rows. [Table.Loaded] returns these parts, so a load that is repeated
// loads only what is missing. All parts are committed together with the table, or, with [Filling.EachPart], each part
// when it ends.
//
// # Trust
//
// Only [Filling.Create] runs statements that come from elsewhere. A sink refuses a definition that makes anything else
// than a table and its indexes: see [CheckStatements]. Expressions in it can still call every function that the user of
// the database may call.
//
// # Drivers
//
// What is the same for every database is here, and decided once: what a filling may be ([Filling.Check]), which columns
// the rows have ([Target.Choose]), what becomes of the rows that the table and the ledger have ([Target.Look],
// [Target.CheckExisting]), and in which order a table and its loaders may be used. The table of a database embeds a
// [TableState], its loader a [LoaderState], and its group a [GroupState]. These have the methods of [Table], [Loader]
// and [Group], and call those of [Driver], [LoaderDriver] and [GroupDriver], which only execute: they find and count,
// add and commit.
//
// # Errors
//
// Besides the errors of this package, names that do not exist are a [*culvert/source.UnknownError], and errors of a
// database that cannot be reached, or has closed the connection, are [culvert/source.ErrUnavailable]. A row that the
// database refuses is a [*RowError].
package sink

import (
	"context"
	"io"

	"culvert/format"
	"culvert/internal/rowsum"
	"culvert/source"
)

// Sink is an open database. It fills one table at a time: asking for another before it is committed or discarded is an
// error. A Sink must be used by one goroutine at a time.
type Sink interface {
	// Plan says what Table would do, and changes nothing. Its errors are those that Table would return at once.
	Plan(ctx context.Context, name string, f Filling) (Plan, error)

	// Table begins to fill a table. The database's rules resolve the name, as for [source.Source]. Nobody else can see
	// any change before the table is committed, except as the sink documents for several loaders, and with
	// [Filling.EachPart].
	//
	// The context governs the table and its loaders. When it ends, they fail, and only Discard and Close can be called.
	//
	// The error is a [*source.UnknownError] if there is no such table or column, [ErrNotEmpty] if the table must be
	// empty and is not, [ErrGone] if it must have the rows of the ledger and has fewer, a [*ReferencedError] if its
	// rows are to be replaced and others refer to them, [ErrExists] if it is to be made but exists, [ErrBusy] if
	// another load fills it, and [ErrLocked] if others keep it locked for too long.
	Table(ctx context.Context, name string, f Filling) (Table, error)

	// Close discards the table that is being filled, and closes the connection.
	Close() error
}

// Planner is implemented by sinks that can look several tables up together, which takes less time.
type Planner interface {
	// Plans does what Plan does for each of some tables, and returns an error for each. The fillings must have the same
	// Ledger, LockTimeout and Redact.
	Plans(ctx context.Context, tables []Member) ([]Plan, []error)
}

// Cloner is implemented by sinks of databases that can fill several tables at once.
type Cloner interface {
	// Clone opens another sink with the same address and settings as this one. A table may be open here.
	Clone(ctx context.Context) (Sink, error)
}

// Creator is implemented by sinks that can make tables ([Filling.Create]).
type Creator interface {
	// Finish adds the foreign keys of a table that was made by this filling and committed. The tables that they refer
	// to must have their rows. No table may be open. Foreign keys that the table has are left as they are.
	Finish(ctx context.Context, name string, f Filling) error
}

// Later returns the names for [Plan] of the foreign keys of a definition, which may be nil.
func Later(d *source.Definition) []string {
	var names []string
	if d == nil {
		return nil
	}
	for _, c := range d.Constraints {
		if c.Kind == source.ForeignKey {
			names = append(names, c.Name)
		}
	}
	return names
}

// Analyzer is implemented by sinks of databases with statistics that the planner of queries uses.
type Analyzer interface {
	// Analyze updates the statistics of a table. No table may be open. Of the filling, only LockTimeout and Redact are
	// of use.
	Analyze(ctx context.Context, name string, f Filling) error
}

// Table is a table that is being filled. Its methods must be called by one goroutine at a time, and Commit and Discard
// only when no loader is in use.
type Table interface {
	// Columns describes the values that each row must have, in order. The slice belongs to the Table.
	Columns() []source.Column

	// Loaders returns the loaders: at least one, and at most as many as were wanted. [Plan.Alone] and
	// [Limited] say why there are not more. Each must be closed before Commit. The slice belongs to the Table.
	Loaders() []Loader

	// Loaded returns the parts of the load that the ledger has from earlier times. They must not be loaded again.
	Loaded() []Part

	// Commit completes the table. It fails, and changes nothing, if a loader has failed or is not closed. After any
	// other error nothing remains of what was not committed before, except after [ErrUnconfirmed].
	Commit() error

	// Discard ends the filling and undoes what is not committed. It does nothing after Commit. An error means that
	// something may remain, and says what.
	Discard() error
}

// Sum is a checksum of rows, which does not depend on their order. It is the Sum of package export.
type Sum = rowsum.Sum

// Loader adds rows to a table. It must be used by one goroutine at a time; each loader of a table needs its own. After
// an error, all its methods return that error.
type Loader interface {
	// Load adds the rows of a batch, some of which may be lent. It does not retain their values. If the database
	// refuses a row, the error may come from a later call.
	Load(b *source.Batch) error

	// Flush waits until the database has taken all rows. It returns the number of rows since the last part ended, or
	// since the beginning, as the database has counted them. Rows can be added after it.
	Flush() (rows int64, err error)

	// Sum flushes, reads back the rows of this loader that are not committed, and returns their number and sum. An
	// export of these rows has the same sum, if its columns are in the same order; with [Filling.Logical], an export of
	// equal rows of another system has it as its canonical sum. For rows in binary form, see [BinaryTable.TakesBinary].
	// Deferred triggers have changed them already, and constraints are not deferred after it. The database reads the
	// whole table for it, with the rows that are not of this loader. With [Ignore] and [Update], the rows are those
	// that were written, as the table has them, and those that Ignore drops, as they were sent; more rows can follow
	// only when these are committed as a part. The error is [errors.ErrUnsupported] if the database cannot tell the
	// rows of this loader from others.
	Sum() (rows int64, sum Sum, err error)

	// EndPart flushes, and records all rows since the last part ended as a part. Their number must be p.Rows; otherwise
	// the error is a [*CountError]. With [Filling.EachPart] the part is committed, and the error can be
	// [ErrUnconfirmed]. Without a ledger, nothing is recorded.
	EndPart(p Part) error

	// Close flushes, and ends the loader. It returns the number of rows since the last part ended. With
	// [Filling.EachPart], it is an error if there are any.
	Close() (rows int64, err error)
}

// Dynamic is implemented by tables of databases in which each value has a type of its own, whatever its column, and
// JSON is text.
type Dynamic interface{ Dynamic() }

// Limited is implemented by tables of servers that may accept fewer connections than [Plan.Loaders] has promised.
type Limited interface {
	// Alone says why there are fewer loaders than were wanted, or "". It ends a sentence.
	Alone() string
}

// Fitter is implemented by tables that write some values in another form than they have in their source, such as a
// text as the binary data of its bytes.
type Fitter interface {
	// Fit returns rows in the form that the database reads: the same batch, or another one. [Loader.Sum] returns the
	// sum of such rows, if the database prints them as it has read them. The error is a [*RowError] with the row of the
	// batch, and an [ErrChanged], if a column would change a value. [Loader.Load] does this itself. Fit is safe for
	// concurrent use.
	Fit(b *source.Batch) (*source.Batch, error)
}

// TextTable is implemented by tables whose loaders are all [TextLoader]. Rows must be fitted before they are encoded.
type TextTable interface {
	Table
	Fitter

	// Format returns the format of the text that the loaders read. Its encoder for [Table.Columns] is safe for
	// concurrent use. [format.CSV] means that files of CSV can be loaded as they are, except for their header, if
	// KeepsText is true.
	Format() format.Format

	// KeepsText reports whether the database reads a text of whole rows in that format to its end, and every column
	// keeps its values. Otherwise the rows must be decoded, and passed to Fit, which says what is wrong, if anything
	// is. It is safe for concurrent use.
	KeepsText(text []byte) bool
}

// TextLoader is implemented by loaders of databases that read text.
type TextLoader interface {
	Loader

	// LoadText adds the rows of a text, up to the end of r, in the format of the table and without a header. Each row
	// must be complete, with its line feed. Reads may return any part of the text; their bytes are copied once, into
	// the memory of the connection. An error of r ends the loader with that error, and none of its rows are committed.
	LoadText(r io.Reader) error
}

// CSVTable is implemented by tables whose loaders are all [CSVLoader]: what these send can be made of lines of CSV at
// once, which takes less time than to make batches of them.
type CSVTable interface {
	Table

	// FromCSV returns the function for text with these fields, or nil if batches must be made.
	FromCSV(fields []format.Field) CSVRows
}

// CSVRows appends what loaders send for a text of whole rows, and shows each row to lines. It returns the number of the
// rows, and that of the lines in which they are. It returns false, and what it was given, if the rows must be decoded
// and passed to [Loader.Load], which says what is wrong, if anything is; lines may have seen some then. It is safe for
// concurrent use.
type CSVRows func(dst, text []byte, lines format.Lines) (made []byte, rows, feeds int64, ok bool)

// CSVLoader is implemented by loaders of a [CSVTable].
type CSVLoader interface {
	Loader

	// LoadCSV adds rows that [CSVRows] has made, and does not retain them.
	LoadCSV(made []byte, rows int64) error
}

// BinaryTable is implemented by a [TextTable] whose loaders are all [BinaryLoader]: the database also reads rows in a
// binary form, which takes it less time. What that form cannot have, the text has.
type BinaryTable interface {
	TextTable

	// AppendBinary appends fitted rows in the binary form. It returns false, and what it was given, if they must be
	// loaded as text. It is safe for concurrent use.
	AppendBinary(dst []byte, b *source.Batch) ([]byte, bool)

	// AppendTextAsBinary is AppendBinary for a text for which KeepsText is true.
	AppendTextAsBinary(dst, text []byte) ([]byte, bool)

	// TakesBinary reports whether the loaders take what a [source.BinaryWriter] of the same system writes of rows with
	// these columns, as it is: these have the types of the table, so no value is changed. If so, [Loader.Sum] returns
	// the sum of rows in this form from then on, and all rows must come like that. It is called before the first one.
	TakesBinary(columns []source.Column) bool
}

// BinaryLoader is implemented by loaders of databases that read rows in a binary form.
type BinaryLoader interface {
	TextLoader

	// LoadBinary adds the rows up to the end of r, as LoadText does. The Row of a [RowError] counts the rows of r.
	LoadBinary(r io.Reader) error
}
