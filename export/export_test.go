package export_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/ncruces/go-sqlite3"
	"go.uber.org/goleak"

	"culvert/agefile"
	"culvert/export"
	"culvert/format"
	"culvert/format/parquet"
	"culvert/internal/compress"
	"culvert/internal/testkit"
	"culvert/source"
	"culvert/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// database makes an SQLite database and opens it as a source.
func database(tb testing.TB, script string) source.Source {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "test.db")
	conn, err := sqlite3.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	if err := conn.Exec(script); err != nil {
		tb.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		tb.Fatal(err)
	}
	db, err := sqlite.OpenSource(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

// manyTodos are some megabytes of rows.
const manyTodos = `
CREATE TABLE todos (id INTEGER PRIMARY KEY, title TEXT, note TEXT);
WITH RECURSIVE ids(id) AS (VALUES (1) UNION ALL SELECT id + 1 FROM ids WHERE id < 60000)
INSERT INTO todos SELECT id, 'title, "quoted" ' || id * 7919, iif(id % 3, hex(id) || char(10) || 'more', NULL) FROM ids`

// encodeAlone formats the rows of a table one batch after the other.
func encodeAlone(tb testing.TB, src source.Source, table string, f format.Format) (text []byte, rows int64) {
	tb.Helper()
	r, err := src.Table(tb.Context(), table)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	}()
	encoder, err := f.Encoder(r.Columns())
	if err != nil {
		tb.Fatal(err)
	}
	text = encoder.AppendHeader(nil)
	var b source.Batch
	for {
		if err := r.Next(&b); err == io.EOF {
			return text, rows
		} else if err != nil {
			tb.Fatal(err)
		}
		rows += int64(b.Rows())
		if text, err = encoder.AppendRows(text, &b); err != nil {
			tb.Fatal(err)
		}
	}
}

// open returns the text of an output.
func open(file []byte, identities ...age.Identity) ([]byte, error) {
	var src io.Reader = bytes.NewReader(file)
	if len(identities) > 0 {
		r, err := agefile.NewReader(src, identities...)
		if err != nil {
			return nil, err
		}
		defer func() { _ = r.Close() }()
		src = r
	}
	text, err := compress.NewReader(src)
	if err != nil {
		return nil, err
	}
	defer func() { _ = text.Close() }()
	return io.ReadAll(text)
}

func TestTable(t *testing.T) {
	src := database(t, manyTodos)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	sum := naiveSum(t, src, "todos")
	compressions, several := sumCompressions, []int{1, 4}
	if testkit.RaceDetector() { // the goroutines are the same for all of them
		compressions, several = compressions[:1], several[1:]
	}
	for _, f := range []format.Format{format.CSV{}, format.JSONL{}, format.Text{}} {
		want, rows := encodeAlone(t, src, "todos", f)
		for _, c := range compressions {
			for _, jobs := range several {
				t.Run(fmt.Sprintf("%T/%s/%d", f, c, jobs), func(t *testing.T) {
					progress := new(export.Progress)
					plan := export.Plan{Format: f, Compression: c, Jobs: jobs, Progress: progress}
					plan.Recipients = []age.Recipient{id.Recipient()}
					var file bytes.Buffer
					stats, err := plan.Table(t.Context(), &file, src, "todos")
					if err != nil {
						t.Fatal(err)
					}
					if got, err := open(file.Bytes(), id); err != nil || !bytes.Equal(got, want) {
						t.Errorf("output holds %d bytes, want %d, error %v", len(got), len(want), err)
					}
					if !reflect.DeepEqual(stats, export.Stats{
						Rows: rows, Text: int64(len(want)), Out: int64(file.Len()),
						Sum: sum, Canonical: sum, Readers: 1,
					}) {
						t.Errorf("stats are %+v", stats)
					}
					if progress.Rows.Load() != stats.Rows || progress.Text.Load() != stats.Text ||
						progress.Out.Load() != stats.Out {
						t.Errorf("progress does not end at %+v", stats)
					}
				})
			}
		}
	}
}

