package fill

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"culvert/format"
	"culvert/internal/rowsum"
	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/sink"
	"culvert/sink/grammar"
	"culvert/source"
)

// errClosed is the error of a loader that was closed.
var errClosed = errors.New("mysql: the loader is closed")

const (
	// pieceSize is the text that is sent at once, unless a row is larger. More is not faster.
	pieceSize = 4 << 20

	// statementSize is the same for INSERT, of which the server keeps more in memory than its text.
	statementSize = 1 << 20

	// keptSize is the largest memory that is used again.
	keptSize = 2 * pieceSize
)

// loader is the one loader of a table.
type loader struct {
	t    *table
	w    writer
	into string
	size int // of a piece

	piece []byte
	held  int64 // rows in the piece

	errorValues int // in the piece

	taken int64 // rows since the last Flush, held or sent
	rows  int64 // that the server has counted since the last part

	closed bool
	err    error
}

func newLoader(t *table) *loader {
	columns := slices.Clone(t.columns)
	for i := range columns {
		c := &columns[i]
		if c.grammar = grammar.Narrow(c.grammar, source.MySQL, c.Type, t.Origin(i)); t.Converts(c.Name) {
			c.grammar = nil
		}
	}
	l := &loader{t: t, w: writer{columns: columns, lists: !t.db.infile}, into: t.target.SQL(), size: pieceSize}
	if t.arrives() {
		l.into = t.arrivals()
	}
	if l.w.lists {
		l.size = min(statementSize, t.db.packet)
		l.piece = append(l.piece, insertSQL(l.into, t.columns)...)
	}
	return l
}

// start returns the length of what precedes the rows of a piece.
func (l *loader) start() int {
	if !l.w.lists {
		return 0
	}
	return len(insertSQL(l.into, l.t.columns))
}

func (l *loader) finish() {
	l.piece = nil
	if l.err == nil {
		l.err = errClosed
	}
}

// fail remembers an error, which all later calls return.
func (l *loader) fail(err error) error {
	if l.err == nil {
		l.err = err
	}
	return err
}

// Load adds the rows of a batch.
func (l *loader) Load(b *source.Batch) error {
	if l.err != nil {
		return l.err
	}
	if err := l.load(b); err != nil {
		return l.fail(err)
	}
	return nil
}

