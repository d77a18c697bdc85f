package dialect_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"culvert/sink/dialect"
	"culvert/source"
)

const pg, maria, my, lite = source.PostgreSQL, source.MariaDB, source.MySQL, source.SQLite

// TestReferences has foreign keys as each system prints them.
func TestReferences(t *testing.T) {
	for _, test := range []struct {
		from, to         source.Dialect
		definition, want string // "" is left out
		left             string // of it
	}{
		{
			pg, maria, "FOREIGN KEY (a, b) REFERENCES app.p(x, y) ON UPDATE CASCADE ON DELETE SET NULL",
			"FOREIGN KEY (`a`, `b`) REFERENCES `p` (`x`, `y`) ON DELETE SET NULL ON UPDATE CASCADE", "",
		},
		{
			pg, my, "FOREIGN KEY (a) REFERENCES p(x) DEFERRABLE INITIALLY DEFERRED",
			"FOREIGN KEY (`a`) REFERENCES `p` (`x`)", `DEFERRABLE INITIALLY DEFERRED of the foreign key "k"`,
		},
		{
			pg, lite, `FOREIGN KEY (a) REFERENCES "P""q"(x) DEFERRABLE INITIALLY DEFERRED`,
			`FOREIGN KEY ("a") REFERENCES "P""q" ("x") DEFERRABLE INITIALLY DEFERRED`, "",
		},
		{pg, my, "FOREIGN KEY (a) REFERENCES p(x) NOT VALID", "", `the foreign key "k"`},
		{pg, my, "FOREIGN KEY (a) REFERENCES audit.p(x)", "", `the foreign key "k"`},
		{pg, my, "FOREIGN KEY (a) REFERENCES p(x) MATCH FULL", "", `the foreign key "k"`},
		{pg, my, "FOREIGN KEY (a) REFERENCES p(x) ON DELETE SET DEFAULT", "", `the foreign key "k"`},
		{
			pg, lite, "FOREIGN KEY (a) REFERENCES p(x) ON DELETE SET DEFAULT",
			`FOREIGN KEY ("a") REFERENCES "p" ("x") ON DELETE SET DEFAULT`, "",
		},
		{pg, lite, "FOREIGN KEY (a, b) REFERENCES p(x, y) ON DELETE SET NULL (a)", "", `the foreign key "k"`},
		{pg, lite, "FOREIGN KEY (a, PERIOD b) REFERENCES p(x, PERIOD y)", "", `the foreign key "k"`},
		{pg, lite, "FOREIGN KEY (gone) REFERENCES p(x)", "", `the foreign key "k"`},
		{
			maria, pg, "FOREIGN KEY (`a`) REFERENCES `app`.`p` (`x`) ON DELETE CASCADE",
			`FOREIGN KEY ("a") REFERENCES "app"."p" ("x") ON DELETE CASCADE`, "",
		},
		{
			lite, pg, `FOREIGN KEY ("a") REFERENCES "p" ("x") ON UPDATE RESTRICT`,
			`FOREIGN KEY ("a") REFERENCES "app"."p" ("x") ON UPDATE RESTRICT`, "",
		},
	} {
		d := &source.Definition{
			Dialect: test.from, Schema: "app", Name: "t",
			Columns:     []source.ColumnDefinition{{Name: "a", Type: "bigint"}, {Name: "b", Type: "bigint"}},
			Constraints: []source.Constraint{{Kind: source.ForeignKey, Name: "k", Definition: test.definition}},
		}
		got, omitted, err := dialect.Translate(d, test.to, nil)
		if err != nil {
			t.Fatal(err)
		}
		made := ""
		if len(got.Constraints) > 0 {
			made = got.Constraints[0].Definition
		}
		if left := strings.Join(omitted, ", "); made != test.want || left != test.left {
			t.Errorf("%s in %s: %q, left out %q; want %q, %q", test.definition, test.to, made, left, test.want,
				test.left)
		}
	}
}

