package export_test

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"testing"

	"culvert/export"
	"culvert/format/parquet"
	"culvert/place"
	"culvert/source"
)

// metered rows say how far they are, and calls watch in the middle.
type metered struct {
	generatedRows
	size  source.Size
	done  float64
	watch func()
}

func (m *metered) Size() (source.Size, error) { return m.size, nil }
func (m *metered) Done() float64              { return m.done }

func (m *metered) Next(b *source.Batch) error {
	m.watch()
	return m.generatedRows.Next(b)
}

func TestProgressDone(t *testing.T) {
	const rows = 40_000
	for name, test := range map[string]struct {
		size  source.Size
		meter float64
		right func(done float64) bool
	}{
		"meter":      {source.Size{Rows: 7}, 0.25, func(done float64) bool { return done == 0.25 }},
		"over":       {source.Size{}, 1.5, func(done float64) bool { return done == 1 }},
		"no meter":   {source.Size{Rows: rows}, -1, func(done float64) bool { return done >= 0 && done <= 1 }},
		"not number": {source.Size{Rows: rows}, math.NaN(), func(done float64) bool { return done >= 0 && done <= 1 }},
		"too many":   {source.Size{Rows: 1}, -1, func(done float64) bool { return done == 0 || done == 1 }},
		"unknown":    {source.Size{}, -1, func(done float64) bool { return done == -1 }},
	} {
		progress := new(export.Progress)
		if done := progress.Done(); done != -1 {
			t.Errorf("%v done of nothing", done)
		}
		watched := 0
		r := &metered{size: test.size, done: test.meter, watch: func() {
			watched++
			if done := progress.Done(); !test.right(done) {
				t.Errorf("%s: %v done", name, done)
			}
			if _, ok := progress.Table(); ok {
				t.Errorf("%s: one of several", name)
			}
		}}
		r.generated = &generated{rows: rows, text: wide}
		plan := export.Plan{Unencrypted: true, Progress: progress, Jobs: 2}
		_, err := plan.Table(t.Context(), io.Discard, &rowsOf{rows: func() source.Rows { return r }}, "")
		if err != nil {
			t.Fatal(err)
		}
		if watched < 5 {
			t.Errorf("%s: watched %d times", name, watched)
		}
	}
}

// TestProgressOfTables looks at the progress while each file is begun.
func TestProgressOfTables(t *testing.T) {
	progress := new(export.Progress)
	text := []byte("x")
	src := schema{
		"a": {rows: 100_000, text: text}, "b": {rows: 300_000, text: text}, "denied": nil,
		"c": {rows: 600_000, text: text},
	}
	var seen []export.TableProgress
	var done []float64
	files := createFunc{newShelf(), func(ctx context.Context, _ string) (place.File, error) {
		table, _ := progress.Table()
		seen, done = append(seen, table), append(done, progress.Done())
		return newShelf().Create(ctx, "x")
	}}
	// Somebody else watches all the time.
	exported, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for last := -1.0; ; {
			now := progress.Done()
			if now < last || now > 1 {
				t.Errorf("%v done after %v", now, last)
			}
			last = now
			select {
			case <-exported:
				return
			default:
				progress.Table()
			}
		}
	}()
	plan := export.Plan{Unencrypted: true, Progress: progress}
	all, err := plan.Tables(t.Context(), files, src, []string{"a", "b", "denied", "c"})
	close(exported)
	<-watched
	if partial, ok := errors.AsType[*export.PartialError](err); !ok || partial.Failed != 1 || len(all) != 4 {
		t.Fatal(err)
	}
	// A file is begun before its table, when the one before is at its end; the last is the manifest.
	last := len(seen) - 1
	if len(seen) != 4 || done[0] != -1 || done[1] < 0.1 || done[1] > 0.2 || done[2] < 0.4 || done[2] > 0.5 ||
		done[last] != 1 {
		t.Errorf("%v done, want -1, a little above 0.1 and 0.4, and 1; %+v", done, seen)
	}
	if end := seen[last]; end.Name != "c" || end.Number != 4 || end.Of != 4 || end.Rows != 600_000 || end.Done != 1 {
		t.Errorf("the last table ends at %+v", end)
	}
}

// createFunc is a place with a Create of its own.
type createFunc struct {
	place.Place
	create func(ctx context.Context, name string) (place.File, error)
}

func (f createFunc) Create(ctx context.Context, name string) (place.File, error) {
	return f.create(ctx, name)
}

