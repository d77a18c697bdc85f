package sink_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"culvert/sink"
)

// memoryGroup is a group of tables in memory. All write down what they are told in its calls.
type memoryGroup struct {
	sink.GroupState
	memory
	tables []sink.Member
	ctx    context.Context
}

func (g *memoryGroup) Order() []int                    { return nil }
func (g *memoryGroup) Table(i int) (sink.Table, error) { return g.GroupState.Table(i) }
func (g *memoryGroup) Commit() error                   { return g.GroupState.Commit() }
func (g *memoryGroup) Discard() error                  { return g.GroupState.Discard() }
func (g *memoryGroup) CommitTables() error             { return g.call("commit all") }
func (g *memoryGroup) End() error                      { return g.call("end all") }
func (g *memoryGroup) Fill(i int, filler *sink.Filler) (sink.Table, error) {
	m := &groupedMemory{group: g}
	return m, m.Begin(g.ctx, filler, m, g.tables[i].Filling, func() error {
		l := &memoryLoader{m: &g.memory}
		l.Join(&m.TableState, l)
		return g.call("fill " + g.tables[i].Name)
	})
}

// groupedMemory is a table of such a group.
type groupedMemory struct {
	sink.TableState
	memory
	group *memoryGroup
}

func (m *groupedMemory) Loaders() []sink.Loader { return m.TableState.Loaders() }
func (m *groupedMemory) Commit() error          { return m.TableState.Commit() }
func (m *groupedMemory) Discard() error         { return m.TableState.Discard() }
func (m *groupedMemory) CommitRows() error      { return m.group.call("commit") }
func (m *groupedMemory) End() error             { return m.group.call("end") }

func beginGroup(ctx context.Context, fails string) (*sink.Filler, *memoryGroup, error) {
	tables, err := sink.CheckGroup([]sink.Member{{Name: "a"}, {Name: "b"}})
	if err != nil {
		return nil, nil, err
	}
	filler, g := new(sink.Filler), &memoryGroup{memory: memory{fails: fails}, tables: tables, ctx: ctx}
	return filler, g, g.Begin(ctx, filler, g, len(tables), func() error { return g.call("begin") })
}

