package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync/atomic"

	"culvert/convert"
	"culvert/format"
	"culvert/place"
	"culvert/sink"
)

// DefaultRejects is the most rows that are rejected unless [Rejects] says otherwise.
const DefaultRejects = 1000

// Rejects says what becomes of rows that are refused: by the database, by a conversion, or because they have more or
// fewer values than the file has columns. Each goes to a file, and the load goes on.
//
// A file that is loaded, each file of an export, and each table that is copied has a file of its own for the rows that
// are rejected of it. It is committed before the rows that are taken, and removed if these are not committed after all.
// So, whenever a load with a ledger ends and is run again, each row is in the table or in the file of its
// part, and in one of them only.
//
// The file is CSV. Its first columns are rejected_row, the number of the row in the file; rejected_column, which may be
// empty; and rejected_reason. Then come the columns of the file, and each row as it was there, byte for byte, so that
// the file can be loaded as CSV once the rows are mended. Rows of JSON Lines are in one column with the name json.
// Rows of Parquet, Arrow and tables are written as [format.CSV], after they are masked and before they are converted.
type Rejects struct {
	// Most is the most rows that are rejected of all files together, before the load ends with a [*RejectsError]. Zero
	// is [DefaultRejects], and a negative number none.
	Most int64

	// Create begins the file for the rows of a file, or a table of a source, with this name. It is called for the first
	// row that is rejected. Into identifies the table that is filled among those of all databases: with a ledger, loads
	// of one file into several tables need files of different names, in which a later call can replace them.
	Create func(ctx context.Context, name, into string) (place.File, error)

	// Remove removes the file that Create has made, or that an earlier load has left, for a part of a load with a
	// ledger. It is no error if there is none. If the rows are not committed, the context may have ended.
	Remove func(ctx context.Context, name, into string) error

	rows atomic.Int64
}

func (r *Rejects) most() int64 {
	if r.Most == 0 {
		return DefaultRejects
	}
	return max(0, r.Most)
}

// checkRejects returns an error if rows cannot be rejected as the plan says.
func (p *Plan) checkRejects() error {
	switch {
	case p.Rejects.Create == nil || p.Rejects.Remove == nil:
		return errors.New("load: there is nothing that makes the files of rejected rows")
	case p.Filling.Conflict != sink.Fail:
		return errors.New("load: rows that may be in conflict are refused together at the end, and cannot be rejected")
	case p.ReadBack && (p.Filling.Existing == sink.Append || p.Filling.Ledger != nil):
		return errors.New("load: rows can be rejected and the others read back only if the table has no other rows")
	}
	return nil
}

// RejectsError reports that more rows are refused than may be rejected.
type RejectsError struct {
	Most int64
	Err  error // of the last row
}

func (e *RejectsError) Error() string {
	return fmt.Sprintf("load: more than %d rows are refused, the last one: %v", e.Most, e.Err)
}

// Unwrap returns the error of the last row.
func (e *RejectsError) Unwrap() error { return e.Err }

// isMost reports whether no more rows may be rejected, which ends the load of all tables.
func isMost(err error) bool {
	_, is := errors.AsType[*RejectsError](err)
	return is
}

// rejected is the file of the rows that are rejected of one that is loaded.
type rejected struct {
	of     *Rejects
	ctx    context.Context
	name   string
	into   string
	header []byte // of the rows that are loaded; nil if these are not CSV

	encoder format.Encoder // of rows that are no text, or nil

	again     bool // an earlier load may have left a file
	file      place.File
	text      []byte
	rows      int64 // counted in of
	committed bool
	kept      bool // so are the rows that were taken
}

