package mask

import (
	"cmp"
	"fmt"
	"sync"
	"unicode/utf8"

	"culvert/source"
)

// Masker masks batches of rows with the same columns. It is safe for concurrent use.
type Masker struct {
	columns []maskedColumn // in the order of the batch
	idle    sync.Pool      // of *worker
}

type maskedColumn struct {
	name    string
	rule    Rule
	make    maker
	program *program // or nil
}

// maker makes what masks the values of one column, which only one goroutine may use at a time.
type maker func() masking

// masking masks the values of a column.
type masking interface {
	// append appends the masked value to dst. It does not change the value, and is not called for NULL.
	append(dst []byte, kind source.Kind, value []byte) (source.Kind, []byte, error)
}

// ahead is a masking for which many values together take less time than one after the other.
type ahead interface {
	masking

	// look is called for each batch, before the values of the column are appended in their order. If it fails, the
	// value of the row is why.
	look(src *source.Batch, column int) (row int, err error)
}

// each is a masking that masks each value alone.
type each func(dst []byte, kind source.Kind, value []byte) (source.Kind, []byte, error)

func (f each) append(dst []byte, kind source.Kind, value []byte) (source.Kind, []byte, error) {
	return f(dst, kind, value)
}

// worker is what one goroutine needs.
type worker struct {
	masks []masking // by column; nil for those that stay
	lent  []byte    // masked values of a row that is lent
	ends  []int
	kinds []source.Kind
}

// ValueError reports a value that its rule cannot mask. It does not show the value.
type ValueError struct {
	Column string
	Rule   Rule
	Row    int64 // of the batch, from 1; 0 if the rows have no order
	Err    error
}

func (e *ValueError) Error() string {
	where := ""
	if e.Row > 0 {
		where = fmt.Sprintf(" of row %d", e.Row)
	}
	return fmt.Sprintf("mask: the value of column %q%s cannot be masked by the rule %q: %v", e.Column, where, e.Rule,
		e.Err)
}

// Unwrap returns the cause.
func (e *ValueError) Unwrap() error { return e.Err }

// newMasker returns a Masker for rows with these columns, of which each has the rule in its place, or the zero Rule. A
// column that is dropped must not be among them. The error names the column that does not fit its rule.
func newMasker(key *Key, programs *Programs, columns []source.Column, rules []Rule) (*Masker, error) {
	m := &Masker{columns: make([]maskedColumn, len(columns))}
	for i, column := range columns {
		one := maskedColumn{name: column.Name, rule: rules[i]}
		if name := one.rule.Program(); name != "" {
			if err := cmp.Or(fitsProgram(column), programs.check(name)); err != nil {
				return nil, fmt.Errorf("mask: column %q: %w", column.Name, err)
			}
			program := programs.all[name]
			one.program, one.make = program, func() masking { return &asker{program: program, column: column} }
		} else if !one.rule.IsZero() {
			var err error
			if one.make, err = one.rule.compile(key, column); err != nil {
				return nil, fmt.Errorf("mask: column %q: %w", column.Name, err)
			}
		}
		if one.make != nil && column.Logical.Class == source.CharClass {
			one.make = padded(one.make)
		}
		m.columns[i] = one
	}
	m.idle.New = func() any { return m.newWorker() }
	return m, nil
}

// Columns returns the names of the columns whose values become others. Nil masks none.
func (m *Masker) Columns() (names []string) {
	if m == nil {
		return nil
	}
	for _, column := range m.columns {
		if column.make != nil {
			names = append(names, column.name)
		}
	}
	return names
}

func (m *Masker) newWorker() *worker {
	w := &worker{masks: make([]masking, len(m.columns))}
	for i, column := range m.columns {
		if column.make != nil {
			w.masks[i] = column.make()
		}
	}
	return w
}

