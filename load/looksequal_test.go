package load_test

import (
	"errors"
	"fmt"
	"testing"

	"culvert/export"
)

// value is a value in a column of a system: its type, and SQL.
type value struct{ kind, sql string }

// lookAlike is a value that was exported, what another system has that is the same value, and what only looks like it.
type lookAlike struct {
	was  value
	same []value
	not  []value
}

// lookAlikes are such values, by the system that was exported and the other one.
var lookAlikes = map[[2]string][]lookAlike{
	{"postgres", "mariadb"}: {
		{
			value{"time", "'24:00'"},
			[]value{{"time", "'24:00:00'"}},
			[]value{{"time", "'00:00:00'"}, {"time", "NULL"}},
		},
		{
			value{"timestamptz", "'2026-03-29 02:30:00+01'"},
			[]value{{"datetime(6)", "'2026-03-29 01:30:00'"}, {"varchar(30)", "'2026-03-29T03:30:00+02:00'"}},
			[]value{{"datetime(6)", "'2026-03-29 02:30:00'"}, {"varchar(30)", "'2026-03-29 02:30:00+02'"}},
		},
		{
			value{"numeric", "1e400"},
			[]value{{"text", "'1e400'"}, {"text", "concat('1', repeat('0', 400), '.00')"}},
			[]value{{"double", "1e308"}, {"text", "'Infinity'"}, {"text", "'1e401'"}},
		},
		{
			value{"varchar(9)", "'a '"},
			[]value{{"varchar(9)", "'a '"}},
			[]value{{"varchar(9)", "'a'"}, {"varchar(9)", "concat('a', char(0))"}, {"varchar(9)", "'A '"}},
		},
		{value{"char(3)", "'a'"}, []value{{"char(3)", "'a'"}, {"varchar(3)", "'a  '"}}, []value{{"char(3)", "'A'"}}},
		{value{"text", "'é'"}, []value{{"text", "'é'"}}, []value{{"text", "'e\u0301'"}, {"text", "'e'"}}},
		{value{"text", "''"}, []value{{"text", "''"}}, []value{{"text", "NULL"}, {"text", "' '"}}},
		{
			value{"jsonb", `'{"a": 1.50, "b": null}'`},
			[]value{{"json", `'{"b":null,"a":1.5}'`}},
			[]value{{"json", `'{"a": "1.50", "b": null}'`}, {"json", `'{"a": 1.5}'`}, {"json", "NULL"}},
		},
		{value{"boolean", "true"}, []value{{"tinyint(1)", "1"}}, []value{{"tinyint", "2"}, {"tinyint", "-1"}}},
		{value{"double precision", "0.1"}, []value{{"double", "0.1"}}, []value{{"double", "0.1e0 + 1e-17 * 2"}}},
	},
	{"postgres", "sqlite"}: {
		{value{"numeric", "1e400"}, []value{{"TEXT", "'1e400'"}}, []value{{"REAL", "9e999"}, {"TEXT", "'Inf'"}}},
		{value{"double precision", "'Infinity'"}, []value{{"REAL", "9e999"}}, []value{{"REAL", "1.7e308"}}},
		{value{"text", "'a'"}, []value{{"TEXT", "'a'"}}, []value{{"TEXT", "'a' || char(0)"}, {"TEXT", "'a '"}}},
		{
			value{"time", "'24:00'"},
			[]value{{"TIME", "'24:00'"}, {"TIME", "'24:00:00.000'"}},
			[]value{{"TIME", "'00:00'"}, {"TIME", "24"}},
		},
		{
			value{"timestamptz", "'2026-10-25 02:30:00+02'"},
			[]value{{"TIMESTAMPTZ", "'2026-10-25 00:30'"}, {"TIMESTAMPTZ", "'2026-10-25T02:30:00+02:00'"}},
			[]value{{"TIMESTAMPTZ", "'2026-10-25 02:30:00+01:00'"}, {"TIMESTAMPTZ", "'2026-10-25 02:30:00'"}},
		},
		{value{"date", "NULL"}, []value{{"DATE", "NULL"}}, []value{{"DATE", "'0000-00-00'"}, {"DATE", "''"}}},
		{value{"bytea", "'a'"}, []value{{"BLOB", "x'61'"}}, []value{{"TEXT", "'a'"}, {"BLOB", "x'6100'"}}},
		{
			value{"bigint", "9007199254740993"},
			[]value{{"INTEGER", "9007199254740993"}},
			[]value{{"REAL", "9007199254740993"}, {"INTEGER", "9007199254740992"}},
		},
	},
	{"mariadb", "postgres"}: {
		{
			value{"timestamp null", "FROM_UNIXTIME(1774747800)"}, // 2026-03-29 01:30 UTC
			[]value{{"timestamptz", "'2026-03-29 03:30+02'"}, {"timestamp", "'2026-03-29 01:30'"}},
			[]value{{"timestamptz", "'2026-03-29 01:30+02'"}, {"timestamp", "'2026-03-29 03:30'"}},
		},
		{value{"time", "'24:00:00'"}, []value{{"time", "'24:00'"}}, []value{{"time", "'00:00'"}}},
		{
			value{"decimal(10,2)", "1.5"},
			[]value{{"numeric", "1.5000"}, {"real", "1.5"}},
			[]value{{"numeric", "1.501"}, {"text", "'1,50'"}},
		},
		{value{"text", "concat('a', char(0))"}, nil, []value{{"text", "'a'"}, {"text", `'a\0'`}, {"text", "'a '"}}},
		{value{"varchar(9)", "'Ab'"}, []value{{"text", "'Ab'"}}, []value{{"citext", "'ab'"}, {"text", "'Ab '"}}},
		{
			value{"json", `'{"b":1e2,"a":"\\u00e9"}'`},
			[]value{{"jsonb", `'{"a": "é", "b": 100}'`}, {"json", `'{"b":100.0,"a":"\u00e9"}'`}},
			[]value{{"jsonb", `'{"a": "é", "b": "100"}'`}, {"jsonb", `'{"a": "\\u00e9", "b": 100}'`}},
		},
	},
	{"mariadb", "sqlite"}: {
		{
			value{"text", "concat('a', char(0), 'b')"},
			[]value{{"TEXT", "'a' || char(0) || 'b'"}},
			[]value{{"TEXT", "'a'"}, {"TEXT", "'ab'"}},
		},
		{
			value{"datetime(3)", "'2026-01-02 03:04:05.100'"},
			[]value{{"DATETIME", "'2026-01-02 03:04:05.1'"}, {"DATETIME", "'2026-01-02T03:04:05.100Z'"}},
			[]value{{"DATETIME", "'2026-01-02 03:04:05.01'"}, {"DATETIME", "'2026-01-02T03:04:05.100+01:00'"}},
		},
		{
			value{"bigint unsigned", "18446744073709551615"},
			[]value{{"TEXT", "'18446744073709551615'"}},
			[]value{{"REAL", "18446744073709551615"}, {"INTEGER", "-1"}},
		},
	},
	{"sqlite", "postgres"}: {
		{value{"TEXT", "'a' || char(0)"}, nil, []value{{"text", "'a'"}, {"text", `E'a\\0'`}}},
		{value{"NUMERIC", "1e300"}, []value{{"numeric", "1e300"}}, []value{{"numeric", "1e300 + 1"}}},
		{value{"TIME", "'24:00:00'"}, []value{{"time", "'24:00'"}}, []value{{"time", "'00:00'"}}},
		{
			value{"DATETIME", "'2026-3-29 01:30'"},
			[]value{{"timestamp", "'2026-03-29 01:30'"}, {"timestamptz", "'2026-03-29 01:30+00'"}},
			[]value{{"timestamp", "'2026-03-29 00:30'"}, {"timestamptz", "'2026-03-29 01:30+01'"}},
		},
		{value{"INTEGER", "'007'"}, []value{{"int", "7"}}, []value{{"text", "'7 '"}}},
		{value{"TEXT", "'007'"}, []value{{"text", "'007'"}}, []value{{"int", "7"}, {"text", "'7'"}}},
	},
	{"sqlite", "mariadb"}: {
		{value{"REAL", "9e999"}, []value{{"text", "'Infinity'"}}, []value{{"double", "1.7976931348623157e308"}}},
		{value{"TEXT", "'a' || char(0)"}, []value{{"text", "concat('a', char(0))"}}, []value{{"text", "'a'"}}},
		{
			value{"TIMESTAMPTZ", "'2026-03-29 02:30:00+01:00'"},
			[]value{{"datetime", "'2026-03-29 01:30:00'"}},
			[]value{{"datetime", "'2026-03-29 02:30:00'"}},
		},
		{value{"BLOB", "x'00'"}, []value{{"blob", "x'00'"}}, []value{{"blob", "x''"}, {"text", "'0'"}}},
	},
}

