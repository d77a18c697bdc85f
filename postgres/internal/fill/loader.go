package fill

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"culvert/format"
	"culvert/internal/sqlsource"
	"culvert/internal/typename"
	"culvert/postgres/internal/copybinary"
	"culvert/sink"
	"culvert/source"
)

// pieceSize is the size of the pieces of text that are made of batches.
const pieceSize = 256 << 10

// loader adds rows by COPY.
type loader struct {
	sink.LoaderState
	t       *table
	s       *session
	encoder format.Encoder
	text    []byte // of batches, to be reused

	running *feed     // the COPY that takes batches, or nil
	sent    int64     // rows of batches in it
	copied  lineCount // of the last COPY
	rows    int64     // that the server has counted since Send
	arrived int64     // of the transaction, in the temporary table
	marks   bool      // rows are, or were, added in subtransactions
	merged  *merged   // what became of them, or nil
}

var _ sink.BinaryLoader = (*loader)(nil)

// addLoader adds a loader with a session.
func (t *table) addLoader(s *session) {
	l := &loader{t: t, s: s}
	l.Join(&t.TableState, l)
	t.loaders = append(t.loaders, l)
}

// ready begins a transaction, if parts are committed and none is open.
func (l *loader) ready() error {
	switch {
	case l.s.conn.IsClosed():
		return sqlsource.Unavailable("postgres: the connection is closed", nil)
	case l.t.swap != nil && l.t.swap.done:
		return fmt.Errorf("postgres: table %s: %w", l.t.target.name(), errSwapped)
	case l.s.conn.TxStatus() != 'I':
		return nil
	}
	if err := l.t.enter(l.s); err != nil {
		return err
	}
	l.arrived, l.merged = 0, nil
	if l.t.Conflict != sink.Fail {
		return l.expect()
	}
	return nil
}

var errMerged = errors.New("postgres: rows were read back after they were added by key, so no rows can follow")

// readyForRows is ready, unless rows were read back after they were added by key: no others can follow.
func (l *loader) readyForRows() error {
	if err := l.ready(); err != nil {
		return err
	}
	if l.merged != nil {
		return errMerged
	}
	return nil
}

// Add adds the rows of a batch.
func (l *loader) Add(b *source.Batch) error {
	if l.running == nil {
		if err := l.readyForRows(); err != nil {
			return err
		}
		l.running, l.sent, l.copied = l.feed(), 0, lineCount{}
	}
	if l.encoder == nil {
		encoder, err := format.CSV{}.Encoder(l.t.columns)
		if err != nil {
			return err
		}
		l.encoder = encoder
	}
	rows, err := l.t.Fit(b)
	if err != nil {
		if refused, is := errors.AsType[*sink.RowError](err); is {
			refused.Row += l.sent
		}
		return err
	}
	write := func(text []byte) ([]byte, error) {
		l.copied.see(text)
		_, err := l.running.w.Write(text)
		return text[:0], err
	}
	text, err := l.encoder.AppendPieces(l.text[:0], rows, pieceSize, write)
	if err == nil {
		text, err = write(text)
	}
	l.text = text
	if err != nil {
		return cmp.Or(l.finish(), err) // the error of the server says more
	}
	l.sent += int64(b.Rows())
	return nil
}

// LoadText adds the rows of a text.
func (l *loader) LoadText(r io.Reader) error {
	return l.Do(func() error {
		l.copied = lineCount{}
		return l.load(&input{r: r, lines: &l.copied}, csvForm)
	})
}

// LoadBinary adds the rows of a text in the binary form of COPY.
func (l *loader) LoadBinary(r io.Reader) error {
	return l.Do(func() error {
		r := io.MultiReader(strings.NewReader(copybinary.Header), r, strings.NewReader(copybinary.Trailer))
		return l.load(&input{r: r}, binaryForm)
	})
}

// load runs a COPY.
func (l *loader) load(in *input, form string) error {
	if err := l.finish(); err != nil {
		return err
	}
	if err := l.readyForRows(); err != nil {
		return err
	}
	tag, err := l.s.conn.CopyFrom(l.t.ctx, in, l.copySQL(form))
	in.end()
	if in.err != nil {
		return in.err
	}
	if err != nil {
		return l.rowFailed(err, form)
	}
	l.count(tag.RowsAffected())
	return nil
}