// TestChecks has checks as each system prints them, and what a system might understand in another way.
func TestChecks(t *testing.T) {
	const left = ""
	for _, test := range []struct {
		from, to         source.Dialect
		definition, want string
	}{
		{pg, maria, "CHECK ((n > 0))", "CHECK ((`n` > 0))"},
		{pg, lite, "CHECK ((n > (0)::numeric))", `CHECK (("n" > 0))`},
		{pg, lite, "CHECK ((n >= '-1'::integer))", `CHECK (("n" >= -1))`},
		{
			pg, lite, "CHECK (((n > 0) AND (n < 10)) OR (n IS NULL))",
			`CHECK (((("n" > 0) AND ("n" < 10)) OR ("n" IS NULL)))`,
		},
		{
			pg, source.MariaDB,
			"CHECK (((s)::text = ANY ((ARRAY['new'::character varying, 'it''s'::character varying])::text[])))",
			"CHECK ((`s` IN ('new', 'it''s')))",
		},
		{pg, lite, "CHECK ((s = ANY (ARRAY['a'::text, 'b'::text])))", `CHECK (("s" IN ('a', 'b')))`},
		{pg, lite, "CHECK ((s <> ALL (ARRAY['a'::text])))", `CHECK (("s" NOT IN ('a')))`},
		{pg, lite, "CHECK ((length((s)::text) > 3))", `CHECK ((length("s") > 3))`},
		{pg, my, "CHECK ((char_length(s) > 3))", "CHECK ((char_length(`s`) > 3))"},
		{pg, my, "CHECK ((NOT (n = 7)))", "CHECK ((NOT (`n` = 7)))"},
		{
			pg, lite, "CHECK ((string_to_array(s, ','::text) <@ ARRAY['a'::text, 'b'::text]))",
			`CHECK (',' || replace("s", ',', ',,') || ',' = ',,' OR ` +
				`replace(replace(',' || replace("s", ',', ',,') || ',', ',' || 'a' || ',', ''), ` +
				`',' || 'b' || ',', '') = '')`,
		},
		{
			lite, pg, `CHECK (',' || replace("s", ',', ',,') || ',' = ',,' OR ` +
				`replace(',' || replace("s", ',', ',,') || ',', ',' || 'a' || ',', '') = '')`,
			`CHECK (string_to_array("s", ',') <@ ARRAY['a']::text[])`,
		},
		{pg, lite, "CHECK ((n > 0)) NOT VALID", left},
		{pg, lite, "CHECK ((((n)::numeric)::bigint > 7))", left}, // rounds
		{pg, lite, "CHECK (((big)::integer > 7))", left},
		{pg, lite, "CHECK ((((n)::numeric) > (0.5)::numeric))", `CHECK (("n" > 0.5))`},
		{pg, my, "CHECK ((s <> ''::text))", left}, // ignores spaces at the end
		{pg, lite, "CHECK ((s > 'a'::text))", left},
		{pg, lite, "CHECK ((s ~ '^a'::text))", left},
		{pg, lite, "CHECK ((lower(s) = 'a'::text))", left},
		{pg, lite, "CHECK ((n > big))", left}, // which is text there
		{pg, lite, "CHECK ((d > '2020-01-01'::date))", left},
		{pg, lite, "CHECK ((s = E'a\\b'::text))", left},
		{pg, lite, "CHECK ((c = 'a'::text))", left},
		{pg, lite, "CHECK ((n > 0)) x", left},
		{pg, lite, "CHECK ((n > 0); DROP TABLE t)", left},
		{pg, lite, "CHECK (" + strings.Repeat("(", 1000) + "n > 0" + strings.Repeat(")", 1000) + ")", left},
		{
			maria, pg, "CHECK (`n` > 0 and `n` <> 7 or `n` is null)",
			`CHECK (((("n" > 0) AND ("n" <> 7)) OR ("n" IS NULL)))`,
		},
		{maria, pg, "CHECK (`n` between -1 and 9)", `CHECK (("n" BETWEEN -1 AND 9))`},
		{maria, pg, "CHECK (`s` in ('a','b'))", `CHECK (("s" IN ('a', 'b')))`},
		{maria, pg, "CHECK (`c` in ('a','b'))", left},
		{maria, pg, "CHECK (json_valid(`s`))", left},
		{my, pg, "CHECK ((`s` = _utf8mb4'a'))", left},
	} {
		names := []string{"bigint", "longtext", "decimal(60,2)", "date"}
		if test.from == source.PostgreSQL {
			names = []string{"bigint", "text", "numeric", "date"}
		}
		d := &source.Definition{
			Dialect: test.from, Name: "t",
			Columns: []source.ColumnDefinition{
				{Name: "n", Type: names[0]},
				{Name: "s", Type: names[1]},
				{Name: "d", Type: names[3]},
				{Name: "c", Type: names[1], Collation: "other"},
			},
			Constraints: []source.Constraint{{Kind: source.Check, Name: "k", Definition: test.definition}},
		}
		if test.to == source.SQLite {
			d.Columns = append(d.Columns, source.ColumnDefinition{Name: "big", Type: names[2]})
		}
		got, omitted, err := dialect.Translate(d, test.to, nil)
		if err != nil {
			t.Fatal(err)
		}
		made := ""
		if len(got.Constraints) > 0 {
			made = got.Constraints[0].Definition
		}
		if made != test.want || (made == "") != slices.Contains(omitted, `the check "k"`) {
			t.Errorf("%s in %s: %q, want %q; left out %q", test.definition, test.to, made, test.want, omitted)
		}
	}
}

