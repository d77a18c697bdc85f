package fill

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"

	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/sink"
	"culvert/sink/grammar"
	"culvert/source"
)

const (
	// pieceSize is the text that is sent at once, unless a row is larger. More is not faster. Connections that share a
	// table send no more together, down to leastSize each.
	pieceSize = 2 << 20
	leastSize = pieceSize / 4

	// statementSize is the same for INSERT, of which the server keeps more in memory than its text.
	statementSize = 1 << 20

	// keptSize is the largest memory that is used again.
	keptSize = 2 * pieceSize
)

// loader is the one loader of a table. While the server adds the rows of a piece, the loader writes the next one.
type loader struct {
	sink.LoaderState
	t    *table
	w    writer
	into string
	size int // of a piece

	piece
	taken int64 // rows since the last Send, held or sent

	marked int64 // added, when the savepoint was made

	// While sending has a goroutine, these fields and the connection belong to it.
	sending sync.WaitGroup
	sent    piece
	rows    int64 // that the server has counted since the last Send
	added   int64 // the same, since the beginning
	failed  error // of the piece that was sent last
}

// piece is the text of the rows that are sent together.
type piece struct {
	text        []byte
	held        int64 // rows
	errorValues int
	before      int64 // rows since the last Send that come before it, once it is sent
}

// empty leaves only the text before the rows, and drops memory that is too large to be kept.
func (p *piece) empty(start int) {
	p.held, p.errorValues, p.text = 0, 0, p.text[:start]
	if cap(p.text) > keptSize {
		p.text = append([]byte(nil), p.text...)
	}
}

// narrowed returns the columns with grammars for the rows that come.
func (t *table) narrowed() []column {
	columns := slices.Clone(t.columns)
	for i := range columns {
		c := &columns[i]
		if c.grammar = grammar.Narrow(c.grammar, source.MySQL, c.Type, t.Origin(i)); t.Converts(c.Name) {
			c.grammar = nil
		} else if from := t.Origin(i); c.class == octets && from.Dialect == source.SQLite && isBlob(from.Type) {
			c.grammar = onlyBinary(c.grammar)
		}
	}
	return columns
}

