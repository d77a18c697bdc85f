package fill

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"culvert/sink"
	"culvert/sink/grammar"
	"culvert/source"
	"culvert/sqlite/internal/valuetext"
)

// largeRow is the size of a row whose memory is worth a call.
const largeRow = 1 << 20

// loader is the one loader of a table.
type loader struct {
	sink.LoaderState
	table   *table
	stmt    *sqlite3.Stmt // adds a row
	several *sqlite3.Stmt // adds a group of rows, or nil
	probe   *sqlite3.Stmt // adds a row, whatever the filling says of its key, or nil
	group   int
	taken   int64 // since they were sent

	grammars []grammar.Grammar // by column
}

func (l *loader) finish() {
	for _, stmt := range []*sqlite3.Stmt{l.stmt, l.several, l.probe} {
		if stmt != nil {
			finish(stmt)
		}
	}
	l.stmt, l.several, l.probe = nil, nil, nil
}

// Add adds the rows of a batch.
func (l *loader) Add(b *source.Batch) (err error) {
	defer l.table.db.catch(&err)
	if err := l.check(b); err != nil {
		return err
	}
	for row := 0; row < b.Rows(); {
		n, err := l.add(b, row)
		if err != nil {
			return err
		}
		row += n
		l.taken += int64(n)
	}
	return nil
}

// add adds a group of rows, or one row if there are fewer rows or one of them is refused.
func (l *loader) add(b *source.Batch, row int) (rows int, err error) {
	if l.several != nil && b.Rows()-row >= l.group {
		switch err = l.addGroup(b, row); {
		case err == nil:
			return l.group, nil
		case !ofRow(err) || l.table.ended() != nil:
			return 0, l.table.db.fail(l.table.ctx, err)
		}
	}
	if err = l.bind(l.stmt, 0, b, row); err == nil {
		err = l.stmt.Exec()
	}
	if err == nil && b.RowBytes(row) > largeRow { // whose values would stay in memory beside those of the next row
		err = l.stmt.ClearBindings()
	}
	if err == nil && l.table.db.conn.Changes() != 1 {
		switch conflict, err := l.inConflict(b, row); {
		case err != nil:
			return 0, l.table.db.fail(l.table.ctx, err)
		case !conflict:
			return 0, &sink.RowError{
				Table: l.table.plan.Table, Row: l.taken + 1,
				Err: errors.New("the row was left out, by a trigger or ON CONFLICT"),
			}
		}
	}
	if err != nil {
		return 0, l.refused(l.table.ctx, err, l.taken+1, func(column int) string {
			kind, value := b.AnyValue(row, column)
			if kind == source.Bytes {
				return `\x` + hex.EncodeToString(value[:min(len(value), sink.MaxValue)])
			}
			return string(value)
		})
	}
	return 1, nil
}

// inConflict reports whether a row that was not added has a key that the table has, and is to be left out for that.
// SQLite does not say why it leaves a row out. So the row is added once more, by a statement that fails if the key
// exists.
func (l *loader) inConflict(b *source.Batch, row int) (conflict bool, err error) {
	if !l.table.keeps() {
		return false, nil
	}
	if l.probe == nil {
		if l.probe, _, err = l.table.db.conn.Prepare(l.table.insertSQL("INSERT OR ABORT", 1)); err != nil {
			return false, err
		}
	}
	if err := l.bind(l.probe, 0, b, row); err != nil {
		return false, err
	}
	if err := l.table.db.conn.Exec("SAVEPOINT culvert_probe"); err != nil {
		return false, err
	}
	added := l.probe.Exec()
	code, _ := errors.AsType[sqlite3.ExtendedErrorCode](added)
	switch code {
	case sqlite3.CONSTRAINT_UNIQUE, sqlite3.CONSTRAINT_PRIMARYKEY, sqlite3.CONSTRAINT_ROWID:
		conflict, added = true, nil
	}
	return conflict, errors.Join(added,
		l.table.db.conn.Exec("ROLLBACK TO culvert_probe"), l.table.db.conn.Exec("RELEASE culvert_probe"))
}

func (l *loader) addGroup(b *source.Batch, row int) error {
	for i := range l.group {
		if err := l.bind(l.several, i*b.Columns(), b, row+i); err != nil {
			return err
		}
	}
	return l.several.Exec()
}

