package source_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/source"
)

// cell is a value of the model, which is a plain slice of rows of them.
type cell struct {
	kind source.Kind
	text string
}

// batchModel does to a batch and to the model what a program says, byte by byte, and compares them after each row.
type batchModel struct {
	program []byte
	batch   source.Batch
	rows    [][]cell
	columns int
}

func (m *batchModel) next() byte {
	if len(m.program) == 0 {
		return 0
	}
	b := m.program[0]
	m.program = m.program[1:]
	return b
}

// take returns the next n bytes of the program, or as many as there are.
func (m *batchModel) take(n int) []byte {
	n = min(n, len(m.program))
	b := m.program[:n]
	m.program = m.program[n:]
	return b
}

func (m *batchModel) run(t *testing.T) {
	m.reset()
	for len(m.program) > 0 {
		if m.next()%16 == 0 || m.batch.HasLent() {
			m.reset()
		}
		m.addRow()
		m.compare(t)
	}
}

func (m *batchModel) reset() {
	m.columns = int(m.next() % 6)
	m.rows = m.rows[:0]
	m.batch.SetLending(true)
	m.batch.Reset(m.columns)
}

func (m *batchModel) addRow() {
	row := make([]cell, m.columns)
	lend := m.next()%4 == 0
	for i := range row {
		if lend {
			value := m.take(int(m.next()))
			row[i] = cell{source.Kind(len(value) % 6), string(value)}
			m.batch.Lend(row[i].kind, value)
		} else {
			row[i] = m.addValue()
		}
	}
	m.batch.EndRow()
	m.rows = append(m.rows, row)
}

func (m *batchModel) addValue() cell {
	op := m.next()
	switch op % 4 {
	case 0:
		m.batch.AppendNull()
		return cell{kind: source.Null}
	case 1:
		var v int64
		for _, b := range m.take(int(op>>2) % 9) {
			v = v<<8 | int64(b)
		}
		m.batch.AppendInt(v)
		return cell{source.Number, fmt.Sprint(v)}
	case 2:
		var bits uint64
		for _, b := range m.take(8) {
			bits = bits<<8 | uint64(b)
		}
		v := math.Float64frombits(bits)
		m.batch.AppendFloat(v)
		return cell{source.Number, floatText(v)}
	default:
		kind := source.Text + source.Kind(op>>2)%source.JSON
		value := m.take(int(m.next()))
		m.batch.Append(kind, value)
		return cell{kind, string(value)}
	}
}

// floatText goes by the exponent of the shortest decimal, as PostgreSQL does.
func floatText(v float64) string {
	text := strconv.FormatFloat(v, 'e', -1, 64)
	_, exponent, finite := strings.Cut(text, "e")
	if !finite {
		return strings.ReplaceAll(strings.TrimPrefix(text, "+"), "Inf", "Infinity")
	}
	if n, err := strconv.Atoi(exponent); err == nil && -4 <= n && n < 15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return text
}

func TestAppendFloat(t *testing.T) {
	for v, want := range map[float64]string{
		1000000: "1000000", 123456789.25: "123456789.25", 999999999999999: "999999999999999", 1e15: "1e+15",
		0.0001: "0.0001", 0.00001: "1e-05", 0.30000000000000004: "0.30000000000000004", 1e300: "1e+300", 100: "100",
		math.Copysign(0, -1): "-0", -5e-324: "-5e-324", math.Inf(1): "Infinity",
	} {
		var b source.Batch
		b.Reset(1)
		b.AppendFloat(v)
		b.EndRow()
		if kind, got := b.Value(0, 0); kind != source.Number || string(got) != want || floatText(v) != want {
			t.Errorf("%v: got %v %q, want the number %q, and the model has %q", v, kind, got, want, floatText(v))
		}
	}
}

