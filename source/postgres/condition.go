package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/source"
)

// rangesExplained is the most ranges of a table that the planner is asked about. They are evenly spread.
const rangesExplained = 8

// examineCondition returns an [*source.IndivisibleError] if one session should read the rows that meet a condition: the
// condition may have another meaning in other sessions, or ranges would be more work for the server.
//
// The printed plan names what the statement calls. Partition pruning is off for it, since a condition on the time could
// otherwise disappear with the partitions that it excludes.
func (r *rows) examineCondition(ranges []string) error {
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
		for _, i := range spread(len(ranges), rangesExplained) {
			explain("", r.rangeSQL(ranges[i]))
		}
	})
	if isRefusal(r.ctx, err) {
		return refusedTable(err)
	}
	if err == nil && len(results) < 6 {
		err = errAnswer
	}
	if err != nil {
		return s.failed(r.ctx, r.name, err)
	}
	reason, err := s.differs(r.ctx, results[2].Rows)
	if err == nil && reason == "" {
		reason, err = dearer(results[4], results[5:], len(ranges))
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
func (s *session) differs(ctx context.Context, answer [][][]byte) (reason string, err error) {
	if len(answer) != 1 || !haveColumns(answer, 1) {
		return "", errAnswer
	}
	var plan any
	if json.Unmarshal(answer[0][0], &plan) != nil {
		return "", errAnswer
	}
	var found mentions
	found.addPlan(plan)
	if found.time != "" {
		return fmt.Sprintf("the condition has %s, and each connection has its own", found.time), nil
	}
	present := []string{"now", "today", "tomorrow", "yesterday"}
	for _, literal := range found.literals {
		if slices.Contains(present, strings.ToLower(strings.TrimSpace(literal))) ||
			strings.Contains(literal, s.time) { // what the server makes of 'now'
			return "the condition has a time that differs between connections ('now' or the like)", nil
		}
	}
	reasons, err := s.list(ctx, differsSQL, arrayOf(found.calls), arrayOf(found.operators))
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

// mentions are what a plan mentions. The server prints names in lower case or in quotes, keywords in upper case, the
// parenthesis of a call directly after its name, and quotes in a text doubled.
type mentions struct {
	calls, operators, literals []string
	time                       string // CURRENT_DATE or the like
}

// addPlan adds the texts of a plan in JSON.
func (m *mentions) addPlan(plan any) {
	switch plan := plan.(type) {
	case string:
		m.addText(plan)
	case []any:
		for _, one := range plan {
			m.addPlan(one)
		}
	case map[string]any:
		for _, one := range plan {
			m.addPlan(one)
		}
	}
}

func (m *mentions) addText(text string) {
	for text != "" {
		var word string
		switch c := text[0]; {
		case c == '\'':
			word, text = cutQuoted(text)
			m.literals = append(m.literals, word)
		case c == '"':
			if word, text = cutQuoted(text); strings.HasPrefix(text, "(") {
				m.calls = append(m.calls, word)
			}
		case isWord(c):
			word, text = cutRun(text, isWord)
			if strings.HasPrefix(word, "CURRENT_DATE") || strings.HasPrefix(word, "CURRENT_TIME") ||
				strings.HasPrefix(word, "LOCALTIME") {
				m.time = word
			}
			if strings.HasPrefix(text, "(") {
				m.calls = append(m.calls, word)
			}
		case isOperator(c):
			word, text = cutRun(text, isOperator)
			m.operators = append(m.operators, word)
		default:
			text = text[1:]
		}
	}
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func isOperator(c byte) bool { return strings.IndexByte("+-*/<>=~!@#%^&|`?", c) >= 0 }

// cutRun cuts a text after the leading bytes for which is returns true.
func cutRun(text string, is func(byte) bool) (run, rest string) {
	n := 0
	for n < len(text) && is(text[n]) {
		n++
	}
	return text[:n], text[n:]
}

// cutQuoted cuts a text after the quoted string that begins it.
func cutQuoted(text string) (quoted, rest string) {
	quote := text[:1]
	for rest = text[1:]; ; rest = rest[1:] {
		part, behind, found := strings.Cut(rest, quote)
		quoted += part
		if rest = behind; !found || !strings.HasPrefix(rest, quote) {
			return quoted, rest
		}
		quoted += quote
	}
}

// arrayOf writes texts as a PostgreSQL array.
func arrayOf(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}
