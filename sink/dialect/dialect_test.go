package dialect_test

import (
	"errors"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culvert/sink/dialect"
	"culvert/source"
)

var systems = map[string]source.Dialect{
	"PostgreSQL": source.PostgreSQL, "MySQL": source.MySQL, "SQLite": source.SQLite,
}

var modifiers = strings.NewReplacer("(p,s)", "(7,2)", "(n)", "(7)", "(p)", "(3)")

// TestDocumented compares the tables of the documentation with what is translated.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	gap := regexp.MustCompile(`  +`)
	var head []string
	rows := 0
	for line := range strings.Lines(string(text)) {
		row, is := strings.CutPrefix(strings.TrimRight(line, "\n"), "//\t")
		cells := gap.Split(row, -1)
		switch {
		case !is || len(cells) != 3:
		case systems[cells[0]] != "":
			head = cells
		default:
			rows++
			for i := 1; i < 3; i++ {
				from, to := systems[head[0]], systems[head[i]]
				expectType(t, from, to, modifiers.Replace(cells[0]), modifiers.Replace(cells[i]))
			}
		}
	}
	if known := dialect.Listed() + 1; rows != known { // and enums
		t.Errorf("%d types are documented, and %d are known", rows, known)
	}
}

func expectType(t *testing.T, from, to source.Dialect, name, want string) {
	t.Helper()
	d := &source.Definition{Dialect: from, Name: "t", Columns: []source.ColumnDefinition{{Name: "c", Type: name}}}
	if name == "an enum type" {
		d.Columns[0].Values = []string{"b", "it's"}
	}
	if want == "enum" {
		want = "enum('b','it''s')"
	}
	got, _, err := dialect.Translate(d, to, nil)
	if want == "-" {
		if refused, is := errors.AsType[*dialect.TypeError](err); !is || refused.Column != "c" || refused.Type != name {
			t.Errorf("%s of %s in %s: %v, %v", name, from, to, got, err)
		}
		return
	}
	if want == "untyped" {
		want = ""
	}
	if err != nil || got.Columns[0].Type != want {
		t.Errorf("%s of %s in %s: %+v, %v, want %s", name, from, to, got, err, want)
	}
}

// TestTypes has types in other words, and at their limits.
func TestTypes(t *testing.T) {
	for _, test := range []struct {
		from, to   source.Dialect
		name, want string
	}{
		{source.PostgreSQL, source.SQLite, "numeric(15,2)", "NUMERIC(15,2)"},
		{source.PostgreSQL, source.SQLite, "numeric(16,2)", "TEXT"},
		{source.PostgreSQL, source.SQLite, "numeric(18,0)", "NUMERIC(18,0)"},
		{source.PostgreSQL, source.SQLite, "numeric(19,0)", "TEXT"},
		{source.PostgreSQL, source.MySQL, "numeric(65,30)", "decimal(65,30)"},
		{source.PostgreSQL, source.MariaDB, "numeric(66,2)", "-"},
		{source.PostgreSQL, source.MariaDB, "numeric(3,5)", "-"},
		{source.PostgreSQL, source.SQLite, "numeric(3,-2)", "-"},
		{source.PostgreSQL, source.MySQL, "character(256)", "longtext"},
		{source.PostgreSQL, source.MySQL, "character varying(16384)", "longtext"},
		{source.PostgreSQL, source.SQLite, "text[]", "-"},
		{source.PostgreSQL, source.SQLite, `"Shop".mood`, "-"},
		{source.PostgreSQL, source.SQLite, "interval", "-"},
		{source.MariaDB, source.PostgreSQL, "int(10) unsigned zerofill", "bigint"},
		{source.MariaDB, source.PostgreSQL, "tinyint(1)", "smallint"},
		{source.MariaDB, source.PostgreSQL, "decimal(10,2) unsigned", "numeric(10,2)"},
		{source.MariaDB, source.PostgreSQL, "double(8,2)", "double precision"},
		{source.MariaDB, source.PostgreSQL, "float unsigned", "real"},
		{source.MariaDB, source.PostgreSQL, "enum('a(1)','b''')", "text"},
		{source.MariaDB, source.PostgreSQL, "bit(63)", "bigint"},
		{source.MariaDB, source.PostgreSQL, "bit(64)", "-"},
		{source.MariaDB, source.PostgreSQL, "point", "-"},
		{source.SQLite, source.PostgreSQL, "Varchar ( 20 )", "varchar(20)"},
		{source.SQLite, source.PostgreSQL, "decimal(10)", "numeric"},
		{source.SQLite, source.PostgreSQL, "datetime(6)", "timestamp"},
		{source.SQLite, source.MySQL, "integer unsigned", "bigint"},
		{source.SQLite, source.PostgreSQL, "INT(11)", "bigint"},
		{source.SQLite, source.PostgreSQL, "VARYING CHARACTER(5)", "varchar(5)"},
		{source.SQLite, source.PostgreSQL, "NATIVE CHARACTER", "text"},
		{source.SQLite, source.MySQL, "text(100)", "longtext"},
		{source.SQLite, source.PostgreSQL, "long blob", "bytea"},
		{source.SQLite, source.PostgreSQL, "floating", "double precision"},
		{source.SQLite, source.PostgreSQL, "string", "-"},
		{source.SQLite, source.PostgreSQL, "money", "-"},
		{source.SQLite, source.PostgreSQL, "", "-"},
	} {
		expectType(t, test.from, test.to, test.name, test.want)
	}
}