// TestLooksEqual compares an export with rows of another system that others have made. A value that is printed in
// another way is the same one, and one that only looks equal is found.
func TestLooksEqual(t *testing.T) {
	t.Parallel()
	for systems, all := range lookAlikes {
		t.Run(systems[0]+" "+systems[1], func(t *testing.T) {
			was, is := acrossSystems[systems[0]](t), acrossSystems[systems[1]](t)
			if systems[1] == "postgres" {
				is.exec("CREATE EXTENSION citext")
			}
			for i, one := range all {
				name := fmt.Sprint("t", i)
				was.exec("CREATE TABLE " + name + " (id int PRIMARY KEY, v " + one.was.kind + ")")
				was.exec("INSERT INTO " + name + " VALUES (1, " + one.was.sql + ")")
				src, err := was.source()
				if err != nil {
					t.Fatal(err)
				}
				made := newBackupOf(t, src, export.Plan{}, 0, name)
				closing(t, src)
				compare := func(v value) error {
					is.exec("DROP TABLE IF EXISTS " + name)
					is.exec("CREATE TABLE " + name + " (id int PRIMARY KEY, v " + v.kind + ")")
					is.exec("INSERT INTO " + name + " VALUES (1, " + v.sql + ")")
					return against(t, is, made.Directory)
				}
				for _, v := range one.same {
					if err := compare(v); err != nil {
						t.Errorf("%s, and %s there: %v", one.was, v, err)
					}
				}
				for _, v := range one.not {
					if err := compare(v); !errors.Is(err, export.ErrDiffers) {
						t.Errorf("%s only looks like %s there: %v", one.was, v, err)
					}
				}
			}
		})
	}
}
