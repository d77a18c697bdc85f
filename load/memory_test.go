package load_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"culvert/format"
	"culvert/internal/rowsum"
	"culvert/sink"
	"culvert/source"
)

// memory is a database in memory that keeps rows as lines of text.
type memory struct {
	mu      sync.Mutex
	tables  map[string]*memoryTable
	most    int                      // loaders; 0 means as many as are wanted
	refuse  func(line string) error  // rows that violate a constraint
	corrupt func(line string) string // what becomes of rows, or nil
	opened  atomic.Int64
}

type memoryTable struct {
	columns []source.Column
	lines   []string // with their line feeds
	parts   []sink.Part
}

func newMemory(tables ...string) *memory {
	m := &memory{tables: map[string]*memoryTable{}}
	for _, name := range tables {
		m.tables[name] = &memoryTable{columns: itemColumns}
	}
	return m
}

// asText makes the tables those of text.
type asText struct {
	*memory
	format format.Format
}

func (m *memory) Plan(_ context.Context, name string, f sink.Filling) (sink.Plan, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	table := m.tables[name]
	if table == nil {
		return sink.Plan{}, &source.UnknownError{What: "table", Name: name}
	}
	plan := sink.Plan{Table: name, Exists: true, Loaders: max(1, f.Loaders)}
	if m.most > 0 && m.most < plan.Loaders {
		plan.Loaders, plan.Alone = m.most, "memory has few"
	}
	for _, column := range f.Columns {
		i := slices.IndexFunc(table.columns, func(c source.Column) bool { return c.Name == column })
		if i < 0 {
			return plan, &source.UnknownError{What: "column", Name: column}
		}
		plan.Columns = append(plan.Columns, table.columns[i])
	}
	if f.Existing == sink.Refuse && len(table.lines) > 0 && len(table.parts) == 0 {
		return plan, sink.ErrNotEmpty
	}
	return plan, nil
}

func (m *memory) Table(ctx context.Context, name string, f sink.Filling) (sink.Table, error) {
	return m.begin(ctx, name, f, format.CSV{})
}

func (m asText) Table(ctx context.Context, name string, f sink.Filling) (sink.Table, error) {
	table, err := m.begin(ctx, name, f, m.format)
	if err != nil {
		return nil, err
	}
	for i, loader := range table.loaders {
		table.loaders[i] = textLoader{loader.(*memoryLoader)}
	}
	return textTable{table, m.format}, nil
}

func (m *memory) begin(ctx context.Context, name string, f sink.Filling, as format.Format) (*fillingTable, error) {
	plan, err := m.Plan(ctx, name, f)
	if err != nil {
		return nil, err
	}
	m.opened.Add(1)
	table := &fillingTable{db: m, of: m.tables[name], plan: plan, filling: f}
	encoder, err := as.Encoder(plan.Columns)
	if err != nil {
		return nil, err
	}
	for range plan.Loaders {
		table.loaders = append(table.loaders, &memoryLoader{table: table, ctx: ctx, encoder: encoder})
	}
	return table, nil
}

func (m *memory) Close() error { return nil }

// cloning is memory that fills several tables at once.
type cloning struct{ *memory }

func (m cloning) Clone(context.Context) (sink.Sink, error) { return m, nil }

// fillingTable is a table that is being filled.
type fillingTable struct {
	db      *memory
	of      *memoryTable
	plan    sink.Plan
	filling sink.Filling
	loaders []sink.Loader
	done    bool
}

func (t *fillingTable) Columns() []source.Column { return t.plan.Columns }
func (t *fillingTable) Loaders() []sink.Loader   { return t.loaders }

func (t *fillingTable) Loaded() []sink.Part {
	if t.filling.Ledger == nil {
		return nil
	}
	return t.of.parts
}

func (t *fillingTable) Commit() error {
	for _, one := range t.loaders {
		loader := inner(one)
		if !loader.closed || loader.err != nil {
			return errors.New("memory: a loader has failed or is open")
		}
		t.keep(loader)
	}
	t.done = true
	return nil
}

func (t *fillingTable) keep(loader *memoryLoader) {
	t.db.mu.Lock()
	defer t.db.mu.Unlock()
	t.of.lines = append(t.of.lines, loader.lines...)
	t.of.parts = append(t.of.parts, loader.parts...)
	loader.lines, loader.parts = nil, nil
}

