package read_test

import (
	"testing"

	"culvert/mysql/internal/read"
)

// TestPlainConditions tells conditions that compare columns with values from others.
func TestPlainConditions(t *testing.T) {
	for where, want := range map[string]bool{
		"":                                     true,
		"id > 1000":                            true,
		"id IN (1, 2) AND status = 'paid'":     true,
		"NOT (a = 1 OR `now()` < 'now(')":      true,
		"name LIKE 'a%' AND x BETWEEN 1 AND 2": true,
		"a = 'it''s' AND b IS NOT NULL":        true,
		"id % 3 = 1":                           true,

		"created > NOW()":                      false,
		"created > now ()":                     false,
		"id > RAND() * 3":                      false,
		"created > CURRENT_TIMESTAMP":          false,
		"created > utc_date":                   false,
		"created > localtime - INTERVAL 1 DAY": false,
		"(@n := @n + 1) < 10":                  false,
		"id IN (SELECT id FROM other)":         false,
		"EXISTS (TABLE other)":                 false,
		"id < NEXT VALUE FOR s":                false,
		"id > 3 -- of three":                   false,
		"id > 3 # of three":                    false,
		"id > /*! RAND() + */ 1":               false,
		`name = "a"`:                           false,
		`name = 'a\' OR now() > '`:             false,
		"`a``b` = 'unended":                    false,
		"id = `f`(1)":                          false,
		"CASE WHEN id > 1 THEN 1 END":          false,
	} {
		if got := read.IsPlain(where); got != want {
			t.Errorf("%q: %v, want %v", where, got, want)
		}
	}
}
