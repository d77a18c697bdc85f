package sink_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"culvert/sink"
	"culvert/source"
)

// memory is a table in memory. It writes down what it is told.
type memory struct {
	sink.TableState
	calls []string
	fails string // the call that fails
	sent  int64  // rows that the next Send counts
}

var errMemory = errors.New("the memory has failed")

func (m *memory) call(name string) error {
	m.calls = append(m.calls, name)
	if name == m.fails {
		return errMemory
	}
	return nil
}

func (m *memory) Columns() []source.Column { return []source.Column{{Name: "id"}} }
func (m *memory) Loaded() []sink.Part      { return nil }
func (m *memory) Name() string             { return "memory" }
func (m *memory) CommitRows() error        { return m.call("commit") }
func (m *memory) End() error               { return m.call("end") }

// memoryLoader is a loader of a table in memory.
type memoryLoader struct {
	sink.LoaderState
	m *memory
}

func (l *memoryLoader) Add(b *source.Batch) error {
	l.m.sent += int64(b.Rows())
	return l.m.call("add")
}

func (l *memoryLoader) Send() (int64, error) {
	rows := l.m.sent
	l.m.sent = 0
	return rows, l.m.call("send")
}

func (l *memoryLoader) ReadBack() (int64, sink.Sum, error) { return 7, sink.Sum{}, l.m.call("read") }
func (l *memoryLoader) Record(p sink.Part) error           { return l.m.call("record " + p.Name) }
func (l *memoryLoader) CommitPart() error                  { return l.m.call("commit part") }
func (l *memoryLoader) Complete() error                    { return l.m.call("complete") }
func (l *memoryLoader) SetMark(again bool) error           { return l.m.call(fmt.Sprint("mark ", again)) }

func (l *memoryLoader) UndoToMark() error {
	l.m.sent = 0
	return l.m.call("undo")
}

// begin begins to fill a table in memory.
func begin(ctx context.Context, f sink.Filling, fails string) (*sink.Filler, *memory, error) {
	filler, m := new(sink.Filler), &memory{fails: fails}
	return filler, m, m.Begin(ctx, filler, m, f, func() error {
		l := &memoryLoader{m: m}
		l.Join(&m.TableState, l)
		return m.call("begin")
	})
}

func rowsOf(ids ...int64) *source.Batch {
	b := new(source.Batch)
	b.Reset(1)
	for _, id := range ids {
		b.AppendInt(id)
		b.EndRow()
	}
	return b
}