func (t *fillingTable) Discard() error {
	t.done = true
	return nil
}

type textTable struct {
	*fillingTable
	format format.Format
}

func (t textTable) Format() format.Format { return t.format }

func (t textTable) Fit(b *source.Batch) (*source.Batch, error) { return b, nil }

func (t textTable) KeepsText([]byte) bool { return true }

// memoryLoader adds rows to a table in memory.
type memoryLoader struct {
	table   *fillingTable
	ctx     context.Context
	encoder format.Encoder
	row     source.Batch
	lines   []string
	parts   []sink.Part
	rows    int64 // since the last part
	flushed int64 // of rows
	closed  bool
	err     error
}

func inner(l sink.Loader) *memoryLoader {
	switch l := l.(type) {
	case textLoader:
		return l.memoryLoader
	case binaryLoader:
		return l.memoryLoader
	}
	return l.(*memoryLoader)
}

func (l *memoryLoader) Load(b *source.Batch) error {
	for row := range b.Rows() {
		one := &l.row
		one.Reset(b.Columns())
		for column := range b.Columns() {
			one.Append(b.Value(row, column))
		}
		one.EndRow()
		line, err := l.encoder.AppendRows(nil, one)
		if err != nil {
			return err
		}
		if err := l.add(string(line), &sink.RowError{Table: "t", Row: l.rows - l.flushed + 1}); err != nil {
			return err
		}
	}
	return l.check()
}

func (l *memoryLoader) check() error {
	if l.err == nil {
		l.err = context.Cause(l.ctx)
	}
	return l.err
}

// add adds a row, or returns the error with its cause.
func (l *memoryLoader) add(line string, at *sink.RowError) error {
	db := l.table.db
	if db.refuse != nil {
		if at.Err = db.refuse(line); at.Err != nil {
			l.err = at
			return at
		}
	}
	if db.corrupt != nil {
		line = db.corrupt(line)
	}
	l.lines = append(l.lines, line)
	l.rows++
	return nil
}

func (l *memoryLoader) Flush() (int64, error) {
	l.flushed = l.rows
	return l.rows, l.check()
}

func (l *memoryLoader) Sum() (int64, sink.Sum, error) {
	var sum rowsum.Adder
	for _, line := range l.lines {
		sum.Line([]byte(line))
	}
	return int64(len(l.lines)), sum.Sum, l.check()
}

func (l *memoryLoader) EndPart(p sink.Part) error {
	if l.rows != p.Rows {
		return &source.CountError{Received: p.Rows, Confirmed: l.rows}
	}
	l.rows, l.flushed = 0, 0
	if err := l.check(); err != nil {
		return err
	}
	if l.table.filling.Ledger != nil {
		l.parts = append(l.parts, p)
	}
	if l.table.filling.EachPart {
		l.table.keep(l)
	}
	return nil
}

func (l *memoryLoader) Close() (int64, error) {
	l.closed = true
	return l.rows, l.check()
}

type textLoader struct{ *memoryLoader }

func (l textLoader) Load(*source.Batch) error { return errors.New("memory: only text") }

func (l textLoader) LoadText(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		l.err = err
		return err
	}
	at := int64(0)
	for _, row := range rowsOf(text) {
		at += int64(strings.Count(row, "\n"))
		if err := l.add(row, &sink.RowError{Table: "t", Line: at}); err != nil {
			return err
		}
	}
	return l.check()
}

// rowsOf cuts CSV into rows.
func rowsOf(text []byte) (rows []string) {
	for len(text) > 0 {
		end := 0
		for quoted := false; ; end++ {
			if text[end] == '"' {
				quoted = !quoted
			}
			if text[end] == '\n' && !quoted {
				break
			}
		}
		rows = append(rows, string(text[:end+1]))
		text = text[end+1:]
	}
	return rows
}

// sorted returns the rows of a table without their order.
func (m *memory) sorted(name string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(slices.Values(m.tables[name].lines))
}

// withoutHeader returns the rows of CSV that has one.
func withoutHeader(text []byte) []byte { return text[bytes.IndexByte(text, '\n')+1:] }
