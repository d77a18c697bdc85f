package load_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"culvert/format"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/mysql"
	"culvert/sink"
	"culvert/source"
)

// waitingSource has tables of one row, after which it waits.
type waitingSource struct{ source.Source }

func (waitingSource) Table(ctx context.Context, _ string) (source.Rows, error) {
	return &waitingRows{ctx: ctx}, nil
}

type waitingRows struct {
	ctx   context.Context
	begun bool
}

func (r *waitingRows) Columns() []source.Column { return itemColumns }
func (r *waitingRows) Close() error             { return nil }

func (r *waitingRows) Next(b *source.Batch) error {
	b.Reset(len(itemColumns))
	if r.begun {
		<-r.ctx.Done()
		return r.ctx.Err()
	}
	r.begun = true
	for range itemColumns {
		b.AppendNull()
	}
	b.EndRow()
	return nil
}

// TestWaitingSource refuses a row of a source that then waits: the refusal is what the copy returns.
func TestWaitingSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dst, refusal := newMemory("t"), errors.New("refused")
		dst.refuse = func(string) error { return refusal }
		begun := time.Now()
		plan := load.Plan{}
		_, err := plan.Copy(t.Context(), dst, waitingSource{}, "t", "t")
		if took := time.Since(begun); !errors.Is(err, refusal) || took > 5*time.Second {
			t.Errorf("%v, after %v", err, took)
		}
	})
}

// TestWaitingText refuses a row of a text that then comes byte by byte, and of one whose last bytes come soon.
func TestWaitingText(t *testing.T) {
	for _, gap := range []time.Duration{time.Second, time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			dst, refusal := newMemory("t"), errors.New("refused")
			dst.refuse = func(string) error { return refusal }
			row := `{"id":1,"title":"` + strings.Repeat("x", 1000) + "\"}\n"
			text := io.MultiReader(strings.NewReader(strings.Repeat(row, 3000)), &slowReader{gap: gap, left: 100})
			begun := time.Now()
			plan := load.Plan{}
			_, err := plan.Text(t.Context(), dst, text, "t.jsonl", format.JSONL{}, "t")
			if took := time.Since(begun); !errors.Is(err, refusal) || took > min(6*time.Second, 101*gap) {
				t.Errorf("%v, after %v", err, took)
			}
		})
	}
}

// slowReader returns blank lines, with a gap before each.
type slowReader struct {
	gap  time.Duration
	left int
}

func (r *slowReader) Read(p []byte) (int, error) {
	if r.left--; r.left < 0 {
		return 0, io.EOF
	}
	<-time.After(r.gap)
	p[0] = '\n'
	return 1, nil
}

// TestWaitingPostgres refuses rows of a table that the source still reads: the other tables are copied, in the same
// snapshot.
func TestWaitingPostgres(t *testing.T) {
	load.ShortenPatience(t)
	columns := "(i bigint, v text, w text)"
	for _, loaders := range []int{1, 2} {
		from, _ := newPostgres(t, `CREATE VIEW waits AS SELECT i, repeat('x', 1000) AS v,
			CASE WHEN i = 5000 THEN pg_sleep(3600)::text END AS w FROM generate_series(1, 5000) AS i;
			CREATE TABLE next AS SELECT i, 'v' AS v, 'w' AS w FROM generate_series(1, 5000) AS i`)
		to, dst := newPostgres(t, "CREATE TABLE waits "+columns+"; CREATE TABLE next "+columns+`;
			ALTER TABLE waits ADD CHECK (i > 1)`)
		src := openPostgres(t, from)
		from.Exec(t, "DELETE FROM next")
		plan := load.Plan{Loaders: loaders, ReadBack: true}
		stats, err := plan.CopyTables(t.Context(), dst, src, []load.Names{{"waits", "waits"}, {"next", "next"}})
		if _, partial := errors.AsType[*load.PartialError](err); !partial || len(stats) != 2 {
			t.Fatalf("%d loaders: %v, %d tables", loaders, err, len(stats))
		}
		if _, refused := errors.AsType[*sink.RowError](stats[0].Err); !refused {
			t.Errorf("%d loaders: %v", loaders, stats[0].Err)
		}
		if rows := to.Query(t, "SELECT count(*) FROM next")[0][0]; stats[1].Err != nil || rows != "5000" {
			t.Errorf("%d loaders: %v, and %s rows", loaders, stats[1].Err, rows)
		}
	}
}

// TestWaitingMySQL refuses rows of a table that the source would read for days. Its connection is kept for the next
// table.
func TestWaitingMySQL(t *testing.T) {
	load.ShortenPatience(t)
	from := testkit.MariaDB(t).NewDatabase(t)
	from.Exec(t, "CREATE VIEW waits AS SELECT seq AS i, repeat('x', 1000) AS v, 'w' AS w FROM seq_1_to_1000000000")
	from.Exec(t, "CREATE TABLE next AS SELECT seq AS i, 'v' AS v, 'w' AS w FROM seq_1_to_5000")
	columns := "(i bigint, v text, w text)"
	to, dst := newPostgres(t, "CREATE TABLE waits "+columns+"; CREATE TABLE next "+columns+`;
		ALTER TABLE waits ADD CHECK (i > 1)`)
	src, err := mysql.OpenSource(t.Context(), from.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, src)
	plan := load.Plan{}
	stats, err := plan.CopyTables(t.Context(), dst, src, []load.Names{{"waits", "waits"}, {"next", "next"}})
	if _, partial := errors.AsType[*load.PartialError](err); !partial || len(stats) != 2 {
		t.Fatalf("%v, %d tables", err, len(stats))
	}
	if _, refused := errors.AsType[*sink.RowError](stats[0].Err); !refused {
		t.Errorf("%v", stats[0].Err)
	}
	if rows := to.Query(t, "SELECT count(*) FROM next")[0][0]; stats[1].Err != nil || rows != "5000" {
		t.Errorf("%v, and %s rows of the next table", stats[1].Err, rows)
	}
}
