package load_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"culvert/export"
	"culvert/format"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/pace"
)

// TestEndsAtARate ends loads of several tables by several connections that would take hours at their rate: nothing is
// left of them. At a rate that limits nothing, the same loads fill the tables.
func TestEndsAtARate(t *testing.T) {
	t.Parallel()
	path, _ := newSQLite(t)
	execSQLite(t, path, `CREATE TABLE a AS WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c
		WHERE id < 20000) SELECT id, hex(randomblob(40)) AS title FROM c; CREATE TABLE b AS SELECT * FROM a`)
	from := openSQLite(t, path)
	as := export.Plan{Unencrypted: true, Compression: export.None, Format: format.CSV{}}
	b := newBackupOf(t, from, as, 1<<20, "a", "b")
	for name, open := range sides {
		t.Run(name, func(t *testing.T) {
			for _, text := range []string{"1000rows/s", "1kB/s", "1e300GB/s", "1e300rows/s"} {
				s := open(t)
				for _, table := range []string{"a", "b"} {
					if err := s.try("CREATE TABLE " + table + " (id int PRIMARY KEY, title varchar(80))"); err != nil {
						t.Fatal(err)
					}
				}
				limit, err := pace.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				over := errors.New("over")
				ctx, cancel := context.WithCancelCause(t.Context())
				plan := load.Plan{
					Loaders: 3, Jobs: 3, Progress: new(load.Progress), Pace: pace.Pace{Limit: limit},
				}
				files, err := export.OpenDirectory(os.DirFS(b.path))
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() {
					_, err := plan.Directory(ctx, s.dst, files, map[string]string{"a": "", "b": ""})
					ended <- err
				}()
				want := 20_000
				if text[:2] != "1e" {
					want = 0
					testkit.WaitFor(t, "the first block", func() bool { return plan.Progress.Rows.Load() > 0 })
					cancel(over)
				}
				if err := <-ended; want == 0 && !errors.Is(err, over) || want > 0 && err != nil {
					t.Errorf("%s: %v", text, err)
				}
				cancel(nil)
				src := s.open()
				for _, table := range []string{"a", "b"} {
					if rows := csvOf(t, src, table); len(rows) != want {
						t.Errorf("%s: table %s has %d rows, want %d", text, table, len(rows), want)
					}
				}
				closing(t, src)
			}
		})
	}
}
