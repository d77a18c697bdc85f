package sinktest

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"culvert/sink"
)

// testBinary has rows in the binary form in turn with text and batches.
func testBinary(t *testing.T, f *Fixture) {
	f.create(t, "binary_t", "id", "bigint NOT NULL PRIMARY KEY", "a", f.Text)
	db := f.open(t)
	filled, is := table(t, db, "binary_t", sink.Filling{}).(sink.BinaryTable)
	if !is {
		t.Skip("the loaders read no binary form")
	}
	loader := filled.Loaders()[0].(sink.BinaryLoader)
	rows, ok := filled.AppendBinary(nil, batch([]string{"1", "a,\"\n"}, []string{"2", null}, []string{"3", ""}))
	if !ok {
		t.Fatal("numbers and texts have no binary form")
	}
	if err := loader.LoadBinary(iotest.OneByteReader(bytes.NewReader(rows))); err != nil {
		t.Fatal(err)
	}
	if err := loader.LoadText(encode(t, filled, batch([]string{"4", "x"}))); err != nil {
		t.Fatal(err)
	}
	if err := loader.Load(batch([]string{"5", "\\."})); err != nil {
		t.Fatal(err)
	}
	if rows, ok = filled.AppendTextAsBinary(rows[:0], []byte("6,\"y\nz\"\n7,\n")); !ok {
		t.Fatal("text of numbers and texts has no binary form")
	}
	for _, r := range []io.Reader{bytes.NewReader(rows), strings.NewReader("")} {
		if err := loader.LoadBinary(r); err != nil {
			t.Fatal(err)
		}
	}
	closeLoader(t, loader, 7)
	commit(t, filled)
	want := []string{"1,\"a,\"\"\n", "\"\n", "2,\n", "3,\"\"\n", "4,x\n", "5,\\.\n", "6,\"y\n", "z\"\n", "7,\n"}
	expect(t, f.read(t, "binary_t"), want...)

	brokenBinary(t, f, db, want)
}

// brokenBinary refuses a row, and has a source fail.
func brokenBinary(t *testing.T, f *Fixture, db sink.Sink, want []string) {
	t.Helper()
	filled := table(t, db, "binary_t", sink.Filling{Existing: sink.Append}).(sink.BinaryTable)
	rows, _ := filled.AppendBinary(nil, batch([]string{"8", "two\nlines"}, []string{"9", "a"}, []string{"1", "again"}))
	err := filled.Loaders()[0].(sink.BinaryLoader).LoadBinary(bytes.NewReader(rows))
	if refused, is := errors.AsType[*sink.RowError](err); !is || refused.Row != 3 || refused.Line != 0 {
		t.Errorf("row 3 is refused as %#v", err)
	}
	discard(t, filled)

	filled = table(t, db, "binary_t", sink.Filling{Existing: sink.Append}).(sink.BinaryTable)
	rows, _ = filled.AppendBinary(nil, batch([]string{"8", "a"}))
	loader := filled.Loaders()[0].(sink.BinaryLoader)
	failing := io.MultiReader(bytes.NewReader(rows), iotest.ErrReader(errSource))
	if err := loader.LoadBinary(failing); !errors.Is(err, errSource) {
		t.Errorf("a source that fails is the error %v", err)
	}
	if err := filled.Commit(); err == nil {
		t.Error("rows without their end are committed")
	}
	discard(t, filled)
	expect(t, f.read(t, "binary_t"), want...)
}