func (l *loader) load(b *source.Batch) error {
	if b.Columns() != len(l.t.columns) {
		return fmt.Errorf("mysql: rows of %d columns, want %d", b.Columns(), len(l.t.columns))
	}
	if err := l.t.ctx.Err(); err != nil {
		return fmt.Errorf("mysql: loading %s: %w", l.t.target, err)
	}
	for row := range b.Rows() {
		end := len(l.piece)
		var err error
		l.piece, err = l.w.appendRow(l.piece, b, row)
		if refused, ok := errors.AsType[*valueError](err); ok {
			return l.refusedValue(refused)
		} else if err != nil {
			return err
		}
		l.held++
		l.taken++
		l.errorValues += l.w.errorValues
		if len(l.piece) > l.size && l.w.lists && l.held > 1 {
			if err := l.sendBefore(end); err != nil {
				return err
			}
		}
		if len(l.piece) >= l.size || l.errorValues >= maxErrorValues {
			if err := l.send(); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendBefore sends the rows before the last one, since the statement may not be larger.
func (l *loader) sendBefore(end int) error {
	last := append([]byte(nil), l.piece[end:]...)
	l.piece = l.piece[:end]
	l.held--
	l.taken--
	l.errorValues -= l.w.errorValues
	if err := l.send(); err != nil {
		return err
	}
	l.piece = append(l.piece, last...)
	l.held++
	l.taken++
	l.errorValues += l.w.errorValues
	return nil
}

// refusedValue is the error of a value that the next row of the loader has.
func (l *loader) refusedValue(e *valueError) error {
	row := &sink.RowError{
		Table: l.t.target.SQL(), Row: l.taken + 1, Column: e.column.Name, Code: codeValue, Err: e.err,
	}
	if !l.t.Redact {
		row.Value = sink.Shorten(e.text())
	}
	return row
}

// codeValue is the code of values that the server would read as others: ER_TRUNCATED_WRONG_VALUE_FOR_FIELD.
const codeValue = "1366"

// send sends the piece, and checks what the server says.
func (l *loader) send() error {
	if l.held == 0 {
		return nil
	}
	if err := l.tolerate(l.sendPiece); err != nil {
		return err
	}
	l.held, l.errorValues = 0, 0
	l.piece = l.piece[:l.start()]
	if cap(l.piece) > keptSize {
		l.piece = append([]byte(nil), l.piece...)
	}
	return nil
}

func (l *loader) sendPiece() error {
	var rows int64
	var err error
	conn, start := l.t.db.conn, l.start()
	before := l.taken - l.held
	switch {
	case !l.w.lists:
		rows, err = conn.LoadText(l.t.ctx, loadSQL(l.into, l.t.columns), l.piece)
	case len(l.piece) > l.t.db.packet:
		return l.t.rowTooLarge(before+1, len(l.piece))
	default:
		const end = len(",\n") // after the last row
		rows, err = conn.Affect(l.t.ctx, string(l.piece[:len(l.piece)-end]))
	}
	if err != nil {
		return l.refused(err, l.piece[start:], before)
	}
	if err := l.warned(l.piece[start:], before); err != nil {
		return err
	}
	if rows != l.held {
		return &sink.CountError{Table: l.t.target.SQL(), Sent: l.held, Counted: rows}
	}
	l.rows += rows
	return nil
}

// rowTooLarge is the error of a row that does not fit into a statement.
func (t *table) rowTooLarge(row int64, size int) error {
	err := fmt.Errorf("the row takes %d bytes, and the server accepts %d at once; set local_infile = ON there, or a "+
		"larger max_allowed_packet", size, t.db.packet)
	return &sink.RowError{Table: t.target.SQL(), Row: row, Code: "1153", Err: err}
}

// Flush sends the rows that are held.
func (l *loader) Flush() (int64, error) {
	if l.err != nil {
		return 0, l.err
	}
	if err := l.send(); err != nil {
		return 0, l.fail(err)
	}
	l.taken = 0
	return l.rows, nil
}

// merge adds the rows that have arrived in the temporary table.
func (l *loader) merge() error {
	if !l.t.arrives() {
		return nil
	}
	if err := l.t.db.conn.Exec(l.t.ctx, l.t.mergeSQL()); err != nil {
		return l.refused(err, nil, 0)
	}
	return l.warned(nil, 0)
}

// EndPart records a part.
func (l *loader) EndPart(p sink.Part) error {
	if _, err := l.Flush(); err != nil {
		return err
	}
	if err := l.endPart(p); err != nil {
		return l.fail(err)
	}
	return nil
}

func (l *loader) endPart(p sink.Part) error {
	t := l.t
	if l.rows != p.Rows {
		return &sink.CountError{Table: t.target.SQL(), Part: p.Name, Sent: p.Rows, Counted: l.rows}
	}
	l.rows = 0
	if t.Ledger == nil {
		return nil
	}
	if t.EachPart {
		if err := l.merge(); err != nil {
			return err
		}
	}
	if err := t.db.record(t.ctx, t.plan, p); err != nil {
		return err
	}
	t.last = p.Name
	if !t.EachPart {
		return nil
	}
	if err := t.commit(); err != nil {
		return err
	}
	if t.db.conn.Gone {
		return l.t.db.lost(p)
	}
	t.empty, t.last = false, ""
	if t.arrives() {
		if err := t.db.conn.Exec(t.ctx, "DELETE FROM "+t.arrivals()); err != nil {
			return t.db.failed(t.ctx, "clearing a temporary table", err)
		}
	}
	return t.db.failed(t.ctx, "beginning a transaction", t.db.conn.Exec(t.ctx, beginSQL))
}

// lost is the error of a connection that was lost when a part was committed.
func (db *DB) lost(p sink.Part) error {
	return &wire.LostError{
		Text: "mysql: the connection was lost, after part " + strconv.Quote(p.Name) + " was committed",
		Err:  io.ErrUnexpectedEOF,
	}
}

// Sum reads the rows back: from the temporary table, or from the table if it had no others when the transaction began.
// Its snapshot shows none of others.
func (l *loader) Sum() (rows int64, sum sink.Sum, err error) {
	if _, err := l.Flush(); err != nil {
		return 0, sink.Sum{}, err
	}
	if !l.t.empty && !l.t.arrives() {
		err := fmt.Errorf("mysql: %s has other rows too: %w", l.t.target, errors.ErrUnsupported)
		return 0, sink.Sum{}, l.fail(err)
	}
	encoder, err := format.CSV{}.Encoder(l.t.sourceColumns())
	if err != nil {
		return 0, sink.Sum{}, l.fail(err)
	}
	var lines rowsum.Adder
	var text []byte
	err = l.read(func(b *source.Batch) (err error) {
		if text, err = encoder.AppendRows(text[:0], b); err == nil {
			lines.Line(text)
			rows++
		}
		return err
	})
	if err != nil {
		err = l.t.db.failed(l.t.ctx, "reading back "+l.t.target.String(), err)
		return 0, sink.Sum{}, l.fail(err)
	}
	return rows, lines.Sum, nil
}

// read calls use with each row.
func (l *loader) read(use func(b *source.Batch) error) (err error) {
	conn, ctx := l.t.db.conn, l.t.ctx
	statement, err := conn.Prepare(ctx, "SELECT "+list(l.t.columns, "")+" FROM "+l.into, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, wire.Guarded(statement.Close)) }()
	var found driver.Rows
	if err := wire.Guarded(func() (err error) {
		found, err = statement.(driver.StmtQueryContext).QueryContext(ctx, nil)
		return err
	}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, wire.Guarded(found.Close)) }()
	types := found.(driver.RowsColumnTypeDatabaseTypeName)
	values := make([]driver.Value, len(found.Columns()))
	if len(values) != len(l.t.columns) {
		return wire.ErrAnswer
	}
	var decoders []catalog.Decoder
	for i, c := range l.t.columns {
		decoders = append(decoders, catalog.DecoderOf(types.ColumnTypeDatabaseTypeName(i), c.JSON))
	}
	var b source.Batch
	var scratch []byte
	for {
		if err := wire.Guarded(func() error { return found.Next(values) }); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		b.Reset(len(values))
		for i, value := range values {
			if err := decoders[i].Append(&b, value, &scratch); err != nil {
				return err
			}
		}
		b.EndRow()
		if err := use(&b); err != nil {
			return err
		}
	}
}

// Close ends the loader.
func (l *loader) Close() (int64, error) {
	rows, err := l.Flush()
	if err != nil {
		return 0, err
	}
	if err := l.merge(); err != nil {
		return 0, l.fail(err)
	}
	l.closed = true
	l.finish()
	return rows, nil
}
