package sourcetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culvert/internal/testkit"
)

// SchemaDialect is what the random schemas of a database are made of.
type SchemaDialect struct {
	// Quote writes a name as an SQL identifier.
	Quote func(name string) string

	// MaxName is the longest name, in bytes.
	MaxName int

	// Refuses reports whether no object can have a name. Nil refuses none.
	Refuses func(name string) bool

	// Types are those of columns. Steps add more: see [RandomSchema.AddType].
	Types []RandomType

	// Steps make the schema, one after the other. Each adds at least one of what it is about, so that every schema has
	// every clause, in another combination.
	Steps []func(s *RandomSchema)
}

// RandomType is a type of columns.
type RandomType struct {
	SQL    string
	Values []string // some of the type, as SQL
	Keyed  bool     // whether an ordinary index can have it

	NotNull bool // it has no NULL, but a default of its own
}

// RandomTable is a table of a random schema.
type RandomTable struct {
	SQL     string // its name
	Schema  string // as SQL, or ""
	Columns []RandomColumn
	Keyed   bool // id is its primary key, and can be referred to
	Rows    int  // how many it has; their ids count from 1
}

// RandomColumn is a column of a random table.
type RandomColumn struct {
	SQL  string // its name
	Type RandomType

	// Written says that rows are inserted with a value. The database makes the values of other columns.
	Written bool
	NotNull bool
}

// RandomSchema makes a database with every clause that its dialect has, in random combinations, with odd names and
// odd values. The same seed makes the same database.
type RandomSchema struct {
	*rand.Rand

	Statements []string // that make the database with its rows, in order, each without a semicolon
	Tables     []*RandomTable

	dialect *SchemaDialect
	types   []RandomType
	names   int
	others  map[string][]string
}

// NewRandomSchema makes a schema.
func NewRandomSchema(seed uint64, d *SchemaDialect) *RandomSchema {
	s := &RandomSchema{
		Rand: rand.New(rand.NewPCG(seed, 0)), dialect: d, types: slices.Clone(d.Types), others: map[string][]string{},
	}
	for _, step := range d.Steps {
		step(s)
	}
	return s
}

// Add adds a statement, which is formatted as by fmt.Sprintf.
func (s *RandomSchema) Add(format string, arguments ...any) {
	s.Statements = append(s.Statements, fmt.Sprintf(format, arguments...))
}

// AddType has columns of the tables that come have a type too, four times as often as one of the dialect's.
func (s *RandomSchema) AddType(t RandomType) { s.types = append(s.types, t, t, t, t) }

// Types returns the types that columns can have.
func (s *RandomSchema) Types() []RandomType { return s.types }

// Keep keeps the name of an object of some kind, as SQL, for those that come.
func (s *RandomSchema) Keep(kind, sql string) { s.others[kind] = append(s.others[kind], sql) }

// Kept returns the names of all objects of a kind that were kept.
func (s *RandomSchema) Kept(kind string) []string { return s.others[kind] }

// OneOf returns one of some texts, or "" if there are none.
func (s *RandomSchema) OneOf(texts ...string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[s.IntN(len(texts))]
}

// Maybe returns a text, or "" as often.
func (s *RandomSchema) Maybe(text string) string { return s.OneOf(text, "") }

// Some calls a function once to most times.
func (s *RandomSchema) Some(most int, each func()) {
	for range 1 + s.IntN(most) {
		each()
	}
}

// namePatterns are patterns of names. The number makes each one different in the first bytes, whatever cuts it.
var namePatterns = []string{
	"plain_%d", "t%d", "Upper_%d", "UPPER%d", `a"quote%d`, `%d""two`, "dot.%d", "a.b.c%d", "apo'strophe%d",
	"semi;colon%d",
	"d$ollar%d", "$%d$", "back\\slash%d", "%d begins", "two  words %d", " leads%d", "select %d", "--%d", "/*%d", "(%d",
	"größe_%d", "日本語%d", "e\u0301%d", "🦀%d", "percent%%%d", "comma,%d", "line-%d", "#%d", "`tick%d", "[%d]", "@%d",
	"%d:a",
	"?%d",
}