func (m *batchModel) compare(t *testing.T) {
	t.Helper()
	if m.batch.Rows() != len(m.rows) || m.batch.Columns() != m.columns {
		t.Fatalf("batch is %d × %d, want %d × %d", m.batch.Rows(), m.batch.Columns(), len(m.rows), m.columns)
	}
	size, binary := 0, 0
	for r, row := range m.rows {
		before := size
		for c, want := range row {
			kind, value := m.batch.AnyValue(r, c)
			if kind != want.kind || string(value) != want.text {
				t.Fatalf("row %d, column %d: got %v %q, want %v %q", r, c, kind, value, want.kind, want.text)
			}
			size += len(want.text)
			if want.kind == source.Bytes {
				binary += len(want.text)
			}
		}
		if got := m.batch.RowBytes(r); got != size-before {
			t.Fatalf("row %d has %d bytes, want %d", r, got, size-before)
		}
	}
	m.compareCopy(t)
	if m.batch.Size() != size || m.batch.TextSize() != size+binary {
		t.Fatalf("size is %d, of the text %d, want %d and %d", m.batch.Size(), m.batch.TextSize(), size, size+binary)
	}
}

// compareCopy copies each row that is not lent into another batch, in two pieces.
func (m *batchModel) compareCopy(t *testing.T) {
	t.Helper()
	var copied source.Batch
	copied.Reset(m.columns)
	rows := len(m.rows)
	if m.batch.HasLent() {
		rows--
	}
	for r := range rows {
		middle := r % (m.columns + 1)
		copied.AppendFrom(&m.batch, r, 0, middle)
		copied.AppendFrom(&m.batch, r, middle, m.columns)
		copied.EndRow()
	}
	size := 0
	for r, row := range m.rows[:rows] {
		for c, want := range row {
			if kind, value := copied.Value(r, c); kind != want.kind || string(value) != want.text {
				t.Fatalf("copy of row %d, column %d: got %v %q, want %v %q", r, c, kind, value, want.kind, want.text)
			}
			if size += len(want.text); want.kind == source.Bytes {
				size += len(want.text)
			}
		}
	}
	if copied.TextSize() != size {
		t.Fatalf("the copy has text of %d bytes, want %d", copied.TextSize(), size)
	}
}

func TestBatch(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	for range 500 {
		program := make([]byte, 500)
		if _, err := random.Read(program); err != nil {
			t.Fatal(err)
		}
		(&batchModel{program: program}).run(t)
	}
}

func FuzzBatch(f *testing.F) {
	f.Add([]byte{2, 1, 0, 1, 2, 1, 3, 5, 'v', 'a', 'l', 'u', 'e', 0, 16, 0})
	f.Add([]byte{0, 1, 1, 1, 16, 1, 1, 2, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0, 1, 2, 0xff, 0xf8, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 1<<12 {
			t.Skip()
		}
		(&batchModel{program: program}).run(t)
	})
}

// TestFull fills batches with rows of several sizes, of nothing but NULLs, and of no columns: all must come to an end,
// near BatchSize.
func TestFull(t *testing.T) {
	for _, test := range []struct{ columns, size int }{{1, 1}, {3, 100}, {1, 5000}, {100, 0}, {1, 0}, {0, 0}} {
		var b source.Batch
		b.Reset(test.columns)
		value := make([]byte, test.size)
		rowSize := test.columns*(test.size+8) + 1
		for !b.Full() {
			for range test.columns {
				if test.size == 0 {
					b.AppendNull()
				} else {
					b.Append(source.Text, value)
				}
			}
			b.EndRow()
			if total := b.Rows() * rowSize; total > source.BatchSize+rowSize {
				t.Fatalf("%d columns of %d bytes: not full with %d bytes", test.columns, test.size, total)
			}
		}
		if total := b.Rows() * rowSize; total < source.BatchSize {
			t.Errorf("%d columns of %d bytes: full with %d bytes", test.columns, test.size, total)
		}
		if b.Reset(test.columns); b.Full() {
			t.Errorf("%d columns of %d bytes: full after Reset", test.columns, test.size)
		}
	}
}

