package load_test

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/ext/fts5"
	"github.com/ncruces/go-sqlite3/ext/rtree"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/mask"
	"culvert/mysql"
	"culvert/place/dir"
	"culvert/sink"
	"culvert/source"
	"culvert/source/sourcetest"
)

// TestRandomSchemasMasked exports random databases with random masks, and loads them into empty ones, whose keys and
// checks hold. Masked columns have no values that there were; the same key makes the same of them, and another key
// makes others.
func TestRandomSchemasMasked(t *testing.T) {
	testkit.Long(t)
	doubled := func(mark string) func(string) string {
		return func(name string) string { return mark + strings.ReplaceAll(name, mark, mark+mark) + mark }
	}
	for _, one := range []struct {
		name    string
		dialect *sourcetest.SchemaDialect
		open    func(*testing.T, *sourcetest.RandomSchema) (source.Source, sink.Sink, func() source.Source)
		quote   func(string) string
	}{
		{"PostgreSQL", sourcetest.PostgresSchema(true), maskedPostgres, doubled(`"`)},
		{"MariaDB", sourcetest.MariaDBSchema(), maskedMariaDB, doubled("`")},
		{"SQLite", sourcetest.SQLiteSchema(), maskedSQLite, doubled(`"`)},
	} {
		t.Run(one.name, func(t *testing.T) {
			for _, seed := range sourcetest.SchemaSeeds(t, 1) {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					s := sourcetest.NewRandomSchema(seed, one.dialect)
					src, dst, again := one.open(t, s)
					m := newRandomMasks(t, src, rand.New(rand.NewPCG(seed, 1)))
					m.load(t, dst)
					m.expectKeys(t, again(), one.quote)
					m.expectValues(t)
				})
			}
		})
	}
}

func maskedPostgres(t *testing.T, s *sourcetest.RandomSchema) (source.Source, sink.Sink, func() source.Source) {
	server := testkit.Postgres(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	runStatements(t, from, s.Statements)
	return openPostgres(t, from), newSink(t, to), func() source.Source { return openPostgres(t, to) }
}

func maskedMariaDB(t *testing.T, s *sourcetest.RandomSchema) (source.Source, sink.Sink, func() source.Source) {
	server := testkit.MariaDB(t)
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	from.Exec(t, strings.Join(s.Statements, ";\n"))
	open := func(url string) source.Source {
		src, err := mysql.OpenSource(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closing(t, src) })
		return src
	}
	dst, err := mysql.OpenSink(t.Context(), to.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, dst) })
	return open(from.URL()), dst, func() source.Source { return open(to.URL()) }
}