func TestQuery(t *testing.T) {
	src := database(t, manyTodos)
	plan := export.Plan{Unencrypted: true, Compression: export.None}
	var file bytes.Buffer
	_, err := plan.Query(t.Context(), &file, src, "SELECT id AS n, note FROM todos WHERE id IN (2, 3)")
	if err != nil {
		t.Fatal(err)
	}
	if want := "n,note\n2,\"32\nmore\"\n3,\n"; file.String() != want {
		t.Errorf("got %q, want %q", &file, want)
	}
}

func TestEmptyTable(t *testing.T) {
	src := database(t, "CREATE TABLE t (a, b)")
	for _, c := range []export.Compression{export.Zstd, export.Gzip, export.None} {
		for want, f := range map[string]format.Format{"a,b\n": nil, "": format.JSONL{}} {
			var file bytes.Buffer
			plan := export.Plan{Format: f, Compression: c, Unencrypted: true}
			if _, err := plan.Table(t.Context(), &file, src, "t"); err != nil {
				t.Fatal(err)
			}
			if got, err := open(file.Bytes()); err != nil || string(got) != want {
				t.Errorf("%s: got %q, %v, want %q", c, got, err, want)
			}
			if c != export.None && file.Len() == 0 {
				t.Errorf("%s: an empty output is no valid file", c)
			}
		}
	}
}

// TestFramesHoldWholeRows opens each frame on its own.
func TestFramesHoldWholeRows(t *testing.T) {
	src := &generated{rows: 100_000}
	var file bytes.Buffer
	plan := export.Plan{Unencrypted: true}
	if _, err := plan.Table(t.Context(), &file, src, ""); err != nil {
		t.Fatal(err)
	}
	table, err := compress.ReadSeekTable(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if table.Len() < 4 {
		t.Fatalf("only %d frames", table.Len())
	}
	row := -1 // the header
	for frame := range table.All() {
		text, err := open(file.Bytes()[frame.Offset:][:frame.Size])
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(text), "\n")
		if lines[len(lines)-1] != "" {
			t.Fatalf("frame ends within row %q", lines[len(lines)-1])
		}
		for _, line := range lines[:len(lines)-1] {
			if row >= 0 && !strings.HasPrefix(line, fmt.Sprint(row, ",")) {
				t.Fatalf("row %d is %q", row, line)
			}
			row++
		}
	}
	if row != src.rows {
		t.Errorf("%d rows, want %d", row, src.rows)
	}
}

// TestPrintedCSV takes CSV from the source, with rows that are larger than frames.
func TestPrintedCSV(t *testing.T) {
	for _, size := range []int{0, 10, source.BatchSize - 10, source.BatchSize, 5*source.BatchSize + 3} {
		src := &printing{generated{rows: 8, text: bytes.Repeat([]byte("x"), size)}}
		var want bytes.Buffer
		want.WriteString("id,text\n")
		for i := range src.rows {
			fmt.Fprintf(&want, "%d,%s\n", i, src.text)
		}
		plan := export.Plan{Unencrypted: true, Jobs: 1}
		var file bytes.Buffer
		stats, err := plan.Table(t.Context(), &file, src, "")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := open(file.Bytes()); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("rows of %d: %d bytes, want %d, error %v", size, len(got), want.Len(), err)
		}
		if stats.Rows != int64(src.rows) {
			t.Errorf("rows of %d: counted %d", size, stats.Rows)
		}
	}
}

func TestRecipientsAreAsked(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range []export.Plan{{}, {Unencrypted: true, Recipients: []age.Recipient{id.Recipient()}}} {
		var file bytes.Buffer
		if _, err := plan.Table(t.Context(), &file, &generated{rows: 1}, ""); err == nil || file.Len() > 0 {
			t.Errorf("%+v: error %v, %d bytes", plan, err, file.Len())
		}
	}
}

func TestUnknownTableWritesNothing(t *testing.T) {
	src := database(t, manyTodos)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	plan := export.Plan{Recipients: []age.Recipient{id.Recipient()}}
	_, err = plan.Table(t.Context(), &file, src, "todo")
	var unknown *source.UnknownError
	if !errors.As(err, &unknown) || file.Len() > 0 {
		t.Errorf("error %v, %d bytes written", err, file.Len())
	}
}