func newLoader(t *table) *loader {
	l := &loader{t: t, w: writer{columns: t.narrowed(), lists: !t.db.infile}, into: t.target.SQL()}
	l.size = max(leastSize, pieceSize/max(1, t.wanted))
	if t.arrives() {
		l.into = t.arrivals()
	}
	if l.w.lists {
		l.size = min(statementSize, l.size, t.db.packet)
		l.text = append(l.text, insertSQL(l.into, t.columns)...)
		l.sent.text = append(l.sent.text, l.text...)
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

// Add adds the rows of a batch.
func (l *loader) Add(b *source.Batch) error {
	for row := range b.Rows() {
		end := len(l.text)
		var err error
		l.text, err = l.w.appendRow(l.text, b, row)
		if refused, ok := errors.AsType[*valueError](err); ok {
			return l.refusedValue(refused)
		} else if err != nil {
			return err
		}
		l.held++
		l.taken++
		l.errorValues += l.w.errorValues
		if len(l.text) > l.size && l.w.lists && l.held > 1 {
			if err := l.sendBefore(end); err != nil {
				return err
			}
		}
		if len(l.text) >= l.size || l.errorValues >= maxErrorValues {
			if err := l.send(); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendBefore sends the rows before the last one, since the statement may not be larger.
func (l *loader) sendBefore(end int) error {
	last := append([]byte(nil), l.text[end:]...)
	l.text = l.text[:end]
	l.held--
	l.taken--
	l.errorValues -= l.w.errorValues
	if err := l.send(); err != nil {
		return err
	}
	l.text = append(l.text, last...)
	l.held++
	l.taken++
	l.errorValues += l.w.errorValues
	return nil
}

// refusedValue is the error of a value that the next row of the loader has.
func (l *loader) refusedValue(e *valueError) error {
	if err := l.wait(); err != nil {
		return err // of a row that comes before
	}
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

// send waits until the server has added the previous piece, and begins to send this one. An error may be of the
// previous one.
func (l *loader) send() error {
	if err := l.wait(); err != nil || l.held == 0 {
		return err
	}
	l.before = l.taken - l.held
	l.piece, l.sent = l.sent, l.piece
	isLarge := cap(l.sent.text) > keptSize
	l.sending.Go(func() {
		l.failed = l.tolerate(&l.sent, l.sendPiece)
		l.sent.empty(l.start())
	})
	if isLarge {
		return l.wait() // otherwise there may be two such rows in memory
	}
	return nil
}

// wait waits until the server has added the piece that was sent, if there is one.
func (l *loader) wait() error {
	l.sending.Wait()
	return l.failed
}

// sendPiece sends a piece, and checks what the server says.
func (l *loader) sendPiece(p *piece) error {
	var rows int64
	var err error
	conn, start := l.t.db.conn, l.start()
	switch {
	case !l.w.lists:
		rows, err = conn.LoadText(l.t.ctx, l.t.db.loadSQL(l.into, l.t.columns), p.text)
	case len(p.text) > l.t.db.packet:
		return l.t.rowTooLarge(p.before+1, len(p.text))
	default:
		const end = len(",\n") // after the last row
		rows, err = conn.Affect(l.t.ctx, string(p.text[:len(p.text)-end]))
	}
	if err != nil {
		return l.refused(err, p.text[start:], p.before)
	}
	if err := l.warned(p); err != nil {
		return err
	}
	if rows != p.held {
		return &sink.CountError{Table: l.t.target.SQL(), Sent: p.held, Counted: rows}
	}
	l.rows += rows
	l.added += rows
	return nil
}

// rowTooLarge is the error of a row that does not fit into a statement.
func (t *table) rowTooLarge(row int64, size int) error {
	err := fmt.Errorf("the row takes %d bytes, and the server accepts %d at once; set local_infile = ON there, or a "+
		"larger max_allowed_packet", size, t.db.packet)
	return &sink.RowError{Table: t.target.SQL(), Row: row, Code: "1153", Err: err}
}

// Send sends the rows that are held.
func (l *loader) Send() (rows int64, err error) {
	if err = l.send(); err == nil {
		err = l.wait()
	}
	rows, l.rows, l.taken = l.rows, 0, 0
	return rows, err
}

// merge adds the rows that have arrived in the temporary table.
func (l *loader) merge() error {
	if !l.t.arrives() {
		return nil
	}
	if err := l.t.db.conn.Exec(l.t.ctx, l.t.mergeSQL()); err != nil {
		return l.refused(err, nil, 0)
	}
	return l.warned(&piece{})
}

// Record adds a part to the ledger.
func (l *loader) Record(p sink.Part) error {
	l.t.last = p.Name
	return l.t.db.record(l.t.ctx, l.t.plan, p)
}

// CommitPart adds the rows of a part, commits it, and begins the next transaction.
func (l *loader) CommitPart() error {
	t := l.t
	if err := l.merge(); err != nil {
		return err
	}
	if err := t.commit(); err != nil {
		return err
	}
	if t.db.conn.Gone {
		return t.db.lost(t.last)
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
func (db *DB) lost(part string) error {
	return &wire.LostError{
		Text: "mysql: the connection was lost, after part " + strconv.Quote(part) + " was committed",
		Err:  io.ErrUnexpectedEOF,
	}
}

// ReadBack reads the rows: from the temporary table, or from the table if it had no others when the transaction began.
// Its snapshot shows none of others.
func (l *loader) ReadBack() (rows int64, sum sink.Sum, err error) {
	if !l.t.empty && !l.t.arrives() {
		return 0, sum, fmt.Errorf("mysql: %s has other rows too: %w", l.t.target, errors.ErrUnsupported)
	}
	rows, sum, err = l.t.SumOf(l.t.sourceColumns(), l.read)
	return rows, sum, l.t.db.failed(l.t.ctx, "reading back "+l.t.target.String(), err)
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

// Complete adds the rows that have arrived.
func (l *loader) Complete() error { return l.merge() }

// SetMark makes a savepoint, in the place of one of the same name.
func (l *loader) SetMark(bool) error {
	l.marked = l.added
	return l.t.db.failed(l.t.ctx, "setting a savepoint", l.t.db.conn.Exec(l.t.ctx, "SAVEPOINT culvert_mark"))
}

// UndoToMark goes back to the savepoint.
func (l *loader) UndoToMark() error {
	_ = l.wait() // what is undone may have failed
	l.failed, l.taken, l.rows, l.added = nil, 0, 0, l.marked
	l.empty(l.start())
	err := l.t.db.conn.Exec(l.t.ctx, "ROLLBACK TO SAVEPOINT culvert_mark")
	return l.t.db.failed(l.t.ctx, "going back to a savepoint", err)
}
