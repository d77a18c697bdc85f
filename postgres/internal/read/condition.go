package read

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/postgres/internal/plantext"
	"culvert/postgres/internal/sqltext"
	"culvert/postgres/internal/wire"
	"culvert/source"
)

// rangesExplained is the most ranges of a table that the planner is asked about. They are evenly spread.
const rangesExplained = 8

// examineCondition returns an [*source.IndivisibleError] if one session should read the rows that meet a condition: the
// condition may have another meaning in other sessions, or ranges, of which there are n, would be more work for the
// server. The other sessions may be of another day than the given ones, if there are any.
//
// The printed plan names what the statement calls. Partition pruning is off for it, since a condition on the time could
// otherwise disappear with the partitions that it excludes.
func (r *rows) examineCondition(n int, rangeAt func(int) string, days ...string) error {
	s := r.session
	results, err := s.probe(r.ctx, func(batch *pgconn.Batch) {
		explain := func(options, sql string) {
			batch.ExecParams("EXPLAIN ("+options+"FORMAT JSON) "+sql, nil, nil, nil, nil)
		}
		for _, setting := range []string{
			"max_parallel_workers_per_gather = 0", // as for a range
			"enable_partition_pruning = off",
		} {
			batch.ExecParams("SET LOCAL "+setting, nil, nil, nil, nil)
		}
		explain("VERBOSE, ", r.sql)
		batch.ExecParams("SET LOCAL enable_partition_pruning = on", nil, nil, nil, nil)
		explain("", r.sql)
		for _, i := range spread(n, rangesExplained) {
			explain("", r.rangeSQL(rangeAt(i)))
		}
	})
	if wire.IsRefusal(r.ctx, err) {
		return refusedTable(err)
	}
	if err == nil && len(results) < 5 {
		err = errAnswer
	}
	if err != nil {
		return s.failed(r.ctx, r.name, err)
	}
	reason, err := s.differs(r.ctx, results[2].Rows, days)
	if err == nil && reason == "" && len(results) > 5 {
		reason, err = dearer(results[4], results[5:], n)
	}
	if err != nil {
		return s.failed(r.ctx, r.name, err)
	}
	if reason != "" {
		return &source.IndivisibleError{Reason: reason}
	}
	return nil
}

// spread returns at most most indexes below n, evenly spread.
func spread(n, most int) []int {
	most = min(n, most)
	indexes := make([]int, most)
	for i := range indexes {
		indexes[i] = (2*i + 1) * n / (2 * most)
	}
	return indexes
}

// costOfSeek is the additional cost of the first page of a range, by default: a random access, and a page that the
// planner counts twice.
const costOfSeek = 5

// dearer compares the planner's costs of the whole statement and of some of its ranges, without the seek that begins
// each range in each table.
func dearer(whole *pgconn.Result, some []*pgconn.Result, ranges int) (reason string, err error) {
	all, err := readPlan(whole.Rows)
	sum := 0.0
	for _, result := range some {
		var one plan
		if err == nil {
			one, err = readPlan(result.Rows)
		}
		if err != nil {
			return "", err
		}
		seeks := bytes.Count(result.Rows[0][0], []byte(`"Tid Range Scan"`))
		sum += one.Cost - costOfSeek*float64(seeks)
	}
	sum *= float64(ranges) / float64(len(some))
	if sum <= all.Cost {
		return "", err
	}
	return fmt.Sprintf("the server finds the rows that meet the condition with less work than it would take to look "+
		"through all pages (its estimated costs are %.0f and %.0f)", all.Cost, sum), err
}

// differs returns the reason why the condition in a plan may have different results in sessions that have the same
// snapshot, but begin their transactions one after the other.
//
// Immutable functions have the same result in all of them. So have the system's stable functions, which depend on
// settings and the snapshot, except functions of the time and the session. Other stable functions may call these.
func (s *session) differs(ctx context.Context, answer [][][]byte, days []string) (reason string, err error) {
	if len(answer) != 1 || !haveColumns(answer, 1) {
		return "", errAnswer
	}
	var plan any
	if json.Unmarshal(answer[0][0], &plan) != nil {
		return "", errAnswer
	}
	found := plantext.Of(plan)
	if found.Time != "" {
		return fmt.Sprintf("the condition has %s, and each connection has its own", found.Time), nil
	}
	present := []string{"now", "today", "tomorrow", "yesterday"}
	for _, literal := range found.Literals {
		if slices.Contains(present, strings.ToLower(strings.TrimSpace(literal))) ||
			strings.Contains(literal, s.time) { // what the server makes of 'now'
			return "the condition has a time that differs between connections ('now' or the like)", nil
		}
		if slices.ContainsFunc(days, func(day string) bool { return strings.Contains(literal, day) }) {
			return "the condition has the day " + s.day + ", or the one before or after it, which may have been " +
				"written as 'today' or the like", nil
		}
	}
	reasons, err := s.list(ctx, differsSQL, sqltext.Array(found.Calls), sqltext.Array(found.Operators))
	if err != nil || len(reasons) == 0 {
		return "", err
	}
	return reasons[0], nil
}

// differsSQL finds functions named in $1, and operators named in $2, whose results may differ between sessions, and
// such casts, which a plan does not name.
const differsSQL = `
SELECT 'the condition calls ' || p.proname || '(), which may give each connection another result'
FROM pg_catalog.pg_proc p WHERE p.proname = ANY ($1::name[]) AND (p.provolatile = 'v' OR p.provolatile = 's' AND (
	p.pronamespace <> 'pg_catalog'::pg_catalog.regnamespace OR p.proname ~ '^(pg_|txid_|inet_|has_|current_)'
	OR p.proname IN ('now', 'age', 'transaction_timestamp', 'statement_timestamp')))
UNION ALL SELECT 'the condition has the operator ' || o.oprname || ', which may give each connection another result'
FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode
WHERE o.oprname = ANY ($2::name[]) AND o.oid >= 16384 AND p.provolatile <> 'i'
UNION ALL SELECT 'the condition may cast by ' || p.proname || '(), which may give each connection another result'
FROM pg_catalog.pg_cast c JOIN pg_catalog.pg_proc p ON p.oid = c.castfunc
WHERE c.oid >= 16384 AND p.provolatile <> 'i'
LIMIT 1`
