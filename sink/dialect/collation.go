package dialect

import (
	"strings"

	"culvert/source"
)

// folded are the collations that compare texts without case: in SQLite for the letters of ASCII. Those of MySQL and
// MariaDB are of their versions 8.0 and 10.10.
var folded = map[source.Dialect]string{
	source.MySQL: "utf8mb4_0900_as_ci", source.MariaDB: "utf8mb4_uca1400_nopad_as_ci", source.SQLite: "NOCASE",
}

// bare are those that do not compare accents either.
var bare = map[source.Dialect]string{
	source.MySQL: "utf8mb4_0900_ai_ci", source.MariaDB: "utf8mb4_uca1400_nopad_ai_ci", source.SQLite: "NOCASE",
}

// isFolded reports whether the texts of a column are compared without case where it comes from.
func (t *translation) isFolded(c source.ColumnDefinition) bool {
	listed, _ := key(t.from.Dialect, c.Type)
	switch t.from.Dialect.Family() {
	case source.PostgreSQL:
		return listed == "citext" || c.Ignores != ""
	case source.SQLite:
		return strings.EqualFold(c.Collation, "NOCASE")
	}
	collation := c.Collation
	for _, clause := range t.from.Others {
		if of, is := strings.CutPrefix(clause, collationOfTable); is && collation == "" {
			collation = of
		}
	}
	return isText(listed) && strings.HasSuffix(collation, "_ci")
}

// isText reports whether values of a type are texts, which a collation compares.
func isText(name string) bool {
	lower := strings.ToLower(name)
	return strings.Contains(lower, "char") || strings.HasSuffix(lower, "text")
}

// collationOfTable begins the clause of a table of MySQL whose texts have its collation.
const collationOfTable = "COLLATE="

// collation returns the collation that a column of a type gets, or "". PostgreSQL has none for it by which LIKE works.
func (t *translation) collation(c source.ColumnDefinition, made string) string {
	if c.As != "" || !isText(made) || !t.isFolded(c) {
		return ""
	}
	if c.Ignores == source.IgnoresAccents {
		return bare[t.to]
	}
	return folded[t.to]
}

// leaveCollation leaves out what a column does not keep of its collation.
func (t *translation) leaveCollation(c source.ColumnDefinition, made string) {
	switch {
	case c.Collation == "":
	case made == "":
		t.leave("the collation %s of column %q", c.Collation, c.Name)
	case t.to == source.SQLite:
		t.leave("the collation %s of column %q beyond ASCII", c.Collation, c.Name)
	}
}

// fold adds a unique index to PostgreSQL that refuses the texts which a unique key has refused where letter case does
// not count.
func (t *translation) fold(columns []string) {
	var expressions []string
	some := false
	for _, name := range columns {
		expression := quote(t.to, name)
		made := t.find(name) // no number has letter case
		for _, c := range t.from.Columns {
			switch {
			case c.Name != name || c.As != "" || made == nil || !isText(made.Type) || !t.isFolded(c):
			case t.from.Dialect == source.SQLite: // where only ASCII has letter case
				expression, some = "lower("+expression+` COLLATE pg_catalog."C")`, true
			default:
				expression, some = "lower("+expression+")", true
			}
		}
		expressions = append(expressions, expression)
	}
	if !some || t.to != source.PostgreSQL {
		return
	}
	t.result.Indexes = append(t.result.Indexes, source.Index{
		Unique: true, Definition: "CREATE UNIQUE INDEX ON " + t.table() + " (" + strings.Join(expressions, ", ") + ")",
	})
}