// reject returns what takes the rows of a piece that are refused, or nil. The header is that of its text. Rows that are
// no text become CSV.
func (t *filling) reject(ctx context.Context, one *piece, header []byte) (r *rejected, err error) {
	if t.plan.Rejects == nil {
		return nil, nil
	}
	again := t.plan.Filling.Ledger != nil
	r = &rejected{of: t.plan.Rejects, ctx: ctx, name: one.name, into: t.job.into, again: again}
	switch t.job.from.(type) {
	case format.CSV:
		r.header = header
	case nil:
		if r.encoder, err = (format.CSV{}).Encoder(columnsOf(t.job.columns.read())); err != nil {
			return nil, err
		}
		r.header = r.encoder.AppendHeader(nil)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rejects = append(t.rejects, r)
	return r, nil
}

// undoRejects removes the files of rejected rows of all pieces that are not committed.
func (t *filling) undoRejects(reason error) error {
	var all []error
	for _, r := range t.rejects {
		if !r.kept {
			all = append(all, r.undo(reason))
		}
	}
	t.rejects = nil
	return errors.Join(all...)
}

// rejected returns how many rows are rejected, or only those of parts that are committed.
func (t *filling) rejected(committed bool) int64 {
	rows := t.refused
	for _, r := range t.rejects {
		if r.kept || !committed {
			rows += r.rows
		}
	}
	return rows
}

// takeSifted replaces the figures of a piece by those of the rows that were taken.
func (t *filling) takeSifted(workers []*worker, got *figures) {
	*got = figures{}
	for _, w := range workers {
		got.add(w.sifted.taken)
		t.count(-w.sifted.rejected, 0)
	}
}

// isAboutRow reports whether an error names a row.
func isAboutRow(err error) bool {
	_, refused := errors.AsType[*sink.RowError](err)
	_, unread := errors.AsType[*format.RowError](err)
	_, unconverted := errors.AsType[*convert.ValueError](err)
	return refused || unread || unconverted
}

// isDangling reports whether an error is about a row that refers to one which is not there.
func isDangling(err error) bool {
	row, is := errors.AsType[*sink.RowError](err)
	return is && row.Dangling
}

// isRejectable reports whether an error is about a row, which other rows need not share. A row that refers to another
// one may only come too early.
func isRejectable(err error, dangling bool) bool {
	if row, is := errors.AsType[*sink.RowError](err); is {
		return !errors.Is(err, sink.ErrLocked) && isOfValues(row.Code) && (dangling || !row.Dangling)
	}
	return isAboutRow(err)
}

// isOfValues reports whether the code of an error can be about a row: a trigger may raise any. Of an SQLSTATE, these
// are all classes but those for connections, transactions, rights and names, resources, locks, what a user has
// stopped, and the system.
func isOfValues(code string) bool {
	const state = 5 // characters of an SQLSTATE; other databases have shorter or longer codes
	if len(code) != state {
		return true
	}
	switch code[:2] {
	case "08", "25", "28", "40", "42", "53", "55", "57", "58", "F0", "XX":
		return false
	}
	return true
}

// reasonOf returns the column of an error, or "", and what is wrong.
func reasonOf(err error) (column, reason string) {
	if row, is := errors.AsType[*sink.RowError](err); is {
		reason = row.Err.Error()
		if row.Value != "" {
			reason += ": " + strconv.Quote(row.Value)
		}
		return row.Column, reason
	}
	if row, is := errors.AsType[*format.RowError](err); is {
		return row.Column, row.Reason
	}
	if value, is := errors.AsType[*convert.ValueError](err); is {
		return value.Column, value.Rule + ": " + value.Err.Error()
	}
	return "", err.Error()
}

// add adds a row by its number in the file, its error, and its text.
func (r *rejected) add(row int64, err error, text []byte) error {
	r.rows++
	if most := r.of.most(); r.of.rows.Add(1) > most {
		return about(r.name, &RejectsError{most, err})
	}
	if r.file == nil {
		file, err := r.of.Create(r.ctx, r.name, r.into)
		if err != nil {
			return err
		}
		r.file, r.text = file, r.begin()
	}
	column, reason := reasonOf(err)
	r.text = strconv.AppendInt(r.text, row, 10)
	r.text = appendQuoted(append(r.text, ','), column)
	r.text = append(appendQuoted(append(r.text, ','), reason), ',')
	if r.header != nil {
		if r.text = append(r.text, text...); !strings.HasSuffix(string(text), "\n") { // the last one of the file
			r.text = append(r.text, '\n')
		}
	} else {
		r.text = append(appendQuoted(r.text, strings.TrimSpace(string(text))), '\n')
	}
	_, err = r.file.Write(r.text)
	r.text = r.text[:0]
	return err
}

// begin returns the header. A file of rejected rows that is loaded has columns with such names already.
func (r *rejected) begin() (text []byte) {
	header := r.header
	if header == nil {
		header = []byte("json\n")
	}
	for _, name := range []string{"rejected_row", "rejected_column", "rejected_reason"} {
		unique := name
		for n := 2; strings.Contains(string(header), unique); n++ {
			unique = name + "_" + strconv.Itoa(n)
		}
		text = append(append(text, unique...), ',')
	}
	return append(text, header...)
}

// appendQuoted appends a value of CSV.
func appendQuoted(dst []byte, value string) []byte {
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(value, `"`, `""`)...)
	return append(dst, '"')
}

// commit completes the file, or removes what an earlier load has left if no row is rejected.
func (r *rejected) commit() error {
	switch {
	case r.file != nil:
		err := r.file.Commit()
		r.committed = !errors.Is(err, fs.ErrExist) // that is of another load; others may leave this one
		return err
	case r.again:
		return r.of.Remove(r.ctx, r.name, r.into)
	}
	return nil
}

// undo removes the file, since the rows that were taken are not committed, for this reason. After some errors, nobody
// knows whether they are.
func (r *rejected) undo(reason error) (err error) {
	r.of.rows.Add(-r.rows)
	r.rows = 0
	switch {
	case r.committed && !errors.Is(reason, sink.ErrUnconfirmed):
		err = r.of.Remove(context.WithoutCancel(r.ctx), r.name, r.into)
	case r.file != nil:
		err = r.file.Discard()
	}
	return err
}
