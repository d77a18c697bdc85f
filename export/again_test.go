package export_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"culvert/export"
	"culvert/source"
)

// nulls are rows of one NULL, which take no bytes, until they fail.
type nulls struct {
	generatedRows
	batches int
}

func (n *nulls) Next(b *source.Batch) error {
	b.Reset(1)
	if n.batches--; n.batches < 0 {
		return errFull
	}
	for !b.Full() {
		b.AppendNull()
		b.EndRow()
	}
	return nil
}

// bomb are rows that panic in the middle.
type bomb struct {
	*generatedRows
	left int
}

func (b *bomb) Next(batch *source.Batch) error {
	if b.left--; b.left < 0 {
		panic("the driver has a fault")
	}
	return b.generatedRows.Next(batch)
}

// rowsOf is a source of the rows it is given.
type rowsOf struct {
	generated
	rows func() source.Rows
}

func (s *rowsOf) Table(context.Context, string) (source.Rows, error) { return s.rows(), nil }

// TestAfterFailures exports again and again what other exports, which fail in all ways, may have left of their rows.
func TestAfterFailures(t *testing.T) {
	good := &printing{generated{rows: 1, text: []byte("good")}}
	var want bytes.Buffer
	plain := export.Plan{Compression: export.None, Unencrypted: true, Jobs: 1}
	if _, err := plain.Table(t.Context(), &want, good, ""); err != nil {
		t.Fatal(err)
	}
	parallel := export.Plan{Compression: export.Gzip, Unencrypted: true, Jobs: 6}
	for name, fail := range map[string]func(){
		"sink, rows of NULLs": func() {
			src := &rowsOf{rows: func() source.Rows { return &nulls{batches: 5} }}
			if _, err := parallel.Table(t.Context(), &fullDisk{0}, src, ""); err == nil {
				t.Error("no error")
			}
		},
		"source in the middle": func() {
			src := &generated{rows: 200_000, failAt: 150_000, fail: errFull}
			if _, err := parallel.Table(t.Context(), io.Discard, src, ""); !errors.Is(err, errFull) {
				t.Error(err)
			}
		},
		"source panics": func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			src := &rowsOf{rows: func() source.Rows {
				return &bomb{&generatedRows{generated: &generated{rows: 200_000}}, 5}
			}}
			_, _ = parallel.Table(t.Context(), io.Discard, src, "")
		},
	} {
		for range 10 {
			fail()
			var got bytes.Buffer
			if _, err := plain.Table(t.Context(), &got, good, ""); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want.Bytes()) {
				t.Fatalf("after %s: %d bytes, want %d: %.40q…", name, got.Len(), want.Len(), got.Bytes())
			}
		}
	}
}

// TestShortWrite has a sink that takes less than it is given and does not say so.
func TestShortWrite(t *testing.T) {
	plan := export.Plan{Unencrypted: true}
	short := writerFunc(func(p []byte) (int, error) { return len(p) / 2, nil })
	if _, err := plan.Table(t.Context(), short, &generated{rows: 1000}, ""); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v, want %v", err, io.ErrShortWrite)
	}
}