// orders has something of everything.
var orders = &source.Definition{
	Dialect: source.PostgreSQL, Schema: "app", Name: "orders",
	Columns: []source.ColumnDefinition{
		{Name: "id", Type: "integer", NotNull: true, Default: "nextval('app.orders_id_seq'::regclass)"},
		{Name: "other", Type: "bigint", Identity: source.Always},
		{
			Name: "title", Type: "text", NotNull: true, Default: "'it''s'::text", Collation: `pg_catalog."C"`,
			Comment: "its 'title'",
		},
		{Name: "price", Type: "numeric(10,2)", Default: "'-1'::integer"},
		{Name: "paid", Type: "boolean", Default: "false"},
		{Name: "at", Type: "timestamp(3) without time zone", Default: "now()"},
		{Name: "code", Type: "character varying(8)", Default: "NULL::character varying"},
		{Name: "twice", Type: "numeric", Generated: source.Stored, Expression: "price * 2"},
	},
	Constraints: []source.Constraint{
		{Name: "orders_pkey", Kind: source.PrimaryKey, Columns: []string{"id"}},
		{Name: "orders_code_key", Kind: source.Unique, Columns: []string{"code", "price"}},
		{Name: "orders_check", Kind: source.Check},
		{Name: "orders_fkey", Kind: source.ForeignKey, Columns: []string{"other"}},
	},
	Indexes: []source.Index{
		{Name: "by_price", Columns: []string{"price"}, Definition: "CREATE INDEX by_price ON x USING btree (price)"},
		{Name: "by_code", Columns: []string{"code"}, Definition: "CREATE INDEX by_code ON x USING hash (code)"},
		{Name: "by_lower", Definition: "CREATE INDEX by_lower ON x USING btree (lower(code))"},
	},
	Sequences: []source.Sequence{{Column: "id", Name: "app.orders_id_seq", Last: new(int64(41))}, {Column: "other"}},
	Comment:   "all 'orders'",
}