// TestTypesAsChecks has types of MySQL that allow only some values.
func TestTypesAsChecks(t *testing.T) {
	for name, want := range map[string]string{
		"int(10) unsigned":        `CHECK ("c" >= 0)`,
		"decimal(10,2) unsigned":  `CHECK ("c" >= 0)`,
		"enum('a','it''s')":       `CHECK ("c" IN ('a', 'it''s'))`,
		`enum('a\\b')`:            "",
		"enum('an unsigned int')": `CHECK ("c" IN ('an unsigned int'))`,
		"set('a','it''s')":        `CHECK (string_to_array("c", ',') <@ ARRAY['a', 'it''s']::text[])`,
		`set('a\\b')`:             "",
		"int(11)":                 "",
	} {
		d := &source.Definition{
			Dialect: source.MariaDB, Name: "t", Columns: []source.ColumnDefinition{{Name: "c", Type: name}},
		}
		got, omitted, err := dialect.Translate(d, source.PostgreSQL, nil)
		made := ""
		if err == nil && len(got.Constraints) > 0 {
			made = got.Constraints[0].Definition
		}
		if made != want || (len(omitted) > 0) != (want == "" && name != "int(11)") {
			t.Errorf("%s: %q, want %q; left out %q, %v", name, made, want, omitted, err)
		}
	}
}

// TestTextsInKeys limits texts that MySQL could not have in a key.
func TestTextsInKeys(t *testing.T) {
	d := &source.Definition{
		Dialect: source.PostgreSQL, Name: "t",
		Columns: []source.ColumnDefinition{
			{Name: "a", Type: "text"},
			{Name: "b", Type: "text"},
			{Name: "c", Type: "character varying(100)"},
			{Name: "d", Type: "text"},
			{Name: "e", Type: "text"},
		},
		Constraints: []source.Constraint{
			{Kind: source.PrimaryKey, Columns: []string{"a", "b", "c"}},
			{Kind: source.ForeignKey, Name: "f", Columns: []string{"d"}, Definition: "FOREIGN KEY (d) REFERENCES p(x)"},
		},
		Indexes: []source.Index{
			{Name: "by_e", Columns: []string{"e", "c"}, Definition: "CREATE INDEX by_e ON t USING btree (e, c)"},
		},
	}
	got, omitted, err := dialect.Translate(d, source.MySQL, nil)
	if err != nil || len(omitted) > 0 {
		t.Fatalf("left out %q, %v", omitted, err)
	}
	for i, want := range []string{"varchar(334)", "varchar(334)", "varchar(100)", "varchar(768)", "longtext"} {
		if got.Columns[i].Type != want {
			t.Errorf("column %d has type %s, want %s", i, got.Columns[i].Type, want)
		}
	}
	if sql := got.Indexes[0].Definition; sql != "KEY `by_e` (`e`(191), `c`)" {
		t.Errorf("the index is %s", sql)
	}
}

