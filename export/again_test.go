package export_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
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

// bomb are rows that panic in the middle, or whatever explode does.
type bomb struct {
	source.Rows
	left    int
	explode func()
}

func (b *bomb) Next(batch *source.Batch) error {
	if b.left--; b.left < 0 {
		b.explode()
	}
	return b.Rows.Next(batch)
}

func panics() { panic("the driver has a fault") }

// expectPanic is deferred, and recovers that of a bomb.
func expectPanic(t *testing.T) {
	t.Helper()
	if value := recover(); !strings.Contains(fmt.Sprint(value), "the driver has a fault") {
		t.Errorf("panic %v, want that of the source", value)
	}
}

// rowsOf is a source of the rows it is given.
type rowsOf struct {
	generated
	rows func() source.Rows
}

func (s *rowsOf) Table(context.Context, string) (source.Rows, error) { return s.rows(), nil }

// bombed is a source of which one of several readers explodes, while the others wait.
func bombed(explode func()) source.Source {
	return &divided{
		generated: generated{rows: 20_000, failAt: 15_000, text: wide}, failing: 2,
		wrap: func(rows source.Rows) source.Rows { return &bomb{rows, 1, explode} },
	}
}

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
			src := &generated{rows: 20_000, failAt: 15_000, text: wide, fail: errFull}
			if _, err := parallel.Table(t.Context(), io.Discard, src, ""); !errors.Is(err, errFull) {
				t.Error(err)
			}
		},
		"source panics": func() {
			defer expectPanic(t)
			src := &rowsOf{rows: func() source.Rows {
				return &bomb{&generatedRows{generated: &generated{rows: 20_000, text: wide}}, 5, panics}
			}}
			_, _ = parallel.Table(t.Context(), io.Discard, src, "")
		},
		"one of several readers panics": func() {
			defer expectPanic(t)
			_, _ = parallel.Table(t.Context(), io.Discard, bombed(panics), "")
		},
		"one of several readers leaves": func() {
			if _, err := parallel.Table(t.Context(), io.Discard, bombed(runtime.Goexit), ""); err == nil {
				t.Error("no error")
			}
		},
	} {
		rounds := 2
		if testkit.Soak() {
			rounds = 10
		}
		for range rounds {
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