// rowFailed explains an error of the last COPY.
func (l *loader) rowFailed(err error, form string) error {
	err = l.s.rowFailed(l.t.ctx, l.t.target, err)
	if row, is := errors.AsType[*sink.RowError](err); is && row.Line > 0 {
		if form == binaryForm { // of which the server counts the rows as lines
			row.Row, row.Line = row.Line, 0
		} else {
			row.Line = l.copied.lineOf(row.Line)
		}
	}
	return err
}

// input is a reader that is not used after its end, counts lines, and remembers its error.
type input struct {
	mu    sync.Mutex
	r     io.Reader
	lines *lineCount // or nil
	ended bool
	err   error // except io.EOF
}

func (in *input) Read(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return 0, io.ErrClosedPipe
	}
	n, err := in.r.Read(p)
	if in.lines != nil {
		in.lines.see(p[:n])
	}
	if err != nil && err != io.EOF {
		in.err = err
	}
	return n, err
}

// end waits for a Read that is under way. A lost connection does not end it.
func (in *input) end() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended = true
}

// feed is a COPY that runs in a goroutine of its own and takes what is written.
type feed struct {
	w     *io.PipeWriter
	ended chan struct{}
	rows  int64
	err   error // of the server
}

func (l *loader) feed() *feed {
	r, w := io.Pipe()
	f := &feed{w: w, ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		tag, err := l.s.conn.CopyFrom(l.t.ctx, r, l.copySQL(csvForm))
		f.rows, f.err = tag.RowsAffected(), err
		_ = r.CloseWithError(io.ErrClosedPipe) // always nil
	}()
	return f
}

// finish ends the COPY that takes batches.
func (l *loader) finish() error {
	f := l.running
	if f == nil {
		return nil
	}
	l.running = nil
	_ = f.w.Close() // always nil
	<-f.ended
	switch {
	case f.err != nil:
		return l.rowFailed(f.err, csvForm)
	case f.rows != l.sent:
		return &sink.CountError{Table: l.t.target.name(), Sent: l.sent, Counted: f.rows}
	}
	l.count(f.rows)
	return nil
}

func (l *loader) count(rows int64) {
	l.rows += rows
	l.arrived += rows
}

// Send ends the COPY that takes batches.
func (l *loader) Send() (rows int64, err error) {
	err = l.finish()
	rows, l.rows = l.rows, 0
	return rows, err
}

// ReadBack has the server check what is deferred, and print the rows.
func (l *loader) ReadBack() (rows int64, sum sink.Sum, err error) {
	if err := l.ready(); err != nil {
		return 0, sum, err
	}
	if l.t.Conflict != sink.Fail {
		if err := l.merge(); err != nil {
			return 0, sum, err
		}
	}
	if !l.t.Grouped { // the rows of other tables of a group may be missing yet
		if err := l.checkDeferred(); err != nil {
			return 0, sum, err
		}
	}
	if l.t.Conflict != sink.Fail {
		return l.sumMerged()
	}
	return l.sumOwn()
}

// readBack has the server print the rows of a query, or of a table with its columns. Names of objects, as of regclass,
// are printed with their schemas, as package read has them printed.
func (l *loader) readBack(from string) (*lines, error) {
	adder := lines{isBinary: l.t.printed == binaryForm}
	adder.Begin(l.t.Filling, source.PostgreSQL, printed(l.t.columns))
	sql := "COPY " + from + " TO STDOUT (FORMAT " + l.t.printed + ")"
	namesObjects := !copybinary.KeepsAll(l.t.columns)
	if namesObjects {
		sql = ownPathSQL + ";\n" + sql
	}
	tag, err := l.s.conn.CopyTo(l.t.ctx, &adder, sql)
	if namesObjects && err == nil {
		_, err = l.s.queries(l.t.ctx) // without any, it restores the path
	}
	switch {
	case adder.err != nil:
		return nil, adder.err
	case err != nil:
		return nil, l.s.failed(l.t.ctx, "reading table "+l.t.target.sql+" back", err)
	case tag.RowsAffected() != adder.rows:
		return nil, fmt.Errorf("postgres: reading table %s back: %w", l.t.target.sql,
			&source.CountError{Received: adder.rows, Confirmed: tag.RowsAffected()})
	}
	return &adder, nil
}

