package read_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

// conditionTable has planner's statistics, and an index.
const conditionTable = `
	CREATE TABLE t (id int, k int, at timestamptz, now int, fill text);
	INSERT INTO t SELECT i, i % 10000, '2020-01-01', 1, 'some text' FROM generate_series(1, 20000) AS i;
	CREATE INDEX ON t (k); ANALYZE t`

// TestDivideByCost divides what meets a condition only if the server would not do more work than for one reader.
func TestDivideByCost(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	db, _ := openNew(t, conditionTable)
	for where, divided := range map[string]bool{
		"k < 10":           false,
		"k = 7":            false,
		"k < 9000":         true,
		"id < 10":          true, // without an index
		"id < 10 OR k < 3": true,
		"k IN (SELECT id / 2 FROM t WHERE id < 5000)": false, // would be looked up once more for each range
	} {
		rows := selection(t, db, "t", source.Selection{Columns: []string{"id"}, Where: where})
		want, err := encoded(t, rows), rows.Close()
		if err != nil {
			t.Error(err)
		}
		rows = selection(t, db, "t", source.Selection{Columns: []string{"id"}, Where: where})
		ranges, rangesErr := rows.(source.Divider).Ranges(3)
		all, err := rows.(source.Divider).Divide(3)
		const reason = "with less work"
		if !divided {
			for _, err := range []error{rangesErr, err} {
				whole, ok := errors.AsType[*source.IndivisibleError](err)
				if !ok || !strings.Contains(whole.Reason, reason) {
					t.Errorf("%s: %v", where, err)
				}
			}
			all = []source.Rows{rows}
		} else if err != nil || rangesErr != nil || len(all) != 3 || ranges < 3 {
			t.Errorf("%s: %d ranges, %v; %d readers, %v", where, ranges, rangesErr, len(all), err)
		}
		lines, err := together(all, func() {})
		if err != nil {
			t.Error(err)
		}
		wantLines := strings.SplitAfter(strings.TrimPrefix(want, "id\n"), "\n")
		slices.Sort(wantLines)
		expectLines(t, where, lines, wantLines)
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDivideOneMeaning does not divide what meets a condition that each connection may take otherwise.
func TestDivideOneMeaning(t *testing.T) {
	testkit.SincePostgres(t, 14, "ranges of pages")
	read.ShrinkRanges(t)
	db, _ := openNew(t, conditionTable+`;
		CREATE FUNCTION fixed(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN $1; END';
		CREATE FUNCTION looks(int) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN $1; END';
		CREATE FUNCTION "Dice"(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
		CREATE FUNCTION inlined() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT now()';
		CREATE FUNCTION over(int, int) RETURNS bool LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
		CREATE OPERATOR ### (LEFTARG = int, RIGHTARG = int, FUNCTION = over);
		CREATE TABLE past (id int, at timestamptz) PARTITION BY RANGE (at);
		CREATE TABLE old PARTITION OF past FOR VALUES FROM ('2000-01-01') TO ('2010-01-01');
		CREATE TABLE older PARTITION OF past FOR VALUES FROM ('1990-01-01') TO ('2000-01-01');
		INSERT INTO past SELECT i, timestamptz '1991-01-01' + i * interval '1 day' FROM generate_series(1, 5000) AS i;
		ANALYZE past`)
	for where, reason := range map[string]string{
		"random() < 2":                                "calls random()",
		"at <= now()":                                 "calls now()",
		"at <= clock_timestamp()":                     "calls clock_timestamp()",
		"age(at) > interval '0'":                      "has CURRENT_DATE",
		"at <= inlined()":                             "calls now()",
		"at <= CURRENT_TIMESTAMP":                     "has CURRENT_TIMESTAMP",
		"at <= CURRENT_TIMESTAMP(3) -- three":         "has CURRENT_TIMESTAMP",
		"at::date <= CURRENT_DATE":                    "has CURRENT_DATE",
		"at <= LOCALTIMESTAMP":                        "has LOCALTIMESTAMP",
		"at <= 'now'":                                 "'now' or the like",
		"at <= 'now'::timestamp":                      "'now' or the like",
		"at <= 'now'::text::timestamptz":              "'now' or the like",
		"at::date <= ('today'::text)::date":           "'now' or the like",
		"pg_backend_pid() > 0":                        "calls pg_backend_pid()",
		"looks(id) > 0":                               "calls looks()",
		`"Dice"(id) > 0`:                              "calls Dice()",
		"id ### k":                                    "has the operator ###",
		"CASE WHEN id > 5 THEN random() ELSE 1 END>0": "calls random()",
		"EXISTS (SELECT FROM past WHERE past.id = t.id AND random() < 2)": "calls random()",
		// The same in all.
		"fixed(id) > 0":                             "",
		"now > 0 AND (now) > 0":                     "",
		"fill <> 'random()' AND fill <> 'it''s ('":  "",
		"fill <> E'back\\\\slash'' now(' OR id > 0": "",
		"at::date >= '2000-01-01'":                  "",
		"at >= date '2000-01-01'":                   "",
		"to_char(at, 'YYYY') >= '1999'":             "",
		"at <= 'tomorrow'":                          "",
	} {
		expectOneMeaning(t, selection(t, db, "t", source.Selection{Where: where}), where, reason)
	}
	// All partitions are left out, by the time of the connection.
	expectOneMeaning(t, selection(t, db, "past", source.Selection{Where: "at > now()"}), "partitions", "calls now()")
}

func expectOneMeaning(t *testing.T, rows source.Rows, where, reason string) {
	t.Helper()
	defer rows.Close() // always nil
	_, err := rows.(source.Divider).Ranges(3)
	whole, indivisible := errors.AsType[*source.IndivisibleError](err)
	if indivisible != (reason != "") || indivisible && !strings.Contains(whole.Reason, reason) {
		t.Errorf("%s: %v, want the reason %q", where, err, reason)
	}
}