// TestFullOfBinaryData counts what becomes two digits for each byte.
func TestFullOfBinaryData(t *testing.T) {
	var b source.Batch
	value := make([]byte, 1000)
	for b.Reset(1); !b.Full(); b.EndRow() {
		b.Append(source.Bytes, value)
	}
	if size := b.Size(); size < source.BatchSize/2 || size > source.BatchSize/2+len(value) {
		t.Errorf("full with %d bytes of binary data", size)
	}
}

// TestLend has the values of a large row stay where they are.
func TestLend(t *testing.T) {
	var b source.Batch
	b.SetLending(true)
	b.Reset(2)
	value := bytes.Repeat([]byte("v"), 2*source.BatchSize)
	before := b.Memory()
	b.AppendInt(7)
	b.AppendNull()
	b.EndRow()
	b.Lend(source.Null, nil)
	b.Lend(source.Text, value)
	b.EndRow()
	if _, got := b.AnyValue(1, 1); &got[0] != &value[0] || len(got) != len(value) {
		t.Error("the value is a copy")
	}
	if !b.Full() || !b.HasLent() || b.Memory() != before || b.Size() != 1+len(value) {
		t.Errorf("full %v, lent %v, memory %d of %d, size %d", b.Full(), b.HasLent(), b.Memory(), before, b.Size())
	}
	if b.Reset(2); b.HasLent() || b.Size() != 0 || !b.Lending() {
		t.Error("Reset keeps what was lent")
	}
}

// TestGrow makes room for a row at once.
func TestGrow(t *testing.T) {
	var b source.Batch
	b.Reset(3)
	b.AppendInt(1)
	value := make([]byte, 3*source.BatchSize)
	b.Grow(2 * len(value))
	room := b.Memory()
	b.Append(source.Text, value)
	b.Append(source.Text, value)
	b.EndRow()
	if b.Memory() != room || b.Size() != 1+2*len(value) {
		t.Errorf("%d bytes of room for %d became %d", room, b.Size(), b.Memory())
	}
}

// TestLimit fills batches to several limits, above and below BatchSize. Each takes memory of about that size, and uses
// it again.
func TestLimit(t *testing.T) {
	const value = "a value of 32 bytes, as many are"
	for _, test := range []struct{ limit, want int }{
		{1, 1},
		{4 << 10, 4 << 10},
		{64 << 10, 64 << 10},
		{16 << 20, 16 << 20},
		{0, source.BatchSize},
		{-1, source.BatchSize},
	} {
		var b source.Batch
		taken := int64(math.MaxInt64)
		for range 5 { // the least, since the runtime allocates too
			b = source.Batch{}
			b.SetLimit(100 << 10)
			b.SetLimit(test.limit)
			before := heap()
			b.Reset(1)
			taken = min(taken, heap()-before)
		}
		if taken > int64(test.want)*9/8+4<<10 {
			t.Errorf("limit %d: Reset takes %d bytes", test.limit, taken)
		}
		fill := func() {
			for b.Reset(1); !b.Full(); b.EndRow() {
				b.Append(source.Text, []byte(value))
			}
		}
		fill()
		const row = len(value) + 9
		if size := b.Rows() * row; size < test.want || size >= test.want+row {
			t.Errorf("limit %d: full with %d bytes, want %d", test.limit, size, test.want)
		}
		testkit.Allocs(t, 0, fill)
	}
}

func TestEndRowOfWrongLength(t *testing.T) {
	for _, values := range []int{0, 1, 3} {
		var b source.Batch
		b.Reset(2)
		for range values {
			b.AppendInt(1)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a row of %d values was taken by a batch of 2 columns", values)
				}
			}()
			b.EndRow()
		}()
	}
}

// TestValueIsBounded appends to a value, which must not run into the next one.
func TestValueIsBounded(t *testing.T) {
	var b source.Batch
	b.Reset(2)
	b.Append(source.Text, []byte("one"))
	b.Append(source.Text, []byte("two"))
	b.EndRow()
	_, one := b.Value(0, 0)
	_ = append(one, "!!!"...)
	if _, two := b.Value(0, 1); string(two) != "two" {
		t.Errorf("the next value has become %q", two)
	}
}

