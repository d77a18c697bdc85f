package sinktest

import (
	"errors"
	"fmt"
	"testing"

	"culvert/sink"
	"culvert/source"
)

// Change is a value that a column would store as another one.
type Change struct {
	Type  string // of the column
	Kind  source.Kind
	Value string
}

// changes are those of every database.
var changes = []Change{
	{"bigint", source.Number, "007"},
	{"bigint", source.Text, "007"},
	{"bigint", source.Text, "+7"},
	{"numeric(8,2)", source.Number, "0001.5"},
	{"double precision", source.Number, "9007199254740993"},
	{"double precision", source.Text, "+1.5"},
}

// testKept loads values of an unknown source that their columns would change. They are refused by row and column,
// unless the column is named.
func testKept(t *testing.T, f *Fixture) {
	db := f.open(t)
	for i, change := range append(changes, f.Changes...) {
		name := fmt.Sprintf("kept%d_t", i)
		f.create(t, name, "a", f.Text, "b", change.Type)
		var b source.Batch
		b.Reset(2)
		for row := range 100 {
			b.AppendInt(int64(row))
			b.AppendNull()
			b.EndRow()
		}
		b.Append(source.Text, []byte("x"))
		b.Append(change.Kind, []byte(change.Value))
		b.EndRow()
		for _, filling := range []sink.Filling{
			{},
			{Redact: true},
			{Columns: []string{"a", "b"}, From: source.SQLite, Types: []string{"", ""}},
			{Convert: []string{"B"}},
		} {
			filled := table(t, db, name, filling)
			loader := filled.Loaders()[0]
			err := loader.Load(&b)
			if err == nil && filling.Convert == nil {
				t.Errorf("%v is taken", change)
			}
			if err == nil {
				_, err = loader.Close()
			}
			refused, is := errors.AsType[*sink.RowError](err)
			value := change.Value
			if filling.Redact {
				value = ""
			}
			switch changed := errors.Is(err, sink.ErrChanged); {
			case filling.Convert != nil && changed:
				t.Errorf("%v is refused although the column is named: %v", change, err)
			case filling.Convert == nil &&
				(!changed || !is || refused.Row != 101 || refused.Column != "b" || refused.Value != value):
				t.Errorf("%v: %v", change, err)
			}
			discard(t, filled)
		}
		expect(t, f.read(t, name))
	}
}