// printed returns the columns with the logical types that their types have here.
func printed(columns []source.Column) []source.Column {
	columns = slices.Clone(columns)
	for i := range columns {
		name := columns[i].Type
		switch base, _ := typename.Cut(name); base { // as the definition of a table that is made may name them
		case "timestamptz":
			name = strings.Replace(name, base, "timestamp", 1) + " with time zone"
		case "timestamp", "time":
			name += " without time zone"
		}
		columns[i].Logical = sqlsource.Logical(source.PostgreSQL, name)
	}
	return columns
}

// lines adds up lines, or binary rows, each of which the server sends in a message of its own.
type lines struct {
	sink.Lines
	rows     int64
	isBinary bool
	binary   copybinary.Rows
	err      error
}

func (a *lines) Write(message []byte) (int, error) {
	row := message
	if a.isBinary {
		if row, a.err = a.binary.Row(message); row == nil {
			return len(message), a.err
		}
	}
	a.Line(row)
	a.rows++
	return len(message), nil
}

// sumOwn reads the rows of this loader back.
func (l *loader) sumOwn() (rows int64, sum sink.Sum, err error) {
	from := l.t.target.sql + " (" + list(l.t.columns) + ")"
	switch {
	case !l.t.whole:
		own, err := l.own()
		if err != nil {
			return 0, sum, err
		}
		from = "(" + l.ownSQL(own) + ")"
	case l.t.target.kind != "r" || len(l.t.columns) == 0: // which COPY cannot name
		from = "(SELECT " + list(l.t.columns) + " FROM " + l.t.target.only() + ")"
	}
	read, err := l.readBack(from)
	if err != nil {
		return 0, sum, err
	}
	return read.rows, read.Sum(), nil
}

// own is a condition for the rows that the transaction has written. Those of its subtransactions have other numbers.
func (l *loader) own() (string, error) {
	if l.marks {
		return "", fmt.Errorf("postgres: %s may have other rows too: %w", l.t.target.name(), errors.ErrUnsupported)
	}
	if err := l.s.writes(l.t.ctx); err != nil {
		return "", err
	}
	return l.s.own()
}

// ownSQL reads these rows.
func (l *loader) ownSQL(own string) string {
	return "SELECT " + list(l.t.columns) + " FROM " + l.t.target.sql + " WHERE " + own
}

// Record adds a part, which may have no rows, to the ledger.
func (l *loader) Record(p sink.Part) error {
	if err := l.ready(); err != nil {
		return err
	}
	if l.t.group != nil {
		l.t.group.records = append(l.t.group.records, record{l.t.target.sql, p})
		return nil
	}
	return l.s.record(l.t.ctx, l.t.Ledger, record{l.t.target.sql, p})
}

// CommitPart commits the transaction of a part.
func (l *loader) CommitPart() error {
	if l.t.Conflict != sink.Fail {
		if err := l.merge(); err != nil {
			return err
		}
	}
	if err := l.checkDeferred(); err != nil {
		return err
	}
	if err := l.s.writes(l.t.ctx); err != nil {
		return err
	}
	return l.s.commit(l.t.ctx, l.t.db.config)
}

// checkDeferred has the server check constraints and fire triggers that are deferred to the end of the transaction.
// Triggers may change the rows.
func (l *loader) checkDeferred() error {
	if err := l.s.exec(l.t.ctx, "SET CONSTRAINTS ALL IMMEDIATE"); err != nil {
		return l.s.rowFailed(l.t.ctx, l.t.target, err)
	}
	return nil
}

// Complete adds the rows that may be in conflict with others.
func (l *loader) Complete() error {
	if l.t.Conflict == sink.Fail || l.t.EachPart {
		return nil
	}
	return l.merge()
}

// end stops what is running. The caller does not use the loader meanwhile.
func (l *loader) end() {
	if f := l.running; f != nil {
		_ = f.w.CloseWithError(io.ErrClosedPipe) // always nil
		<-f.ended
		l.running = nil
	}
	l.text = nil
}