// TestNamesOfForeignKeys has tables whose foreign keys could get one name, which no two of MySQL can have.
func TestNamesOfForeignKeys(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, from := range []source.Dialect{pg, lite} {
		var names []string
		for _, table := range [][2]string{
			{"user", "role_id"},
			{"user_role", "id"},
			{long, "role_id"},
			{long + "y", "role_id"},
			{long, "role_ids"},
			{long + "ä", "id"},
			{"x", long + "id"},
			{"x", long + "ib"},
		} {
			d := &source.Definition{
				Dialect: from, Name: table[0], Columns: []source.ColumnDefinition{{Name: table[1], Type: "bigint"}},
			}
			d.Constraints = []source.Constraint{{
				Kind: source.ForeignKey, Name: "k", Definition: "FOREIGN KEY (" + table[1] + ") REFERENCES p(x)",
			}}
			got, _, err := dialect.Translate(d, maria, nil)
			if err != nil || len(got.Constraints) != 1 {
				t.Fatal(got, err)
			}
			name := got.Constraints[0].Name
			if slices.Contains(names, name) || utf8.RuneCountInString(name) > 64 {
				t.Errorf("%q of %q among %q", name, table, names)
			}
			names = append(names, name)
		}
	}
}

// TestKeysOfMySQL has indexes that are too long for MySQL with all characters, and keys that no text is in.
func TestKeysOfMySQL(t *testing.T) {
	d := &source.Definition{
		Dialect: source.PostgreSQL, Name: "t",
		Columns: []source.ColumnDefinition{
			{Name: "id", Type: "uuid"},
			{Name: "user_id", Type: "text"},
			{Name: "at", Type: "timestamp with time zone"},
			{Name: "title", Type: "character varying(700)"},
			{Name: "body", Type: "text"},
			{Name: "more", Type: "jsonb"},
		},
		Constraints: []source.Constraint{
			{Kind: source.PrimaryKey, Columns: []string{"id"}},
			{
				Kind: source.ForeignKey, Name: "f", Columns: []string{"user_id"},
				Definition: "FOREIGN KEY (user_id) REFERENCES p(x)",
			},
		},
	}
	for _, columns := range []string{"user_id at", "body title", "title", "more", "body body body body body"} {
		d.Indexes = append(d.Indexes, source.Index{
			Name: columns, Columns: strings.Fields(columns), Definition: "CREATE INDEX x ON t USING btree (x)",
		})
	}
	got, omitted, err := dialect.Translate(d, source.MySQL, nil)
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, index := range got.Indexes {
		made = append(made, index.Definition)
	}
	want := []string{
		"KEY `user_id at` (`user_id`(191), `at`)", "KEY `body title` (`body`(191), `title`(191))",
		"KEY `title` (`title`)",
	}
	if !slices.Equal(made, want) {
		t.Errorf("the indexes are %q", made)
	}
	if left := []string{`the index "more"`, `the index "body body body body body"`}; !slices.Equal(omitted, left) {
		t.Errorf("left out are %q", omitted)
	}
}

// TestCheckOfUnsigned leaves out what compares a number of which SQLite keeps large values as text.
func TestCheckOfUnsigned(t *testing.T) {
	d := &source.Definition{
		Dialect: source.MariaDB, Name: "t",
		Columns: []source.ColumnDefinition{{Name: "u", Type: "bigint(20) unsigned"}},
		Constraints: []source.Constraint{
			{Kind: source.Check, Name: "k", Definition: "CHECK (`u` < 10000000000000000000)"},
		},
	}
	_, omitted, err := dialect.Translate(d, source.SQLite, nil)
	if want := []string{`the check "k"`}; err != nil || !slices.Equal(omitted, want) {
		t.Errorf("left out are %q, %v", omitted, err)
	}
}