// TestRows has rows that come from no source, and a file that fails while they wait for their context.
func TestRows(t *testing.T) {
	src := &generated{rows: 200_000}
	want, count := encodeAlone(t, src, "", format.CSV{})
	open := func(ctx context.Context) (source.Rows, error) { return src.Table(ctx, "") }
	plan := export.Plan{Unencrypted: true, Compression: export.None}
	var file bytes.Buffer
	stats, err := plan.Rows(t.Context(), &file, open)
	if err != nil || stats.Rows != count || !bytes.Equal(file.Bytes(), want) {
		t.Errorf("%d rows of %d bytes, error %v, want %d of %d", stats.Rows, file.Len(), err, count, len(want))
	}
	src.failAt = 100_000
	if _, err := plan.Rows(t.Context(), &fullDisk{1000}, open); !errors.Is(err, errFull) {
		t.Errorf("error %v, want that of the file", err)
	}
	refused := errors.New("refused")
	file.Reset()
	_, err = plan.Rows(t.Context(), &file, func(context.Context) (source.Rows, error) { return nil, refused })
	if !errors.Is(err, refused) || file.Len() > 0 {
		t.Errorf("error %v after %d bytes, want that of the query before the first", err, file.Len())
	}
}

func TestExtension(t *testing.T) {
	for want, plan := range map[string]export.Plan{
		".csv.zst.age":  {},
		".jsonl.gz.age": {Format: format.JSONL{}, Compression: export.Gzip},
		".txt":          {Format: format.Text{}, Compression: export.None, Unencrypted: true},
	} {
		if got := plan.Extension(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestSourceFails(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the server is gone")
	faulty := generated{rows: 20_000, failAt: 15_000, text: wide, fail: broken}
	for jobs, src := range map[int]source.Source{3: &faulty, 1: &printing{faulty}} {
		var file bytes.Buffer
		plan := export.Plan{Recipients: []age.Recipient{id.Recipient()}, Jobs: jobs}
		if _, err := plan.Table(t.Context(), &file, src, ""); !errors.Is(err, broken) {
			t.Errorf("error %v", err)
		}
		if _, err := open(file.Bytes(), id); !errors.Is(err, agefile.ErrCorrupt) {
			t.Errorf("%T: a failed output opens with %v", src, err)
		}
	}
}

// fullDisk fails after so many bytes.
type fullDisk struct{ left int }

var errFull = errors.New("no space left")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestSinkFails(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	encrypted := export.Plan{Recipients: []age.Recipient{id.Recipient()}, Compression: export.None}
	plain := export.Plan{Unencrypted: true}
	printed := export.Plan{Unencrypted: true, Jobs: 1}
	for _, left := range []int{0, 100, 1000, 300 << 10} {
		for _, plan := range []export.Plan{encrypted, plain, printed} {
			// The second source never gives the rest of its rows.
			for _, src := range []source.Source{
				&generated{rows: 150_000},
				&generated{rows: 150_000, failAt: 120_000},
				&printing{generated{rows: 400_000, text: []byte(strings.Repeat("number ", 50))}},
			} {
				if _, err := plan.Table(t.Context(), &fullDisk{left}, src, ""); !errors.Is(err, errFull) {
					t.Errorf("%d bytes, %T: error %v", left, src, err)
				}
			}
		}
	}
}

func TestFormatFails(t *testing.T) {
	const rows = 100_000
	src := &generated{rows: rows}
	src.change = func(row int, text []byte) []byte {
		if row == rows-2 {
			return []byte("good\xff")
		}
		return text
	}
	plan := export.Plan{Format: format.JSONL{}, Unencrypted: true}
	_, err := plan.Table(t.Context(), io.Discard, src, "")
	var invalid *format.InvalidUTF8Error
	if !errors.As(err, &invalid) || invalid.Column != "text" || invalid.Row != rows-1 || invalid.Offset != 4 {
		t.Errorf("error %v", err)
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	src := &generated{rows: 40_000, failAt: 30_000, text: wide}
	progress := new(export.Progress)
	plan := export.Plan{Unencrypted: true, Progress: progress}
	_, err := plan.Table(ctx, writerFunc(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	}), src, "")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestReaders reads with several readers into one file.
func TestReaders(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range []int{0, 1, 3, 1000, testkit.Fewer(80_000)} {
		for _, jobs := range []int{2, 3, 30} {
			for _, c := range []export.Compression{export.Zstd, export.None} {
				src := &divided{generated: generated{rows: rows}}
				var file bytes.Buffer
				plan := export.Plan{Recipients: []age.Recipient{id.Recipient()}, Compression: c, Jobs: jobs}
				stats, err := plan.Table(t.Context(), &file, src, "")
				if err != nil {
					t.Fatal(err)
				}
				if stats.Rows != int64(rows) || stats.Readers != min(jobs, 16) || stats.Indivisible != nil {
					t.Errorf("%d rows, %d jobs: %+v", rows, jobs, stats)
				}
				text, err := open(file.Bytes(), id)
				if err != nil {
					t.Fatal(err)
				}
				header, body, _ := strings.Cut(string(text), "\n")
				want, _ := encodeAlone(t, &generated{rows: rows}, "", format.CSV{})
				wantHeader, wantBody, _ := strings.Cut(string(want), "\n")
				if header != wantHeader || sortedLines(body) != sortedLines(wantBody) {
					t.Errorf("%d rows, %d jobs: %d bytes, want %d", rows, jobs, len(text), len(want))
				}
			}
		}
	}
}

func sortedLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestOneReader keeps the order where it is asked for, or where there is no other way.
func TestOneReader(t *testing.T) {
	const rows = 60_000
	want, _ := encodeAlone(t, &generated{rows: rows}, "", format.CSV{})
	alone := &source.IndivisibleError{Reason: "it is a test"}
	for name, test := range map[string]struct {
		src     divided
		plan    export.Plan
		query   bool
		because *source.IndivisibleError
	}{
		"ordered":     {plan: export.Plan{Ordered: true, Jobs: 3}},
		"one job":     {plan: export.Plan{Jobs: 1}},
		"query":       {plan: export.Plan{Jobs: 3}, query: true},
		"indivisible": {src: divided{indivisible: alone}, plan: export.Plan{Jobs: 3}, because: alone},
	} {
		test.src.rows = rows
		test.plan.Compression, test.plan.Unencrypted = export.None, true
		var file bytes.Buffer
		run := test.plan.Table
		if test.query {
			run = test.plan.Query
		}
		stats, err := run(t.Context(), &file, &test.src, "")
		if err != nil || stats.Readers != 1 || stats.Indivisible != test.because {
			t.Errorf("%s: %+v, %v", name, stats, err)
		}
		if !bytes.Equal(file.Bytes(), want) {
			t.Errorf("%s: the output is another, or in another order", name)
		}
	}
	broken := errors.New("the server is gone")
	plan := export.Plan{Unencrypted: true, Jobs: 2}
	if _, err := plan.Table(t.Context(), io.Discard, &divided{indivisible: broken}, ""); !errors.Is(err, broken) {
		t.Errorf("a failure to divide: %v", err)
	}
}

// TestFewerReaders says why there are not as many readers as could be.
func TestFewerReaders(t *testing.T) {
	fewer := &source.IndivisibleError{Reason: "it is a test"}
	src := &divided{generated: generated{rows: 60_000}, indivisible: fewer, most: 2}
	plan := export.Plan{Unencrypted: true, Jobs: 3}
	stats, err := plan.Table(t.Context(), io.Discard, src, "")
	if err != nil || stats.Rows != 60_000 || stats.Readers != 2 || stats.Indivisible != fewer {
		t.Errorf("%+v, %v", stats, err)
	}
}

// TestReadersFail has one of several readers fail, while the others wait.
func TestReadersFail(t *testing.T) {
	broken := errors.New("the server is gone")
	for failing := range 3 {
		src := &divided{generated: generated{rows: 40_000, failAt: 30_000, text: wide, fail: broken}, failing: failing}
		plan := export.Plan{Unencrypted: true, Jobs: 3}
		if _, err := plan.Table(t.Context(), io.Discard, src, ""); !errors.Is(err, broken) {
			t.Errorf("reader %d: error %v", failing, err)
		}
	}
	src := &divided{generated: generated{rows: 150_000, failAt: 120_000}}
	for _, left := range []int{0, 1000, 300 << 10} {
		plan := export.Plan{Unencrypted: true, Jobs: 3}
		if _, err := plan.Table(t.Context(), &fullDisk{left}, src, ""); !errors.Is(err, errFull) {
			t.Errorf("%d bytes: error %v", left, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	plan := export.Plan{Unencrypted: true, Jobs: 3}
	_, err := plan.Table(ctx, writerFunc(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	}), src, "")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// TestReadersInvalid tells no number of a row where it means nothing.
func TestReadersInvalid(t *testing.T) {
	src := &divided{generated: generated{rows: 100_000}}
	src.change = func(row int, text []byte) []byte {
		if row == 70_000 {
			return []byte("good\xff")
		}
		return text
	}
	plan := export.Plan{Format: format.JSONL{}, Unencrypted: true, Jobs: 3}
	_, err := plan.Table(t.Context(), io.Discard, src, "")
	invalid, ok := errors.AsType[*format.InvalidUTF8Error](err)
	if !ok || invalid.Row != 0 || strings.Contains(err.Error(), "row") {
		t.Errorf("error %v", err)
	}
}

// TestReadersLargeRows has all readers meet rows of which only one may be on its way.
func TestReadersLargeRows(t *testing.T) {
	size := 12 << 20
	if testkit.RaceDetector() {
		size = 3 << 20 // is large too
	}
	src := &divided{generated: generated{rows: 30, text: bytes.Repeat([]byte("x"), size)}}
	plan := export.Plan{Unencrypted: true, Compression: export.None, Jobs: 4}
	stats, err := plan.Table(t.Context(), io.Discard, src, "")
	if err != nil || stats.Rows != 30 || stats.Text < int64(30*size) {
		t.Errorf("%+v, %v", stats, err)
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestMemory holds exports to the formula of the package comment, beyond what the process had before, also where the
// text of a row is much longer than its values.
func TestMemory(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	const jobs, readers = 4, 4
	const formula = (jobs+2)*7/2 + jobs*5 + jobs*5/2
	const ofReaders = readers * 7 / 2
	rows := testkit.Fewer(500_000)
	program := testkit.PeakMemory(t, func() {})
	for name, f := range map[string]format.Format{
		"csv":   format.CSV{},
		"jsonl": format.JSONL{},
		"text":  format.Text{Line: strings.Repeat("a long template ", 100) + "{id}"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := export.Plan{Format: f, Recipients: []age.Recipient{id.Recipient()}, Jobs: jobs}
			testkit.MemoryCeiling(t, program+formula<<20, func() {
				if _, err := plan.Table(t.Context(), io.Discard, &generated{rows: rows}, ""); err != nil {
					t.Error(err)
				}
			})
			testkit.MemoryCeiling(t, program+(formula+ofReaders)<<20, func() {
				src := &divided{generated: generated{rows: rows}}
				if _, err := plan.Table(t.Context(), io.Discard, src, ""); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestMemoryOfLargeRows has rows so large that several on their way at once would show.
func TestMemoryOfLargeRows(t *testing.T) {
	size := testkit.Fewer(64 << 20)
	src := &generated{rows: 8, text: bytes.Repeat([]byte("x"), size)}
	for _, plan := range []export.Plan{
		{Compression: export.Zstd}, {Compression: export.None}, {Compression: export.None, Format: parquet.Format{}},
	} {
		plan.Unencrypted, plan.Jobs = true, 4
		// In the source, and in the batch of its reader.
		testkit.MemoryCeiling(t, int64(2*size+80<<20), func() {
			defer debug.SetGCPercent(debug.SetGCPercent(50))
			stats, err := plan.Table(t.Context(), io.Discard, src, "")
			if err != nil || stats.Rows != 8 || stats.Text < int64(8*size) && plan.Format == nil {
				t.Errorf("%+v, %v", stats, err)
			}
		})
	}
}

func ExamplePlan_Table() {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		panic(err)
	}
	src := &generated{rows: 3} // or sqlite.OpenSource, postgres.OpenSource, …

	var file bytes.Buffer
	plan := export.Plan{Recipients: []age.Recipient{identity.Recipient()}}
	stats, err := plan.Table(context.Background(), &file, src, "numbers")
	if err != nil {
		panic(err)
	}
	text, err := open(file.Bytes(), identity)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d rows\n%s", stats.Rows, text)
	// Output:
	// 3 rows
	// id,text
	// 0,"the text of row 0, which is not empty"
	// 1,"the text of row 7919, which is not empty"
	// 2,"the text of row 15838, which is not empty"
}