// use does with a loader what the words say, up to the first error.
func use(l sink.Loader, words string) (err error) {
	for word := range strings.FieldsSeq(words) {
		switch word {
		case "load":
			err = l.Load(rowsOf(1, 2))
		case "flush":
			_, err = l.Flush()
		case "sum":
			_, _, err = l.Sum()
		case "part":
			err = l.EndPart(sink.Part{Name: "p", Rows: 2})
		case "mark":
			err = l.(sink.Marker).Mark()
		case "undo":
			err = l.(sink.Marker).Undo()
		case "close":
			_, err = l.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestTableState has the driver of a table called in all orders in which a caller may use it.
func TestTableState(t *testing.T) {
	ledger := &sink.Ledger{Table: "ledger", Load: "load"}
	each := sink.Filling{Ledger: ledger, EachPart: true}
	for _, test := range []struct {
		filling      sink.Filling
		words, fails string
		want         string // the calls, joined
		used, commit string // parts of the errors of the loader, and of Commit
	}{
		{words: "load flush load sum close", want: "begin, add, send, add, send, read, send, complete, commit, end"},
		{words: "load part close", want: "begin, add, send, send, complete, commit, end"},
		{
			filling: sink.Filling{Ledger: ledger}, words: "load part load part close",
			want: "begin, add, send, record p, add, send, record p, send, complete, commit, end",
		},
		{
			filling: each, words: "load part close",
			want: "begin, add, send, record p, commit part, send, complete, commit, end",
		},
		{filling: each, words: "load close", want: "begin, add, send", used: "2 rows are in none", commit: "failed"},
		{
			words: "load part load part load load part", want: "begin, add, send, add, send, add, add, send",
			used: "2 rows were sent, but the database has counted 4", commit: "has failed",
		},
		{
			filling: each, words: "load mark load undo part mark close",
			want: "begin, add, send, mark false, add, undo, send, record p, commit part, send, mark false, send, " +
				"complete, commit, end",
		},
		{
			filling: sink.Filling{Ledger: ledger}, words: "mark load flush mark undo part mark part undo",
			want: "begin, send, mark false, add, send, send, mark true, undo, send, record p, send, mark true, send",
			used: "2 rows were sent, but the database has counted 0", commit: "has failed",
		},
		{words: "load undo", want: "begin, add", used: "no mark", commit: "no mark"},
		{
			filling: sink.Filling{Existing: sink.Append, Conflict: sink.Ignore}, words: "mark", want: "begin",
			used: "cannot be undone", commit: "cannot be undone",
		},
		{words: "load", want: "begin, add", commit: "not closed"},
		{words: "close close", want: "begin, send, complete", used: "closed", commit: "-"},
		{words: "load load", fails: "add", want: "begin, add", used: "memory has failed", commit: "memory has failed"},
		{words: "load close", fails: "send", want: "begin, add, send", used: "memory", commit: "memory has failed"},
		{words: "sum", fails: "read", want: "begin, send, read", used: "memory", commit: "memory has failed"},
		{words: "close", fails: "complete", want: "begin, send, complete", used: "memory", commit: "memory"},
		{
			filling: each, words: "load part close", fails: "record p",
			want: "begin, add, send, record p", used: "memory", commit: "memory",
		},
		{
			filling: each, words: "load part close", fails: "commit part",
			want: "begin, add, send, record p, commit part", used: "memory", commit: "memory",
		},
		{words: "close", fails: "commit", want: "begin, send, complete, commit, end", commit: "memory has failed"},
	} {
		filler, m, err := begin(t.Context(), test.filling, test.fails)
		if err != nil {
			t.Fatal(err)
		}
		loader := m.Loaders()[0]
		used := use(loader, test.words)
		expectError(t, test.words, used, test.used)
		if used != nil && test.commit != "-" && !errors.Is(loader.Load(rowsOf(3)), used) {
			t.Errorf("%q: a loader that has failed has another error: %v", test.words, loader.Load(rowsOf(3)))
		}
		if test.commit != "-" {
			expectError(t, test.words+" commit", m.Commit(), test.commit)
		}
		if got := strings.Join(m.calls, ", "); got != test.want {
			t.Errorf("%q calls %s, want %s", test.words, got, test.want)
		}
		if err := m.Discard(); err != nil {
			t.Errorf("Discard: %v", err)
		}
		if n := len(slices.DeleteFunc(m.calls, func(call string) bool { return call != "end" })); n != 1 {
			t.Errorf("%q ends %d times", test.words, n)
		}
		if err := filler.Idle(); err != nil {
			t.Errorf("%q leaves the sink: %v", test.words, err)
		}
		if m.Commit() == nil || loader.Load(rowsOf(4)) == nil {
			t.Errorf("%q: a table that has ended is used", test.words)
		}
	}
}

func expectError(t *testing.T, what string, err error, part string) {
	t.Helper()
	if (err == nil) != (part == "") || err != nil && !strings.Contains(err.Error(), part) {
		t.Errorf("%q: %v, want an error with %q", what, err, part)
	}
}

// TestBeginFails has nothing remain of a table that could not be begun.
func TestBeginFails(t *testing.T) {
	filler, m, err := begin(t.Context(), sink.Filling{}, "begin")
	if !errors.Is(err, errMemory) || strings.Join(m.calls, ", ") != "begin, end" || filler.Idle() != nil {
		t.Errorf("%v after %q, %v", err, m.calls, filler.Idle())
	}
}

// TestFiller has one table open at a time, which is discarded with its sink.
func TestFiller(t *testing.T) {
	filler, m, err := begin(t.Context(), sink.Filling{}, "")
	if err != nil || filler.Idle() == nil {
		t.Errorf("beside a table that is open: %v, %v", err, filler.Idle())
	}
	if err := filler.Close(); err != nil || strings.Join(m.calls, ", ") != "begin, end" {
		t.Errorf("%v after %q", err, m.calls)
	}
	if err := filler.Idle(); !filler.IsClosed() || !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("a sink that is closed: %v", err)
	}
}

// TestStateCanceled ends the context of a table: only Discard has an effect.
func TestStateCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for _, words := range []string{"load", "close"} {
		_, m, err := begin(ctx, sink.Filling{}, "")
		if err != nil {
			t.Fatal(err)
		}
		loader := m.Loaders()[0]
		if err := use(loader, words); err != nil {
			t.Fatal(err)
		}
		cancel()
		if words == "load" {
			if _, err := loader.Close(); !errors.Is(err, context.Canceled) {
				t.Errorf("Close: %v", err)
			}
		}
		if err := m.Commit(); !errors.Is(err, context.Canceled) {
			t.Errorf("Commit: %v", err)
		}
		if slices.Contains(m.calls, "commit") {
			t.Errorf("it calls %q", m.calls)
		}
		ctx, cancel = context.WithCancel(t.Context())
	}
	cancel()
}

// has is what a table and a ledger have.
type has struct {
	rows  int64
	parts []sink.Part
}

func (h has) Parts() ([]sink.Part, error)     { return h.parts, nil }
func (h has) Count(most int64) (int64, error) { return min(h.rows, max(most, 1)), nil }

// TestLook decides what becomes of rows, for each number of them and of those that the ledger has.
func TestLook(t *testing.T) {
	target := &sink.Target{Label: "memory: table x"}
	ledger := &sink.Ledger{Table: "ledger", Load: "load"}
	recorded := []sink.Part{{Name: "a", Rows: 2}, {Name: "b", Rows: 3}}
	for _, test := range []struct {
		existing    sink.Existing
		rows        int64
		has, ledger bool
		loaded      int
		clear       bool
		want        error
	}{
		{existing: sink.Refuse},
		{existing: sink.Refuse, rows: 1, want: sink.ErrNotEmpty},
		{existing: sink.Refuse, ledger: true},
		{existing: sink.Refuse, ledger: true, rows: 1, want: sink.ErrNotEmpty},
		{existing: sink.Refuse, ledger: true, has: true, rows: 0, want: sink.ErrGone},
		{existing: sink.Refuse, ledger: true, has: true, rows: 4, want: sink.ErrGone},
		{existing: sink.Refuse, ledger: true, has: true, rows: 5, loaded: 2},
		{existing: sink.Refuse, ledger: true, has: true, rows: 6, want: sink.ErrNotEmpty},
		{existing: sink.Append, rows: 1},
		{existing: sink.Append, ledger: true, rows: 1},
		{existing: sink.Append, ledger: true, has: true, rows: 4, want: sink.ErrGone},
		{existing: sink.Append, ledger: true, has: true, rows: 5, loaded: 2},
		{existing: sink.Append, ledger: true, has: true, rows: 6, loaded: 2},
		{existing: sink.Truncate, rows: 1, clear: true},
		{existing: sink.Truncate, clear: true},
		{existing: sink.Truncate, ledger: true, rows: 5, clear: true},
		{existing: sink.Truncate, ledger: true, has: true, rows: 4, clear: true},
		{existing: sink.Truncate, ledger: true, has: true, rows: 5, loaded: 2},
		{existing: sink.Swap, ledger: true, has: true, rows: 6, clear: true},
		{existing: sink.Swap, ledger: true, has: true, rows: 5, loaded: 2},
	} {
		f, content := sink.Filling{Existing: test.existing}, has{rows: test.rows}
		if test.ledger {
			f.Ledger = ledger
		}
		if test.has {
			content.parts = recorded
		}
		loaded, isCleared, err := target.Look(f, content)
		if len(loaded) != test.loaded || isCleared != test.clear || !errors.Is(err, test.want) {
			t.Errorf("%+v: %v, %v, %v", test, loaded, isCleared, err)
		}
	}
	kept := sink.Filling{Existing: sink.Append, Conflict: sink.Ignore, Ledger: ledger}
	if loaded, _, err := target.Look(kept, has{rows: 1, parts: recorded}); err != nil || len(loaded) != 2 {
		t.Errorf("rows that were in conflict with others: %v, %v", loaded, err)
	}
}

// TestChoose finds the columns of rows.
func TestChoose(t *testing.T) {
	target := &sink.Target{Label: "memory: table x", Equal: strings.EqualFold, Columns: []sink.TableColumn{
		{Column: source.Column{Name: "id"}},
		{Column: source.Column{Name: "twice"}, Computed: true},
		{Column: source.Column{Name: "rank"}, Hidden: true},
		{Column: source.Column{Name: "b"}},
	}}
	for _, test := range []struct {
		columns, key string
		want         string // the places, or a part of the error
	}{
		{"", "", "[0 3]"},
		{"B ID", "", "[3 0]"},
		{"rank", "", "[2]"},
		{"twice", "", "takes no values"},
		{"b B", "", "named twice"},
		{"c", "", `column "c" does not exist`},
		{"b id", "id B", "[3 0]"},
		{"b", "id", `of the key is not in the rows: source: column "id" does not exist`},
		{"b", "b b", "named twice in the key"},
	} {
		f := sink.Filling{Columns: strings.Fields(test.columns), Key: strings.Fields(test.key)}
		places, err := target.Choose(f)
		got := fmt.Sprint(places)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%q, %q: %s, want %s", test.columns, test.key, got, test.want)
		}
	}
}

// The table of a database embeds a TableState, and executes what it is told.
func ExampleTableState() {
	var filler sink.Filler // of the sink
	table := &memory{}
	err := table.Begin(context.Background(), &filler, table, sink.Filling{}, func() error {
		loader := &memoryLoader{m: table}
		loader.Join(&table.TableState, loader)
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = table.Discard() }() // does nothing after Commit
	loader := table.Loaders()[0]
	err = loader.Load(rowsOf(1, 2, 3))
	if err == nil {
		var rows int64
		rows, err = loader.Close()
		fmt.Println(rows, "rows")
	}
	if err == nil {
		err = table.Commit()
	}
	fmt.Println(table.calls, err)
	// Output:
	// 3 rows
	// [add send complete commit end] <nil>
}