func TestTranslate(t *testing.T) {
	common := []string{
		`the collation pg_catalog."C" of column "title"`,
		`the generated column "twice"`, `the check "orders_check"`, `the foreign key "orders_fkey"`,
		`the index "by_code"`, `the index "by_lower"`, `the numbering of column "other"`,
	}
	for to, test := range map[source.Dialect]struct {
		create, index string
		omitted       []string
	}{
		source.SQLite: {
			`CREATE TABLE "orders" ("id" INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, "other" INTEGER, ` +
				`"title" TEXT NOT NULL DEFAULT 'it''s', "price" NUMERIC(10,2) DEFAULT '-1', ` +
				`"paid" BOOLEAN DEFAULT 0, ` +
				`"at" TIMESTAMP DEFAULT (datetime('now', 'localtime')), "code" VARCHAR(8), UNIQUE ("code", "price"))`,
			`CREATE INDEX "by_price" ON "orders" ("price")`,
			append(slices.Insert(slices.Clone(common), 1, `the comment of column "title"`),
				`the comment "all 'orders'"`),
		},
		source.MariaDB: {
			"CREATE TABLE `orders` (\n  `id` int NOT NULL AUTO_INCREMENT,\n  `other` bigint,\n" +
				"  `title` longtext NOT NULL DEFAULT ('it''s') COMMENT 'its ''title''',\n" +
				"  `price` decimal(10,2) DEFAULT '-1',\n  `paid` tinyint(1) DEFAULT 0,\n  " +
				"`at` datetime(3) DEFAULT CURRENT_TIMESTAMP(3),\n" +
				"  `code` varchar(8),\n  PRIMARY KEY (`id`),\n" +
				"  KEY `by_price` (`price`),\n  UNIQUE (`code`, `price`)\n) AUTO_INCREMENT=42 " +
				"DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin COMMENT='all ''orders'''",
			"KEY `by_price` (`price`)", common,
		},
	} {
		got, omitted, err := dialect.Translate(orders, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Create != test.create || got.Indexes[0].Definition != test.index || got.Dialect != to {
			t.Errorf("%s\nwant\n%s\n%+v", got.Create, test.create, got)
		}
		if !slices.Equal(omitted, test.omitted) {
			t.Errorf("left out are %q, want %q", omitted, test.omitted)
		}
	}
	same, omitted, err := dialect.Translate(orders, source.PostgreSQL, nil)
	if same != orders || omitted != nil || err != nil {
		t.Errorf("for the same system: %v, %q, %v", same, omitted, err)
	}
}

// TestClausesOfSQLite names clauses that only the statement of a table of SQLite has.
func TestClausesOfSQLite(t *testing.T) {
	for create, want := range map[string]string{
		"CREATE TABLE t (a INT UNIQUE ON CONFLICT REPLACE)":     `ON CONFLICT, if a constraint of "t" has it`,
		"CREATE TABLE t (a INT, CHECK (a > 0))":                 "",
		"CREATE TABLE t (a INT CHECK (a % 2 = 0))":              `checks, if "t" has any`,
		"CREATE TABLE t (a INT, CONSTRAINT odd CHECK (odd(a)))": "a check odd",
		"CREATE TABLE t (a INT CHECK (a > 0)) -- CHECK":         `checks, if "t" has any`,
		"CREATE TABLE t (a INT)":                                "",
	} {
		d := &source.Definition{
			Dialect: source.SQLite, Name: "t", Create: create,
			Columns: []source.ColumnDefinition{{Name: "a", Type: "INT"}},
		}
		_, omitted, err := dialect.Translate(d, source.PostgreSQL, nil)
		if got := strings.Join(omitted, ", "); err != nil || got != want {
			t.Errorf("%s: left out is %q, %v; want %q", create, got, err, want)
		}
	}
}

// TestDefaults has defaults that are plain literals, and others.
func TestDefaults(t *testing.T) {
	for _, test := range []struct {
		from             source.Dialect
		name, expression string
		want             string // in PostgreSQL, or in SQLite
	}{
		{source.MariaDB, "int", "7", "7"},
		{source.MySQL, "int", "'7'", "'7'"},
		{source.MariaDB, "varchar(9)", `'it\'s'`, ""},
		{source.MariaDB, "varchar(9)", `'it''s'`, `'it''s'`},
		{source.MariaDB, "timestamp", "current_timestamp()", "CURRENT_TIMESTAMP"},
		{source.MariaDB, "datetime(6)", "current_timestamp(6)", "LOCALTIMESTAMP"},
		{source.MariaDB, "datetime", "(utc_timestamp())", ""},
		{source.MySQL, "datetime", "utc_timestamp()", "(CURRENT_TIMESTAMP AT TIME ZONE 'UTC')"},
		{source.MariaDB, "date", "curdate()", "CURRENT_DATE"},
		{source.MariaDB, "varchar(20)", "current_timestamp()", ""},
		{source.SQLite, "DATETIME", "CURRENT_TIMESTAMP", "(CURRENT_TIMESTAMP AT TIME ZONE 'UTC')"},
		{source.SQLite, "TIMESTAMPTZ", "CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP"},
		{source.SQLite, "DATE", "CURRENT_DATE", "((CURRENT_TIMESTAMP AT TIME ZONE 'UTC')::date)"},
		{source.SQLite, "DATE", "CURRENT_TIMESTAMP", ""},
		{source.SQLite, "TIME", "CURRENT_TIME", ""},
		{source.PostgreSQL, "date", "CURRENT_DATE", "(date('now', 'localtime'))"},
		{
			source.PostgreSQL, "timestamp with time zone", "CURRENT_TIMESTAMP(3)",
			"(strftime('%Y-%m-%d %H:%M:%f+00', 'now'))",
		},
		{source.PostgreSQL, "timestamp without time zone", "(now() AT TIME ZONE 'utc'::text)", "CURRENT_TIMESTAMP"},
		{source.MariaDB, "bit(1)", "b'0'", ""},
		{source.MariaDB, "date", "'2024-02-29'", "'2024-02-29'"},
		{source.MariaDB, "date", "'0000-00-00'", ""},
		{source.MySQL, "date", "'2023-02-29'", ""},
		{source.MariaDB, "datetime(3)", "'2024-02-29 23:59:59.123'", "'2024-02-29 23:59:59.123'"},
		{source.MariaDB, "timestamp", "'0000-00-00 00:00:00'", ""},
		{source.MariaDB, "time", "'23:59:59'", "'23:59:59'"},
		{source.MariaDB, "time", "'838:59:59'", ""},
		{source.SQLite, "DATE", "'now'", ""},
		{source.SQLite, "DATE", "0", ""},
		{source.SQLite, "INT", "'x'", ""},
		{source.SQLite, "INT", "1.5", ""},
		{source.SQLite, "REAL", "'1.5e3'", "'1.5e3'"},
		{source.SQLite, "UUID", "1", ""},
		{source.SQLite, "BOOLEAN", "TRUE", "true"},
		{source.SQLite, "BOOLEAN", "0", "'0'"},
		{source.SQLite, "INT", "TRUE", "1"},
		{source.SQLite, "REAL", "-1.5e3", "-1.5e3"},
		{source.SQLite, "TEXT", `'a\b'`, `'a\b'`},
		{source.SQLite, "TEXT", `"a"`, ""},
		{source.SQLite, "BLOB", "'a'", ""},
		{source.SQLite, "BLOB", "x'00'", ""},
		{source.SQLite, "TEXT", "'a' || 'b'", ""},
		{source.SQLite, "TEXT", "NULL", ""},
		{source.PostgreSQL, "integer", "(-1)", "-1"},
		{source.PostgreSQL, "numeric(40,10)", "12345678901234567890.1234567891", "'12345678901234567890.1234567891'"},
		{source.PostgreSQL, "numeric(10,2)", "1.50", "1.50"},
		{
			source.PostgreSQL, "timestamp without time zone", "'2020-01-01 00:00:00'::timestamp without time zone",
			"'2020-01-01 00:00:00'",
		},
		{source.PostgreSQL, "text", "('a'::text || 'b'::text)", ""},
		{source.PostgreSQL, "character varying(3)", `'x; DROP'::character varying(3)`, "'x; DROP'"},
	} {
		d := &source.Definition{Dialect: test.from, Name: "t", Columns: []source.ColumnDefinition{
			{Name: "c", Type: test.name, Default: test.expression},
		}}
		to := source.PostgreSQL
		if test.from == to {
			to = source.SQLite
		}
		got, omitted, err := dialect.Translate(d, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Columns[0].Default != test.want || test.want == "" && test.expression != "NULL" && len(omitted) == 0 {
			t.Errorf("the default %s of %s is %q, want %q; left out: %q", test.expression, test.from,
				got.Columns[0].Default, test.want, omitted)
		}
	}
}

// TestIndexes has indexes that are equal to one of another system, and others, which are left out.
func TestIndexes(t *testing.T) {
	for _, test := range []struct {
		from, to   source.Dialect
		definition string
		left       bool
	}{
		{source.SQLite, source.PostgreSQL, "CREATE UNIQUE INDEX n ON t (c)", false},
		{source.SQLite, source.PostgreSQL, "create index n\non t(c desc)", false},
		{source.SQLite, source.PostgreSQL, "CREATE UNIQUE INDEX n ON t (c COLLATE NOCASE)", true},
		{source.SQLite, source.PostgreSQL, "CREATE INDEX n ON t (c) WHERE (c IS NULL)", true},
		{source.PostgreSQL, source.SQLite, "CREATE INDEX n ON public.t USING btree (c DESC)", false},
		{source.PostgreSQL, source.SQLite, `CREATE UNIQUE INDEX n ON public.t USING btree (c COLLATE "x")`, true},
		{source.PostgreSQL, source.SQLite, "CREATE INDEX n ON public.t USING btree (c) WHERE (c IS NULL)", true},
		{source.MariaDB, source.SQLite, "KEY `collate` (`c`)", false},
	} {
		d := &source.Definition{
			Dialect: test.from, Name: "t", Columns: []source.ColumnDefinition{{Name: "c", Type: "varchar(9)"}},
			Indexes: []source.Index{{Name: "n", Columns: []string{"c"}, Definition: test.definition}},
		}
		if test.from == source.PostgreSQL {
			d.Columns[0].Type = "character varying(9)"
		}
		got, omitted, err := dialect.Translate(d, test.to, nil)
		if err != nil {
			t.Fatal(err)
		}
		left := slices.Equal(omitted, []string{`the index "n"`})
		if left != test.left || left == (len(got.Indexes) > 0) {
			t.Errorf("%s: %+v, left out: %q", test.definition, got.Indexes, omitted)
		}
	}
}

// TestNumbering has columns that the other system numbers only if it can hold their numbers.
func TestNumbering(t *testing.T) {
	most := int64(math.MaxInt64)
	for _, test := range []struct {
		from, to source.Dialect
		name     string
		sequence source.Sequence
		want     string // type
		numbered bool
		create   string
	}{
		{source.MariaDB, source.PostgreSQL, "bigint(20) unsigned", source.Sequence{Last: &most}, "bigint", true, ""},
		{source.MariaDB, source.PostgreSQL, "bigint(20) unsigned", source.Sequence{}, "bigint", true, ""},
		{
			source.MySQL, source.PostgreSQL, "bigint unsigned",
			source.Sequence{Options: "AUTO_INCREMENT=9223372036854775809"},
			"numeric(20,0)", false, "",
		},
		{
			source.MariaDB, source.SQLite, "bigint(20) unsigned",
			source.Sequence{Options: "AUTO_INCREMENT=18446744073709551615"},
			"", false, `("c", CHECK ("c" >= 0), PRIMARY KEY`,
		},
		{source.MariaDB, source.PostgreSQL, "int(10) unsigned", source.Sequence{}, "bigint", true, ""},
		{source.MariaDB, source.PostgreSQL, "double", source.Sequence{}, "double precision", false, ""},
		{source.MariaDB, source.SQLite, "float", source.Sequence{}, "REAL", false, ""},
		{
			source.PostgreSQL, source.MariaDB, "bigint",
			source.Sequence{Last: &most},
			"bigint", true,
			"AUTO_INCREMENT=9223372036854775808 ",
		},
		{source.PostgreSQL, source.MySQL, "integer", source.Sequence{}, "int", true, ""},
		{source.SQLite, source.MySQL, "INTEGER", source.Sequence{}, "bigint", true, ""},
	} {
		test.sequence.Column = "c"
		d := &source.Definition{
			Dialect: test.from, Name: "t",
			Columns:     []source.ColumnDefinition{{Name: "c", Type: test.name, Identity: source.ByDefault}},
			Constraints: []source.Constraint{{Kind: source.PrimaryKey, Columns: []string{"c"}}},
			Sequences:   []source.Sequence{test.sequence},
		}
		got, omitted, err := dialect.Translate(d, test.to, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := got.Columns[0]
		if c.Type != test.want || (c.Identity != "") != test.numbered || (len(omitted) == 0) != test.numbered ||
			!strings.Contains(got.Create, test.create) {
			t.Errorf("%s of %s in %s, %+v: %+v, left out %q\n%s", test.name, test.from, test.to, test.sequence, c,
				omitted, got.Create)
		}
	}
}

func TestRefused(t *testing.T) {
	text := &source.Definition{
		Dialect: source.PostgreSQL, Name: "t", Columns: []source.ColumnDefinition{{Name: "c", Type: "bytea"}},
		Constraints: []source.Constraint{{Kind: source.PrimaryKey, Columns: []string{"c"}}},
	}
	if _, _, err := dialect.Translate(text, source.MySQL, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a primary key of bytes: %v", err)
	}
	if _, _, err := dialect.Translate(text, "other", nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("another system: %v", err)
	}
	if _, _, err := dialect.Translate(&source.Definition{Dialect: source.SQLite}, source.MySQL, nil); err == nil {
		t.Error("no columns")
	}
}

// TestNames refuses names that a system cannot have, or would cut.
func TestNames(t *testing.T) {
	long := strings.Repeat("ä", 32) // 64 bytes
	for _, test := range []struct {
		to      source.Dialect
		columns []string
		refused string
	}{
		{source.PostgreSQL, []string{long[:62], "É", "é"}, ""},
		{source.PostgreSQL, []string{"a", long}, long},
		{source.PostgreSQL, []string{""}, ""},
		{source.MySQL, []string{long + long}, ""},
		{source.MariaDB, []string{"a", long + long + "x"}, long + long + "x"},
		{source.MySQL, []string{"a "}, "a "},
		{source.MySQL, []string{"😀"}, "😀"},
		{source.MySQL, []string{"É", "é"}, "é"},
		{source.SQLite, []string{long + long + long, "É", "é", "a "}, ""},
		{source.SQLite, []string{"É", "Aé", "aé"}, "aé"},
	} {
		from := source.PostgreSQL
		if test.to == from {
			from = source.SQLite
		}
		d := &source.Definition{Dialect: from, Name: "t"}
		for _, name := range test.columns {
			d.Columns = append(d.Columns, source.ColumnDefinition{Name: name, Type: "bigint"})
		}
		_, _, err := dialect.Translate(d, test.to, nil)
		refused, is := errors.AsType[*dialect.NameError](err)
		switch {
		case is && (refused.Column != test.refused || refused.Number == 0 ||
			!strings.Contains(err.Error(), strconv.Quote(test.refused)) || !errors.Is(err, errors.ErrUnsupported)):
			t.Errorf("%q in %s: %v", test.columns, test.to, err)
		case is != (test.refused != "" || test.columns[0] == ""):
			t.Errorf("%q in %s: %v", test.columns, test.to, err)
		}
	}
	for to, fits := range map[source.Dialect]bool{source.PostgreSQL: false, source.MySQL: true, source.SQLite: true} {
		if err := dialect.CheckTable(to, long); (err == nil) != fits {
			t.Errorf("a table of %s: %v", to, err)
		}
	}
}