// Name returns a new name, as SQL: an odd one, more often than not, or one of the greatest length.
func (s *RandomSchema) Name() string {
	for {
		s.names++
		name := fmt.Sprintf(namePatterns[s.IntN(len(namePatterns))], s.names)
		switch s.IntN(8) {
		case 0:
			for name = fmt.Sprintf("l%d_", s.names); len(name) < s.dialect.MaxName; {
				name += string(rune('a' + s.IntN(26)))
			}
		case 1:
			name = fmt.Sprintf("n%d", s.names)
		}
		if len(name) <= s.dialect.MaxName && (s.dialect.Refuses == nil || !s.dialect.Refuses(name)) {
			return s.dialect.Quote(name)
		}
	}
}

// Column returns a new column with a random type.
func (s *RandomSchema) Column() RandomColumn {
	return RandomColumn{SQL: s.Name(), Type: s.types[s.IntN(len(s.types))], Written: true}
}

// Value returns a value for a column, as SQL.
func (s *RandomSchema) Value(c RandomColumn) string {
	if !c.NotNull && !c.Type.NotNull && s.IntN(5) == 0 {
		return "NULL"
	}
	return s.OneOf(c.Type.Values...)
}

// Insert adds a statement with so many rows to a table. A column that is called id in all tables, and which must be
// the first one, numbers them.
func (s *RandomSchema) Insert(t *RandomTable, rows int) {
	var columns, lines []string
	for _, c := range t.Columns {
		if c.Written {
			columns = append(columns, c.SQL)
		}
	}
	for range rows {
		t.Rows++
		values := []string{strconv.Itoa(t.Rows)}
		for _, c := range t.Columns[1:] {
			if c.Written {
				values = append(values, s.Value(c))
			}
		}
		lines = append(lines, "("+strings.Join(values, ", ")+")")
	}
	if rows > 0 {
		s.Add("INSERT INTO %s (%s) VALUES %s", t.SQL, strings.Join(columns, ", "), strings.Join(lines, ", "))
	}
}

// OddTexts are odd values of text, as SQL that doubles apostrophes and takes every other character as it is.
func OddTexts() []string {
	texts := []string{
		"", " ", "NULL", `\N`, `\.`, "it's", `"`, `""`, "a,b", "a\tb", "a\nb", "a\r\nb", "\\", `\\x41`, "größe", "日本語",
		"🦀",
		"e\u0301", "null", "0", "-0", "1e5", "true", "{}", "[]", "<a>&amp;", "%s", "${a}", "; DROP", "--", "/*", "$$",
		"\u0001",
		"\u007f", "\u2028", "\ufeff", "end ",
	}
	sql := make([]string, len(texts))
	for i, text := range texts {
		sql[i] = "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return sql
}

// SchemaSeeds returns the seeds of some random schemas, and logs them: 1 to few, twenty times as many in the long form,
// or as many as CULVERT_TEST_ROUNDS says. They are the same in every run. CULVERT_TEST_SEED names the only one.
func SchemaSeeds(tb testing.TB, few int) []uint64 {
	tb.Helper()
	number := func(variable string, otherwise int) int {
		text := os.Getenv(variable)
		if text == "" {
			return otherwise
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			tb.Fatalf("%s: %v", variable, err)
		}
		return n
	}
	if only := number("CULVERT_TEST_SEED", 0); only > 0 {
		return []uint64{uint64(only)}
	}
	switch {
	case testkit.Soak():
		few *= 40
	case !testkit.RunsLong():
		few = (few + 2) / 3
	}
	var seeds []uint64
	for i := range number("CULVERT_TEST_ROUNDS", few) {
		seeds = append(seeds, uint64(i)+1)
	}
	tb.Logf("the seeds are 1 to %d; CULVERT_TEST_SEED takes one", len(seeds))
	return seeds
}

// reference adds foreign keys to columns of a type for integers, with what ends their definitions: within a table, and
// in a cycle.
func (s *RandomSchema) reference(integer string, end func() string) {
	var keyed []*RandomTable
	for _, t := range s.Tables {
		if t.Keyed {
			keyed = append(keyed, t)
		}
	}
	for i, t := range keyed {
		for _, to := range []*RandomTable{t, keyed[(i+1)%len(keyed)]} {
			column := s.Name()
			s.Add("ALTER TABLE %s ADD COLUMN %s %s", t.SQL, column, integer)
			s.Add("UPDATE %s SET %s = %s WHERE %[3]s <= %d", t.SQL, column, t.Columns[0].SQL, to.Rows)
			s.Add("ALTER TABLE %s ADD CONSTRAINT %s FOREIGN KEY (%s) REFERENCES %s (%s) %s", t.SQL, s.Name(), column,
				to.SQL, to.Columns[0].SQL, end())
		}
	}
}