// TestAppendCopies changes a value after it was appended.
func TestAppendCopies(t *testing.T) {
	var b source.Batch
	b.Reset(1)
	value := []byte("value")
	b.Append(source.Text, value)
	b.EndRow()
	copy(value, "other")
	if _, got := b.Value(0, 0); string(got) != "value" {
		t.Errorf("the value has become %q", got)
	}
}

func TestBatchAllocations(t *testing.T) {
	var b source.Batch
	text := bytes.Repeat([]byte("text "), 20)
	testkit.Allocs(t, 0, func() {
		b.Reset(4)
		for id := int64(0); !b.Full(); id++ {
			b.AppendInt(id << 30)
			b.AppendFloat(float64(id) / 7)
			b.Append(source.Text, text)
			b.AppendNull()
			b.EndRow()
		}
		for row := range b.Rows() {
			for column := range b.Columns() {
				b.Value(row, column)
			}
		}
	})
}

// TestResetReleases: a batch keeps the memory of a large row for the next one, and not for long if there is none.
func TestResetReleases(t *testing.T) {
	value := make([]byte, 16<<20)
	var b source.Batch
	b.Reset(1)
	ordinary := b.Memory()
	for range 3 {
		b.Append(source.Bytes, value)
		b.EndRow()
		large := b.Memory()
		if b.Reset(1); b.Memory() != large {
			t.Errorf("the next large row finds %d bytes of %d", b.Memory(), large)
		}
		b.AppendInt(1)
		b.EndRow()
		b.Reset(1)
	}
	for range 4 {
		b.AppendInt(1)
		b.EndRow()
		if _, value := b.Value(0, 0); string(value) != "1" {
			t.Errorf("after Reset a value reads as %q", value)
		}
		b.Reset(1)
	}
	if b.Memory() != ordinary {
		t.Errorf("the batch still holds %d bytes", b.Memory())
	}
	b.Append(source.Bytes, value)
	b.EndRow()
	b.SetLimit(1000)
	b.Release()
	if b.Memory() != 0 || b.Rows() != 0 || b.Size() != 0 {
		t.Errorf("after Release the batch holds %d bytes of %d rows", b.Memory(), b.Rows())
	}
	if b.Reset(1); b.Memory() > 2000 {
		t.Errorf("the limit is forgotten: %d bytes", b.Memory())
	}
}

// heap is the memory in use, after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestKindString(t *testing.T) {
	want := "null text number bool bytes json kind(6)"
	var got []string
	for kind := source.Null; kind <= source.JSON+1; kind++ {
		got = append(got, kind.String())
	}
	if s := strings.Join(got, " "); s != want {
		t.Errorf("kinds are %q, want %q", s, want)
	}
}

func TestErrors(t *testing.T) {
	unknown := &source.UnknownError{What: "table", Name: "a\n\"b"}
	if got, want := unknown.Error(), `source: table "a\n\"b" does not exist`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	count := &source.CountError{Received: 7, Confirmed: 8}
	if got := count.Error(); !strings.Contains(got, "7") || !strings.Contains(got, "8") {
		t.Errorf("%q does not name both counts", got)
	}
}

// TestAvailableBuffer makes values in the memory of the batch, also ones that do not fit, and ones that are dropped.
func TestAvailableBuffer(t *testing.T) {
	var b source.Batch
	b.SetLimit(16)
	b.Reset(2)
	for i := range 50 {
		_ = append(b.AvailableBuffer(3), "not appended"...)
		text := strings.Repeat("x", i*i)
		b.Append(source.Text, append(b.AvailableBuffer(i), text...))
		b.AppendInt(int64(i))
		b.EndRow()
	}
	for i := range 50 {
		_, text := b.Value(i, 0)
		_, number := b.Value(i, 1)
		if len(text) != i*i || strings.Trim(string(text), "x") != "" || string(number) != strconv.Itoa(i) {
			t.Errorf("row %d is %q, %q", i, text, number)
		}
	}
}
