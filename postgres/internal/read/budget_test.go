package read_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

// largeRowsSQL makes rows of a given size, on pages of their own.
const largeRowsSQL = `
	CREATE UNLOGGED TABLE t (id int, pad text, v bytea);
	ALTER TABLE t ALTER pad SET STORAGE plain, ALTER v SET STORAGE external;
	INSERT INTO t SELECT i, repeat('p', 5000), convert_to(repeat('v', %SIZE), 'UTF8') FROM generate_series(1, 8) AS i`

// TestLargeRowsTogether: of large rows, the readers of a table hold no more than their bound at a time, or one row that
// is larger. A row is held until its reader asks for the next.
func TestLargeRowsTogether(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	for name, most := range map[string]int64{"6000000": 16 << 20, "17000000": 17_000_000 + 5_100} {
		database := testkit.Postgres(t).NewDatabase(t)
		database.Exec(t, strings.ReplaceAll(largeRowsSQL, "%SIZE", name))
		db := open(t, database.ConnString())
		var held, rows atomic.Int64
		var reading sync.WaitGroup
		for _, part := range divide(t, db, "t", 4) {
			reading.Go(func() {
				var b source.Batch
				b.SetLending(true)
				for {
					err := part.Next(&b)
					if err == io.EOF {
						return
					}
					if err != nil || !b.HasLent() {
						t.Errorf("rows of %s bytes: error %v, lent %v", name, err, b.HasLent())
						return
					}
					if now := held.Add(int64(b.Size())); now > most {
						t.Errorf("rows of %s bytes: the readers hold %d", name, now)
					}
					for row := range b.Rows() {
						if _, v := b.AnyValue(row, 2); v[0] != 'v' || v[len(v)-1] != 'v' {
							t.Errorf("rows of %s bytes: a value is %.10q…", name, v)
						}
					}
					rows.Add(int64(b.Rows()))
					held.Add(-int64(b.Size()))
				}
			})
		}
		reading.Wait()
		if rows.Load() != 8 {
			t.Errorf("%d rows of %s bytes", rows.Load(), name)
		}
	}
}

// TestLargeRowsInTurn reads the parts of a table in turn, in one goroutine that keeps what it has read. None waits for
// another.
func TestLargeRowsInTurn(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, strings.ReplaceAll(largeRowsSQL, "%SIZE", "9000000"))
	db := open(t, database.ConnString())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	parts := divideContext(ctx, t, db, "t", 3)
	batches, read := make([]source.Batch, len(parts)), 0
	for unread := len(parts); unread > 0; {
		for i, part := range parts {
			if part == nil {
				continue
			}
			if err := part.Next(&batches[i]); err == io.EOF {
				parts[i] = nil
				unread--
			} else if err != nil {
				t.Fatal(err)
			}
			read += batches[i].Rows()
		}
	}
	if read != 8 {
		t.Errorf("%d rows", read)
	}
}

// TestLargeRowsCanceled ends readers that wait for each other's large rows.
func TestLargeRowsCanceled(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	database := testkit.Postgres(t).NewDatabase(t)
	database.Exec(t, strings.ReplaceAll(largeRowsSQL, "%SIZE", "17000000"))
	db := open(t, database.ConnString())
	ctx, cancel := context.WithCancel(t.Context())
	parts := divideContext(ctx, t, db, "t", 3)
	first := make(chan struct{}, len(parts))
	var reading sync.WaitGroup
	for _, part := range parts {
		reading.Go(func() {
			var b source.Batch
			b.SetLending(true)
			err := part.Next(&b)
			first <- struct{}{}
			<-ctx.Done() // one holds a row until then, and the others wait for it
			// The context of the rows ends just after the one that it is made from.
			for err == nil {
				err = part.Next(&b)
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
	}
	<-first
	cancel()
	reading.Wait()
	if err := parts[0].Close(); err != nil {
		t.Error(err)
	}
	// The connections are of use for the next table.
	database.Exec(t, "CREATE TABLE small AS SELECT 1 AS id")
	if n, err := drain(query(t, db, "SELECT 1")); n != 1 || err != io.EOF {
		t.Errorf("afterwards: %d rows, %v", n, err)
	}
}