// useGroup does with a group what the words say, up to the first error: a and b fill and commit a table.
func useGroup(ctx context.Context, g *memoryGroup, words string) (err error) {
	var open sink.Table
	for word := range strings.FieldsSeq(words) {
		at := strings.Index("ab", word)
		switch {
		case at >= 0:
			if open, err = g.Table(at); err == nil {
				if _, err = open.Loaders()[0].Close(); err == nil {
					err = open.Commit()
				}
			}
		case word == "open-a":
			open, err = g.Table(0)
		case word == "discard":
			err = open.Discard()
		case word == "commit":
			err = g.Commit()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestGroupState has the driver of a group called in all orders in which a caller may use it.
func TestGroupState(t *testing.T) {
	const fillA, fillB = "fill a, send, complete, commit, end", "fill b, send, complete, commit, end"
	for _, test := range []struct {
		words, fails string
		want         string // the calls, joined, without the end
		used         string // part of the error
	}{
		{words: "a b commit", want: "begin, " + fillA + ", " + fillB + ", commit all"},
		{words: "b a commit", want: "begin, " + fillB + ", " + fillA + ", commit all"},
		{words: "a commit", want: "begin, " + fillA, used: "not committed"},
		{words: "a a", want: "begin, " + fillA, used: "only once"},
		{words: "open-a b", want: "begin, fill a, end", used: "another table"},
		{words: "open-a commit", want: "begin, fill a, end", used: "not committed"},
		{words: "open-a discard b", want: "begin, fill a, end", used: "only be discarded"},
		{words: "b open-a discard commit", want: "begin, " + fillB + ", fill a, end", used: "only be discarded"},
		{words: "a b", fails: "fill b", want: "begin, " + fillA + ", fill b, end", used: "memory"},
		{words: "a b", fails: "commit", want: "begin, " + fillA, used: "memory"},
		{
			words: "a b commit", fails: "commit all", used: "memory",
			want: "begin, " + fillA + ", " + fillB + ", commit all",
		},
		{words: "a b commit commit", want: "begin, " + fillA + ", " + fillB + ", commit all", used: "already"},
		{words: "a b commit a", want: "begin, " + fillA + ", " + fillB + ", commit all", used: "already"},
	} {
		filler, g, err := beginGroup(t.Context(), test.fails)
		if err != nil {
			t.Fatal(err)
		}
		expectError(t, test.words, useGroup(t.Context(), g, test.words), test.used)
		if err := g.Discard(); err != nil {
			t.Errorf("%q: Discard: %v", test.words, err)
		}
		if got := strings.Join(g.calls, ", "); got != test.want+", end all" {
			t.Errorf("%q calls %s, want %s, end all", test.words, got, test.want)
		}
		if err := filler.Idle(); err != nil {
			t.Errorf("%q leaves the sink: %v", test.words, err)
		}
		if _, err := g.Table(1); err == nil || g.Commit() == nil {
			t.Errorf("%q: a group that has ended is used", test.words)
		}
	}
}

// TestGroupOfSink has one group open at a time, which is discarded with its sink, and ends with its context.
func TestGroupOfSink(t *testing.T) {
	if filler, g, err := beginGroup(t.Context(), "begin"); !errors.Is(err, errMemory) || filler.Idle() != nil ||
		!slices.Equal(g.calls, []string{"begin", "end all"}) {
		t.Errorf("%v after %q, %v", err, g.calls, filler.Idle())
	}
	ctx, cancel := context.WithCancel(t.Context())
	filler, g, err := beginGroup(ctx, "")
	if err != nil || filler.Idle() == nil {
		t.Errorf("beside a group that is open: %v, %v", err, filler.Idle())
	}
	if err := useGroup(ctx, g, "a"); err != nil {
		t.Error(err)
	}
	cancel()
	if err := useGroup(ctx, g, "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("Table after the end of the context: %v", err)
	}
	if err := filler.Close(); err != nil || g.calls[len(g.calls)-1] != "end all" {
		t.Errorf("%v after %q", err, g.calls)
	}
}

// TestGrouped keeps the tables of a group apart from others.
func TestGrouped(t *testing.T) {
	if _, _, err := begin(t.Context(), sink.Filling{Grouped: true}, ""); err == nil {
		t.Error("a table of a group is filled without it")
	}
	_, g, err := beginGroup(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	g.tables[0].Filling.Grouped = false
	if _, err := g.Table(0); err == nil {
		t.Error("a table is filled by a group without knowing it")
	}
}

// TestCheckGroup refuses fillings that contradict each other.
func TestCheckGroup(t *testing.T) {
	one, two := &sink.Ledger{Table: "l", Load: "1"}, &sink.Ledger{Table: "l", Load: "2"}
	again := *one
	for _, test := range []struct {
		fillings []sink.Filling
		want     string
	}{
		{nil, "no tables"},
		{[]sink.Filling{{Loaders: -1}}, "unknown value"},
		{[]sink.Filling{{}, {Existing: sink.Truncate}}, "contradict"},
		{[]sink.Filling{{Redact: true}, {}}, "contradict"},
		{[]sink.Filling{{LockTimeout: 1}, {}}, "contradict"},
		{[]sink.Filling{{Ledger: one}, {}}, "contradict"},
		{[]sink.Filling{{Ledger: one}, {Ledger: two}}, "contradict"},
		{[]sink.Filling{{Ledger: one, EachPart: true}}, "part by part"},
		{[]sink.Filling{{Conflict: sink.Ignore}}, "conflict"},
		{[]sink.Filling{{Ledger: one, Loaders: 4}, {Ledger: &again, Columns: []string{"id"}}}, ""},
	} {
		var tables []sink.Member
		for i, f := range test.fillings {
			tables = append(tables, sink.Member{Name: fmt.Sprint(i), Filling: f})
		}
		checked, err := sink.CheckGroup(tables)
		expectError(t, fmt.Sprintf("%+v", test.fillings), err, test.want)
		for _, one := range checked {
			if f := one.Filling; !f.Grouped || f.Loaders != 1 {
				t.Errorf("%+v is filled as %+v", test.fillings, f)
			}
		}
		for i := range tables {
			if tables[i].Filling.Grouped {
				t.Error("CheckGroup has changed the caller's tables")
			}
		}
	}
}