// Mask resets dst and fills it with the rows of src, masked. It keeps the settings of dst. If src has lent a row, dst
// lends it too; the row is valid until the next call of Mask, and so is src. The error is a [*ValueError].
func (m *Masker) Mask(dst, src *source.Batch) error {
	w := m.idle.Get().(*worker)
	defer m.idle.Put(w)
	for column, masking := range w.masks {
		ahead, is := masking.(ahead)
		if !is {
			continue
		}
		if row, err := ahead.look(src, column); err != nil {
			return &ValueError{m.columns[column].name, m.columns[column].rule, int64(row) + 1, err}
		}
	}
	dst.Reset(len(m.columns))
	last := src.Rows()
	if src.HasLent() {
		last--
	}
	for row := range last {
		if err := m.maskRow(w, dst, src, row); err != nil {
			return err
		}
	}
	if src.HasLent() {
		return m.maskLent(w, dst, src, last)
	}
	return nil
}

// Finish makes programs prove that they are alive, and have answered no more than they were asked. Call it when all
// rows are masked, and before they are used. The error is a [*ValueError] without a row.
func (m *Masker) Finish() error {
	if m == nil {
		return nil
	}
	for _, column := range m.columns {
		if column.program == nil {
			continue
		}
		if err := column.program.check(); err != nil {
			return &ValueError{column.name, column.rule, 0, err}
		}
	}
	return nil
}

func (m *Masker) maskRow(w *worker, dst, src *source.Batch, row int) error {
	for column := 0; column < len(w.masks); {
		if w.masks[column] == nil {
			first := column
			for column < len(w.masks) && w.masks[column] == nil {
				column++
			}
			dst.AppendFrom(src, row, first, column)
			continue
		}
		kind, value := src.Value(row, column)
		if kind == source.Null {
			dst.AppendNull()
			column++
			continue
		}
		kind, value, err := w.masks[column].append(dst.AvailableBuffer(len(value)), kind, value)
		if err != nil {
			return &ValueError{m.columns[column].name, m.columns[column].rule, int64(row) + 1, err}
		}
		dst.Append(kind, value)
		column++
	}
	dst.EndRow()
	return nil
}

// maskLent masks a row of which the values are lent. Only those that change are copied.
func (m *Masker) maskLent(w *worker, dst, src *source.Batch, row int) error {
	w.ends, w.kinds = w.ends[:0], w.kinds[:0]
	// What is lent must stay until the next row: its memory goes along with the batch.
	w.lent = nil
	for column, masking := range w.masks {
		kind, value := src.AnyValue(row, column)
		if masking != nil && kind != source.Null {
			var err error
			if kind, w.lent, err = masking.append(w.lent, kind, value); err != nil {
				return &ValueError{m.columns[column].name, m.columns[column].rule, int64(row) + 1, err}
			}
		}
		w.kinds, w.ends = append(w.kinds, kind), append(w.ends, len(w.lent))
	}
	begin := 0
	for column, masking := range w.masks {
		_, value := src.AnyValue(row, column)
		if end := w.ends[column]; masking != nil {
			value, begin = w.lent[begin:end:end], end
		}
		dst.Lend(w.kinds[column], value)
	}
	dst.EndRow()
	w.lent = nil
	return nil
}

// padded has masked values filled up with spaces to the length of the values, as databases print the type char.
func padded(make maker) maker {
	return func() masking { return padding{make()} }
}

type padding struct{ masking }

func (p padding) append(dst []byte, kind source.Kind, value []byte) (source.Kind, []byte, error) {
	begin := len(dst)
	kind, dst, err := p.masking.append(dst, kind, value)
	if kind == source.Text {
		for n := utf8.RuneCount(value) - utf8.RuneCount(dst[begin:]); n > 0; n-- {
			dst = append(dst, ' ')
		}
	}
	return kind, dst, err
}

func (p padding) look(src *source.Batch, column int) (row int, err error) {
	if ahead, is := p.masking.(ahead); is {
		return ahead.look(src, column)
	}
	return 0, nil
}