// bind binds the values of a row to the parameters after the given one.
func (l *loader) bind(stmt *sqlite3.Stmt, param int, b *source.Batch, row int) error {
	for column, affinity := range l.table.affinities {
		kind, value := b.AnyValue(row, column)
		param++
		var err error
		switch {
		case kind == source.Null:
			err = stmt.BindNull(param)
		case kind == source.Bytes:
			err = stmt.BindBlob(param, value)
		case affinity != valuetext.Textual && kind == source.Number:
			err = l.bindNumber(stmt, param, affinity, value)
		case affinity != valuetext.Textual && kind == source.Bool:
			err = stmt.BindBool(param, string(value) == "t")
		default:
			err = stmt.BindRawText(param, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bindNumber binds a number as what SQLite prints in these digits, or, where SQLite converts text to a number, as the
// number, since Go's conversion is exact. SQLite prints no number as a name, so Infinity from another SQLite database
// is a text.
func (l *loader) bindNumber(stmt *sqlite3.Stmt, param int, a valuetext.Affinity, value []byte) error {
	if n, ok := integer(value); ok {
		return stmt.BindInt64(param, n)
	}
	number, err := strconv.ParseFloat(string(value), 64)
	isName := l.table.filling.From == source.SQLite && bytes.ContainsAny(value, "iI")
	if err != nil && !math.IsInf(number, 0) || number != number || isName {
		return stmt.BindRawText(param, value)
	}
	var text [32]byte
	if a == valuetext.Numeric || string(valuetext.RealText(text[:0], number)) == string(value) {
		return stmt.BindFloat(param, number)
	}
	return stmt.BindRawText(param, value)
}

// integer returns the integer whose decimal digits these are, without a plus sign or leading zeros.
func integer(value []byte) (n int64, ok bool) {
	digits := value
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	const safe = 18 // digits that fit
	if len(digits) == 0 || len(digits) > safe+1 || digits[0] == '0' && len(value) > 1 {
		return 0, false
	}
	if len(digits) > safe {
		n, err := strconv.ParseInt(string(value), 10, 64)
		return n, err == nil
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(value) {
		n = -n
	}
	return n, true
}

// Send returns the number of rows. SQLite has taken each of them when Add returned.
func (l *loader) Send() (int64, error) {
	rows := l.taken
	l.taken = 0
	return rows, nil
}

// Record records a part.
func (l *loader) Record(p sink.Part) (err error) {
	t := l.table
	defer t.db.catch(&err)
	if err := t.ended(); err != nil {
		return err
	}
	_, err = t.db.textRows(t.ctx, "INSERT INTO "+t.ledger()+` (load, table_name, part, row_count, row_sum, loaded_at)
		VALUES (?, ?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))`,
		t.filling.Ledger.Load, t.name, p.Name, strconv.FormatInt(p.Rows, 10), p.Sum)
	return err
}

// CommitPart commits a part, and begins the next transaction.
func (l *loader) CommitPart() (err error) {
	t := l.table
	defer t.db.catch(&err)
	if err := t.db.exec(t.ctx, commitSQL); err != nil {
		return err
	}
	t.empty = false
	t.recorded++
	if err := t.db.exec(t.ctx, beginSQL); err != nil {
		return err
	}
	return t.checkLedger()
}

// ReadBack reads the rows. It can tell them from others if the table was empty when the transaction began.
func (l *loader) ReadBack() (rows int64, sum sink.Sum, err error) {
	t := l.table
	defer t.db.catch(&err)
	if !t.empty || t.filling.Conflict != sink.Fail {
		return 0, sum, fmt.Errorf("sqlite: table %q has other rows too: %w", t.name, errors.ErrUnsupported)
	}
	var names []string
	for _, c := range t.plan.Columns {
		names = append(names, sqlite3.QuoteIdentifier(c.Name))
	}
	stmt, _, err := t.db.conn.Prepare("SELECT " + strings.Join(names, ", ") + " FROM " + t.sql)
	if err != nil {
		return 0, sum, t.db.fail(t.ctx, err)
	}
	defer finish(stmt)
	return t.filling.SumOf(t.plan.Columns, func(use func(b *source.Batch) error) error {
		var row source.Batch
		for row.Reset(len(names)); stmt.Step(); row.Reset(len(names)) {
			if err := valuetext.Append(&row, stmt, len(names)); err != nil {
				return t.db.fail(t.ctx, err)
			}
			row.EndRow()
			if err := use(&row); err != nil {
				return err
			}
		}
		if err := stmt.Err(); err != nil {
			return t.db.fail(t.ctx, err)
		}
		return nil
	})
}

// Complete ends the loader.
func (l *loader) Complete() error {
	l.finish()
	return nil
}

// SetMark makes a savepoint.
func (l *loader) SetMark(again bool) (err error) {
	t := l.table
	defer t.db.catch(&err)
	if err := t.ended(); err != nil {
		return err
	}
	if again {
		if err := t.db.exec(t.ctx, "RELEASE culvert_mark"); err != nil {
			return err
		}
	}
	return t.db.exec(t.ctx, "SAVEPOINT culvert_mark")
}

// UndoToMark goes back to the savepoint.
func (l *loader) UndoToMark() (err error) {
	t := l.table
	defer t.db.catch(&err)
	if err := t.ended(); err != nil {
		return err
	}
	l.taken = 0
	return t.db.exec(t.ctx, "ROLLBACK TO culvert_mark")
}
