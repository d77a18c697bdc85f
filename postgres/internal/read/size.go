package read

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/postgres/internal/sqltext"
	"culvert/postgres/internal/wire"
	"culvert/source"
)

var _ source.Sized = (*rows)(nil)

// Size returns the number of rows that the planner expects of the statement. For a table that was never analyzed, which
// the planner would guess, it is an estimate from the first pages, from PostgreSQL 14 on.
//
// The bytes of a whole table are the size of its files and its children's, without indexes. Otherwise they are the
// number of rows times the expected width of a row. Size fails if the user may not read the rows.
//
// Of a small table that was looked up by Prepare, the number of rows is not known before the table is analyzed.
func (r *rows) Size() (source.Size, error) {
	switch {
	case r.err != nil:
		return source.Size{}, r.err
	case r.running || r.ranges != nil:
		return source.Size{}, errors.New("postgres: Size of rows that have already been read or divided")
	}
	if r.known != nil {
		return r.known.size, nil
	}
	size, err := r.session.size(r.ctx, r.sql, r.relation)
	if denied, ok := errors.AsType[*deniedError](err); ok {
		err = denied.error
	} else if wire.IsRefusal(r.ctx, err) {
		size, err = source.Size{}, nil
	}
	return size, r.session.failed(r.ctx, r.name, err)
}

// deniedError reports that the user may not read the rows, rather than just their size.
type deniedError struct{ error }

func (e *deniedError) Unwrap() error { return e.error }

// size needs one round trip, and another one for a table that was never analyzed. Planning a statement locks all
// indexes of its tables, so it is a probe.
func (s *session) size(ctx context.Context, sql string, r *relation) (source.Size, error) {
	if r != nil {
		if err := s.prepareAgain(ctx, r.with()+filesSQL, 1); err != nil {
			return source.Size{}, err
		}
	}
	results, err := s.probe(ctx, func(batch *pgconn.Batch) {
		batch.ExecParams("EXPLAIN (FORMAT JSON) "+sql, nil, nil, nil, nil)
		if r != nil {
			s.add(batch, r.with()+filesSQL, r.oid)
		}
	})
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && len(results) == 2 &&
		refused.Code == codeInsufficientPrivilege { // of the explained statement, which is the second
		err = &deniedError{err}
	}
	if err != nil {
		return source.Size{}, err
	}
	if r != nil && len(results) != 4 {
		return source.Size{}, errAnswer
	}
	plan, err := readPlan(results[0].Rows)
	if err != nil || r == nil {
		return source.Size{Rows: toInt(plan.Rows), Bytes: toInt(plan.Rows * plan.Width)}, err
	}
	var files files
	err = scanInts(results[2].Rows, &files.bytes, &files.pages, &files.sample, &files.sampled)
	rows := plan.Rows
	if err == nil && r.Where == "" && r.Limit == 0 && files.sample > 0 {
		rows, err = s.sample(ctx, r, files)
	}
	if err != nil {
		return source.Size{}, err
	}
	size := source.Size{Rows: toInt(rows), Bytes: toInt(rows * plan.Width)}
	if r.IsZero() && files.bytes > 0 {
		size.Bytes = files.bytes
	}
	return size, nil
}

// plan is the outermost node of a plan of EXPLAIN.
type plan struct {
	Rows  float64 `json:"Plan Rows"`
	Width float64 `json:"Plan Width"`
	Cost  float64 `json:"Total Cost"`
}

// readPlan reads the answer of EXPLAIN. Rules can turn a statement into several, with several plans.
func readPlan(answer [][][]byte) (plan, error) {
	var plans []struct{ Plan plan }
	if len(answer) != 1 || !haveColumns(answer, 1) {
		return plan{}, errAnswer
	}
	if json.Unmarshal(answer[0][0], &plans) != nil || len(plans) != 1 {
		return plan{}, nil
	}
	return plans[0].Plan, nil
}

// toInt converts a number of rows or bytes, which may be too large for an int64.
func toInt(f float64) int64 {
	if !(f > 0) {
		return 0
	}
	return int64(min(f, math.MaxInt64/2))
}

// files are the files of a table and its children.
type files struct {
	bytes, pages int64
	sample       int64 // the pages of each to sample; 0 if the planner can be trusted
	sampled      int64 // the number of these pages in all files
}

// samplePages is the number of pages to sample. There is at least one of each child.
const samplePages = 64

// filesSQL returns one row. If reltuples is -1, the planner knows nothing of a table and guesses from the types of its
// columns: 18 times too many rows if texts have 1000 bytes. Servers older than 14 do not say so, and would read all
// pages to find the first ones. Foreign tables, and access methods other than heap, which is 2, have no pages to
// sample.
var filesSQL = `,
members AS (
	SELECT coalesce(pg_catalog.pg_relation_size(c.oid), 0) AS bytes,
		coalesce(pg_catalog.pg_relation_size(c.reltoastrelid), 0) AS toast,
		c.relkind IN ('r', 'm') AND c.reltuples < 0 AS unknown,
		c.relkind IN ('r', 'm') AND c.relam = 2 OR c.relkind = 'p' AS paged
	FROM family f, LATERAL (SELECT * FROM pg_catalog.pg_class r WHERE r.oid = f.oid OFFSET 0) AS c),
totals AS (
	SELECT pg_catalog.sum(bytes + toast)::int8 AS bytes, pg_catalog.sum(bytes)::int8 AS main,
		pg_catalog.current_setting('block_size')::int8 AS page,
		CASE WHEN pg_catalog.bool_or(unknown) AND pg_catalog.bool_and(paged)
			AND pg_catalog.current_setting('server_version_num')::int >= ` + strconv.Itoa(firstWithRanges) + `
			THEN greatest(1, ` + strconv.Itoa(samplePages) + ` / pg_catalog.count(*)) ELSE 0 END AS sample
	FROM members)
SELECT coalesce(t.bytes, 0), coalesce(t.main, 0) / t.page, t.sample,
	(SELECT coalesce(pg_catalog.sum(least(m.bytes / t.page, t.sample)), 0) FROM members m)
FROM totals t`

// sample estimates the number of rows from the first pages of a table and its children.
func (s *session) sample(ctx context.Context, r *relation, f files) (float64, error) {
	if f.sampled == 0 {
		return 0, nil
	}
	count, err := s.probeInt(ctx,
		"SELECT pg_catalog.count(*) FROM "+r.from()+" WHERE ctid < "+sqltext.TID(sqltext.Place(f.sample, 1)))
	if err != nil {
		return 0, err
	}
	return float64(count) * float64(f.pages) / float64(f.sampled), nil
}
