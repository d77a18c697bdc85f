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

// rangesExplained is how many ranges of a table the planner is asked about, evenly spread.
const rangesExplained = 8

// examineCondition returns an [*source.IndivisibleError] if the rows that meet a condition are better read by one
// session than in ranges: the condition may not mean the same in all sessions, or the server would do more work.
//
// What the statement calls is read from its plan, as the server prints it. The partitions that the planner leaves out
// have to be in it for that: those that it leaves out by the time would hide the condition.
func (r *rows) examineCondition(ranges []string) error {
	s := r.session
	results, err := s.probe(r.ctx, func(batch *pgconn.Batch) {
		explain := func(options, sql string) {
			batch.ExecParams("EXPLAIN ("+options+"FORMAT JSON) "+sql, nil, nil, nil, nil)
		}
		for _, setting := range []string{
			"max_parallel_workers_per_gather = 0", // a range has none either
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

// spread gives up to most of the indexes below n, evenly.
func spread(n, most int) []int {
	most = min(n, most)
	indexes := make([]int, most)
	for i := range indexes {
		indexes[i] = (2*i + 1) * n / (2 * most)
	}
	return indexes
}

// costOfSeek is what the planner expects for the first page of a range beyond what it expects of others, by default: a
// random access, and a page that it counts twice.
const costOfSeek = 5

// dearer compares what the planner expects of the whole statement, and of some of its ranges. That each range begins
// with a seek in each table is not held against it.
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
		"through all pages (the costs that it expects are %.0f and %.0f)", all.Cost, sum), err
}

// differs gives the reason why the condition in a plan may not mean the same in all sessions, which begin their
// transactions one after the other and with one snapshot.
//
// Immutable functions mean the same everywhere. So do stable ones of the system, which go by settings and by the
// snapshot, except those of the time and of the session. Stable functions of others may call either.
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
			return "the condition has a time that each connection has of its own ('now' or the like)", nil
		}
	}
	reasons, err := s.list(ctx, differsSQL, arrayOf(found.calls), arrayOf(found.operators))
	if err != nil || len(reasons) == 0 {
		return "", err
	}
	return reasons[0], nil
}

// differsSQL finds functions of the names in the first array, and operators of those in the second, that may not give
// the same in all sessions; and casts, which a plan does not name.
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

// mentions are what the texts of a plan mention. The server prints expressions in one way: names in lower case or in
// quotes, keywords in upper case, the parenthesis of a call at once behind its name, and quotes in a text doubled.
type mentions struct {
	calls, operators, literals []string
	time                       string // CURRENT_DATE or the like
}

// addPlan adds all texts of a plan in JSON.
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

// cutRun cuts a text behind the bytes at its beginning for which is holds.
func cutRun(text string, is func(byte) bool) (run, rest string) {
	n := 0
	for n < len(text) && is(text[n]) {
		n++
	}
	return text[:n], text[n:]
}

// cutQuoted cuts a text behind what is in quotes at its beginning.
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

// arrayOf writes texts as an array of PostgreSQL.
func arrayOf(texts []string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, text := range texts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`)
	}
	b.WriteByte('}')
	return b.String()
}