// selecting is a source that can give a part of its table.
type selecting struct {
	divided
	asked source.Selection
}

func (s *selecting) Select(ctx context.Context, name string, selection source.Selection) (source.Rows, error) {
	s.asked = selection
	return s.Table(ctx, name)
}

func TestSelection(t *testing.T) {
	want := source.Selection{Columns: []string{"id"}, Where: "id > 1", Limit: 3}
	plan := export.Plan{Unencrypted: true, Selection: want}
	src := &selecting{}
	if _, err := plan.Table(t.Context(), io.Discard, src, "t"); err != nil || src.asked.Where != want.Where ||
		src.asked.Limit != want.Limit || len(src.asked.Columns) != 1 {
		t.Errorf("asked for %+v, error %v", src.asked, err)
	}
	if _, err := plan.Table(t.Context(), io.Discard, &generated{}, "t"); err == nil {
		t.Error("a source without selections gave one")
	}
	if _, err := plan.Query(t.Context(), io.Discard, src, "q"); err == nil {
		t.Error("a query had a selection")
	}
}

func TestEstimate(t *testing.T) {
	src := &divided{}
	for jobs, want := range map[int]int{1: 1, 4: 4, 99: 16} {
		plan := export.Plan{Jobs: jobs}
		e, err := plan.Estimate(t.Context(), src, "t")
		if err != nil || e.Ranges != want || e.Readers != want || len(e.Columns) != 2 || e.Indivisible != nil {
			t.Errorf("%d jobs: %+v, error %v", jobs, e, err)
		}
	}
	ordered := export.Plan{Jobs: 4, Ordered: true}
	if e, err := ordered.Estimate(t.Context(), src, "t"); err != nil || e.Ranges != 1 {
		t.Errorf("%+v, error %v", e, err)
	}
	plan := export.Plan{Jobs: 4}
	src.indivisible = &source.IndivisibleError{Reason: "it is whole"}
	e, err := plan.Estimate(t.Context(), src, "t")
	if err != nil || e.Ranges != 1 || e.Readers != 1 || e.Indivisible == nil || e.Indivisible.Reason != "it is whole" {
		t.Errorf("%+v, error %v", e, err)
	}
	src.indivisible = errFull
	if _, err := plan.Estimate(t.Context(), src, "t"); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
	sized := schema{"t": {rows: 7}}
	if e, err := plan.Estimate(t.Context(), sized, "t"); err != nil || e.Size.Rows != 7 || e.Size.Bytes != 70 {
		t.Errorf("%+v, error %v", e, err)
	}
	if _, err := plan.Estimate(t.Context(), sized, "x"); err == nil {
		t.Error("there is a table x")
	}
}

// TestEstimateFormat refuses columns that a format does not take before any rows are read, as their export does.
func TestEstimateFormat(t *testing.T) {
	src := schema{"t": {rows: 7}}
	plan := export.Plan{Format: parquet.Format{Bloom: []string{"nosuch"}}, Unencrypted: true}
	_, estimated := plan.Estimate(t.Context(), src, "t")
	_, exported := plan.Table(t.Context(), io.Discard, src, "t")
	if estimated == nil || exported == nil || estimated.Error() != exported.Error() {
		t.Errorf("the estimate fails by %v, and the export by %v", estimated, exported)
	}
	plan.Choices = map[string]source.Choice{"t": {NoRows: true}}
	if _, err := plan.Estimate(t.Context(), src, "t"); err == nil || err.Error() == exported.Error() {
		t.Errorf("the format takes no rows of the table, and the error is %v", err)
	}
}

// TestLacking finds the columns that no table has. A table that cannot be read may have any.
func TestLacking(t *testing.T) {
	var plan export.Plan
	of := func(ctx context.Context, src schema, names ...string) []string {
		t.Helper()
		lacking, err := plan.Lacking(ctx, src, names, []string{"id", "nosuch", "text"})
		if err != nil {
			t.Fatal(err)
		}
		return lacking
	}
	src := schema{"t": {rows: 7}, "denied": nil}
	if got := of(t.Context(), src, "t"); !slices.Equal(got, []string{"nosuch"}) {
		t.Errorf("lacking are %q", got)
	}
	if got := of(t.Context(), src, "t", "denied"); len(got) > 0 {
		t.Errorf("lacking are %q, and a table cannot be read", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := plan.Lacking(ctx, src, []string{"denied"}, []string{"id"}); err == nil {
		t.Error("a cancelled context is no error")
	}
}