func maskedSQLite(t *testing.T, s *sourcetest.RandomSchema) (source.Source, sink.Sink, func() source.Source) {
	path := filepath.Join(t.TempDir(), "was.db")
	conn, err := sqlite3.Open(path)
	if err == nil {
		err = errors.Join(fts5.Register(conn), rtree.Register(conn))
	}
	if err == nil {
		err = errors.Join(conn.Exec(strings.Join(s.Statements, ";\n")), conn.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	filled, dst := newSQLite(t)
	return openSQLite(t, path), dst, func() source.Source { return openSQLite(t, filled) }
}

// randomMasks are random rules for the tables of a database.
type randomMasks struct {
	src    source.Source
	schema *source.Schema
	tables []mask.Table
	policy *mask.Policy
}

var randomRules = []string{
	"hash", "hash", "text", "text", "digits", "email", "name", "address city", "fixed 7", "null", "drop",
	"keep first 2", "year", "month", "shift 30", "round 10", "noise 10%", "json $.a: hash, $[*]: text",
}

// newRandomMasks takes rules that [mask.Policy.Check] allows. Columns that foreign keys connect have the same.
func newRandomMasks(t *testing.T, src source.Source, random *rand.Rand) *randomMasks {
	t.Helper()
	m := &randomMasks{src: src, policy: &mask.Policy{Key: testKey(t), Tables: map[string]mask.Rules{}}}
	var err error
	if m.schema, err = source.SchemaOf(t.Context(), src, source.SchemaConfig{}); err != nil {
		t.Fatal(err)
	}
	if m.schema != nil && m.schema.OwnRows {
		source.Separate(src)
	}
	if m.tables, err = new(export.Plan).MaskTables(t.Context(), src, tablesOf(t, src)); err != nil {
		t.Fatal(err)
	}
	m.tables = slices.DeleteFunc(m.tables, func(one mask.Table) bool { return m.schema.StagedIn(one.Name) != "" })
	for _, group := range m.groups() {
		for range 2 { // so that most have one
			rule, err := mask.ParseRule(randomRules[random.IntN(len(randomRules))])
			if err != nil {
				t.Fatal(err)
			}
			if m.try(t, group, rule) {
				break
			}
		}
	}
	return m
}

// column is one of a table, by its place among the tables.
type maskedColumn struct {
	table int
	name  string
}

// groups returns the columns, those together that foreign keys connect.
func (m *randomMasks) groups() (groups [][]maskedColumn) {
	of := map[maskedColumn]int{}
	for i, t := range m.tables {
		for _, c := range t.Columns {
			of[maskedColumn{i, c.Name}] = len(groups)
			groups = append(groups, []maskedColumn{{i, c.Name}})
		}
	}
	m.eachReference(func(child, parent int, columns, key []string) {
		for i := range columns {
			from, isRead := of[maskedColumn{child, columns[i]}]
			to, isParentRead := of[maskedColumn{parent, key[i]}]
			if from == to || !isRead || !isParentRead {
				continue
			}
			for _, one := range groups[from] {
				of[one] = to
			}
			groups[to], groups[from] = append(groups[to], groups[from]...), nil
		}
	})
	return slices.DeleteFunc(groups, func(group []maskedColumn) bool { return len(group) == 0 })
}

// eachReference calls a function for each foreign key.
func (m *randomMasks) eachReference(each func(child, parent int, columns, key []string)) {
	for i, t := range m.tables {
		for _, c := range t.Definition.Constraints {
			r, ok := c.Reference()
			parent := slices.IndexFunc(m.tables, func(one mask.Table) bool {
				return one.Definition.Name == r.Table && one.Definition.Schema == cmp.Or(r.Schema, t.Definition.Schema)
			})
			if !ok || parent < 0 {
				continue
			}
			if r.Key == nil {
				r.Key = m.tables[parent].Definition.PrimaryKey()
			}
			each(i, parent, r.Columns, r.Key)
		}
	}
}

// try gives columns a rule if it is allowed, and if no warning says that the rows may not meet what holds for them.
func (m *randomMasks) try(t *testing.T, group []maskedColumn, rule mask.Rule) bool {
	was := map[string]mask.Rules{}
	for _, one := range group {
		t := m.tables[one.table]
		c := t.Columns[slices.IndexFunc(t.Columns, func(c source.Column) bool { return c.Name == one.name })].Logical
		if rule.String() == "fixed 7" && (c.List || c.Class != source.StringClass && c.Class != source.IntClass) {
			return false // whether it is a value of other types is only known to the database
		}
		isNumber := strings.HasPrefix(rule.String(), "number ")
		if isNumber && t.Definition.Dialect == source.SQLite && c.Class != source.IntClass {
			return false // a whole number loses its point in a column of type NUMERIC
		}

		name := m.tables[one.table].Name
		if _, begun := was[name]; !begun {
			was[name] = m.policy.Tables[name]
			if m.policy.Tables[name] = maps.Clone(was[name]); was[name] == nil {
				m.policy.Tables[name] = mask.Rules{}
			}
		}
		m.policy.Tables[name][one.name] = rule
	}
	var read []mask.Table
	none := false // no column is left
	for _, one := range m.tables {
		dropped := m.policy.Dropped(one.Name)
		columns := slices.DeleteFunc(slices.Clone(one.Columns), func(c source.Column) bool {
			return slices.Contains(dropped, c.Name)
		})
		none = none || len(columns) == 0 && len(dropped) > 0
		one.Columns = columns
		read = append(read, one)
	}
	notices, err := m.policy.Check(read)
	allowed := err == nil && !none && !slices.ContainsFunc(notices, func(notice string) bool {
		return !strings.Contains(notice, "ignore case")
	})
	for name := range was {
		allowed = allowed && m.fits(t, name)
	}
	if !allowed {
		for name, rules := range was {
			if m.policy.Tables[name] = rules; rules == nil {
				delete(m.policy.Tables, name)
			}
		}
	}
	return allowed
}

// fits reports whether all values of a table can be masked: a text of SQLite may be in a column of numbers.
func (m *randomMasks) fits(t *testing.T, table string) bool {
	t.Helper()
	plan := export.Plan{Unencrypted: true, Compression: export.None, Masks: m.policy}
	_, err := plan.Table(t.Context(), io.Discard, m.src, table)
	if err != nil && !strings.Contains(err.Error(), "cannot be masked by the rule") {
		t.Fatal(table, err)
	}
	return err == nil
}

// load exports the database and loads it.
func (m *randomMasks) load(t *testing.T, dst sink.Sink) {
	t.Helper()
	to, err := dir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, to)
	plan := export.Plan{Unencrypted: true, Schema: m.schema, Masks: m.policy}
	if all, err := plan.Tables(t.Context(), to, m.src, tablesOf(t, m.src)); err != nil {
		for _, one := range all {
			if one.Err != nil {
				t.Errorf("table %s: %v\nthe rules are %v", one.Name, one.Err, m.policy.Of(one.Name))
			}
		}
		t.Fatal(err)
	}
	from, err := export.OpenDirectory(to)
	if err != nil {
		t.Fatal(err)
	}
	filling := load.Plan{ReadBack: true}
	if all, err := filling.Database(t.Context(), dst, from, "a load"); err != nil {
		for _, one := range all {
			if one.Err != nil {
				t.Errorf("%s: %v", one.Table, one.Err)
				for _, was := range m.tables {
					if strings.HasSuffix(one.Table, was.Definition.Name) {
						for _, c := range was.Columns {
							t.Errorf("%s %s %s: %s", c.Name, c.Type, c.Logical, m.policy.Of(was.Name)[c.Name])
						}
					}
				}
			}
		}
		t.Fatal(err)
	}
}

// expectKeys asks the database for rows that refer to none.
func (m *randomMasks) expectKeys(t *testing.T, loaded source.Source, quote func(string) string) {
	t.Helper()
	named := func(d *source.Definition) string {
		if d.Dialect == source.PostgreSQL {
			return quote(d.Schema) + "." + quote(d.Name)
		}
		return quote(d.Name)
	}
	m.eachReference(func(child, parent int, columns, key []string) {
		var are, equal []string
		for i := range columns {
			are = append(are, "c."+quote(columns[i])+" IS NOT NULL")
			equal = append(equal, "p."+quote(key[i])+" = c."+quote(columns[i]))
		}
		sql := fmt.Sprintf("SELECT count(*) AS n FROM %s c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s p WHERE %s)",
			named(m.tables[child].Definition), strings.Join(are, " AND "), named(m.tables[parent].Definition),
			strings.Join(equal, " AND "))
		lost := func(src source.Source) string {
			var text bytes.Buffer
			plan := export.Plan{Unencrypted: true, Compression: export.None}
			if _, err := plan.Query(t.Context(), &text, src, sql); err != nil {
				t.Fatal(sql, err)
			}
			return text.String()
		}
		if was, is := lost(m.src), lost(loaded); was != is {
			t.Errorf("%s is %q, and was %q\nrules %v and %v", sql, is, was, m.policy.Of(m.tables[child].Name),
				m.policy.Of(m.tables[parent].Name))
		}
	})
}

// expectValues compares what leaves without masks, with them, and with another key.
func (m *randomMasks) expectValues(t *testing.T) {
	t.Helper()
	other := *m.policy
	// Not a random one, which may make a value of another by chance.
	var err error
	if other.Key, err = mask.ParseKey([]byte(strings.Replace(testkit.MaskKey, "1011", "ff11", 1))); err != nil {
		t.Fatal(err)
	}
	masked := 0
	for _, one := range m.tables {
		was, is := m.values(t, one.Name, nil), m.values(t, one.Name, m.policy)
		again, differ := m.values(t, one.Name, m.policy), m.values(t, one.Name, &other)
		for column, rule := range m.policy.Of(one.Name) {
			masked++
			if !slices.Equal(is[column], again[column]) {
				t.Errorf("table %s, column %s, rule %s: the same key makes other values", one.Name, column, rule)
			}
			for i, value := range is[column] {
				fixed := map[string]string{"fixed 7": "7", "null": ""}
				if want, is := fixed[rule.String()]; is && value != want && value != "" {
					t.Errorf("table %s, column %s, rule %s: a value is %q", one.Name, column, rule, value)
				}
				if !tells(rule, was[column][i]) {
					continue
				}
				if slices.Contains(was[column], value) || slices.Contains(differ[column], value) {
					t.Errorf("table %s, column %s, rule %s: %q becomes %q, as before or with another key", one.Name,
						column, rule, was[column][i], value)
				}
			}
			if _, there := is[column]; there && rule.IsDrop() {
				t.Errorf("table %s, column %s was not dropped", one.Name, column)
			}
		}
	}
	if masked < 5 {
		t.Errorf("only %d columns are masked", masked)
	}
}

// tells reports whether a rule makes something of a value that is hardly made of another one, too: many letters and
// digits are replaced.
func tells(rule mask.Rule, value string) bool {
	letters, digits := 0, 0
	if strings.Trim(value, "-0.") == "" {
		return false // 0 stays
	}
	for _, r := range value {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			letters++
		}
	}
	switch rule.String() {
	case "hash", "text":
		return letters+digits >= 8
	case "email":
		return value != ""
	case "digits":
		return digits >= 8
	}
	return false
}

// values returns the values of a table by columns, in the order in which it is read.
func (m *randomMasks) values(t *testing.T, table string, policy *mask.Policy) map[string][]string {
	t.Helper()
	var text bytes.Buffer
	plan := export.Plan{Unencrypted: true, Compression: export.None, Masks: policy, Ordered: true}
	if _, err := plan.Table(t.Context(), &text, m.src, table); err != nil {
		t.Fatal(table, err)
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		t.Fatal(table, err)
	}
	values := map[string][]string{}
	if len(rows) == 0 {
		return values
	}
	for i, name := range rows[0] {
		values[name] = []string{}
		for _, row := range rows[1:] {
			values[name] = append(values[name], row[i])
		}
	}
	return values
}
