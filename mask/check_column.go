package mask

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"culvert/source"
)

// checkColumns finds rules whose values the columns of a table cannot have, although that does not follow from the
// logical type, and texts that the database compares otherwise than masks do.
func (p *Policy) checkColumns(t Table) (notices []string, err error) {
	rules := p.Of(t.Name)
	for _, name := range rules.masked() {
		i := slices.IndexFunc(t.Definition.Columns, func(c source.ColumnDefinition) bool { return c.Name == name })
		c, read := column(t.Columns, name)
		if i < 0 || !read {
			continue
		}
		rule, defined := rules[name], t.Definition.Columns[i]
		if err := rule.suits(c, defined, t.Definition.Dialect); err != nil {
			return nil, fmt.Errorf("column %q: %w", name, err)
		}
		if rule.IsInjective() && isText(c.Logical) && ignoresCase(defined, t.Definition.Dialect) && hasKey(t, name) {
			notices = append(notices, fmt.Sprintf("table %q: the database may ignore case in the column %q, which is "+
				"part of a key, and masks do not: values that differ only in case become different ones, and the rule "+
				"%s may make others that differ only in case", t.Name, name, rule))
		}
	}
	return notices, nil
}

// suits says why a column of a database cannot have the values of a rule.
func (r Rule) suits(c source.Column, defined source.ColumnDefinition, of source.Dialect) error {
	hasType := func(name string) bool {
		return of.Family() == source.MySQL && strings.HasPrefix(strings.ToLower(c.Type), name)
	}
	switch {
	case r.name == "null":
		return nil
	case r.name == "fixed" && c.Logical.Class == source.EnumClass && !c.Logical.List:
		quoted := "'" + strings.ReplaceAll(r.text, "'", "''") + "'"
		if !slices.Contains(defined.Values, r.text) && !strings.Contains(c.Type, quoted) {
			return errors.New("the text of the rule fixed is none of the values of the type " + c.Type)
		}
	case r.name == "fixed" && hasType("set(") && !takesSet(c.Type, r.text):
		return errors.New("the text of the rule fixed is none of the values of the type " + c.Type)
	case r.name == "fixed" && hasType("year") && !takesYear(r.text):
		return errors.New("the text of the rule fixed is no year of the type " + c.Type)
	case r.name == "fixed", r.name == "program":
	case hasType("year") && r.name == "number", // only hash and digits know its range
		of != source.SQLite && (c.Logical.Class == source.UnknownClass || hasType("set(")):
		return fmt.Errorf("the rule %s cannot mask the type %s: use fixed, null or drop", r, c.Type)
	}
	return nil
}

// takesSet reports whether a text has only members of a type of MySQL, such as set('x','y').
func takesSet(of, text string) bool {
	for member := range strings.SplitSeq(text, ",") {
		if text != "" && !strings.Contains(of, "'"+strings.ReplaceAll(member, "'", "''")+"'") {
			return false
		}
	}
	return true
}

// takesYear reports whether a text is a year of MySQL.
func takesYear(text string) bool {
	return len(text) == 4 && (text == "0000" || "1901" <= text && text <= "2155")
}

// ignoresCase reports whether the database may hold texts for equal that differ in case. The collations of MySQL do,
// unless their names say otherwise; the one of its tables is not known.
func ignoresCase(c source.ColumnDefinition, of source.Dialect) bool {
	collation := strings.ToLower(c.Collation)
	switch of.Family() {
	case source.MySQL:
		return !strings.HasSuffix(collation, "_bin") && !strings.HasSuffix(collation, "_cs") && collation != "binary"
	case source.SQLite:
		return strings.Contains(collation, "nocase")
	}
	return c.Type == "citext" || strings.HasSuffix(c.Type, ".citext")
}

// hasKey reports whether a column is part of a primary or foreign key of its table, or is unique.
func hasKey(t Table, name string) bool {
	for _, c := range t.Definition.Constraints {
		if c.Kind != source.Check && slices.Contains(c.Columns, name) {
			return true
		}
	}
	return slices.ContainsFunc(t.Definition.Indexes, func(i source.Index) bool {
		return i.Unique && slices.Contains(i.Columns, name)
	})
}

// Unknown names, for people, the columns of which it is not known whether the values of a program fit: those that are
// part of a key or unique, and those of types whose values only the database knows. [Policy.Check] lets them pass.
func (p *Policy) Unknown(tables []Table) (notices []string) {
	if p.IsZero() {
		return nil
	}
	for _, t := range tables {
		rules := p.Of(t.Name)
		for _, name := range rules.masked() {
			c, read := column(t.Columns, name)
			if rules[name].Program() == "" || !read {
				continue
			}
			about := fmt.Sprintf("table %q: it is not known whether the rule %s ", t.Name, rules[name])
			if t.Definition != nil && hasKey(t, name) {
				notices = append(notices, about+fmt.Sprintf("keeps the values of the column %q different, and the "+
					"same for the same one, as a key needs", name))
			}
			switch class := c.Logical.Class; {
			case class == source.UnknownClass && c.Type != "", class == source.EnumClass, class == source.TimeClass,
				class == source.IntervalClass:
				notices = append(notices, about+fmt.Sprintf("gives the column %q values of its type %s", name, c.Type))
			}
		}
	}
	return notices
}
