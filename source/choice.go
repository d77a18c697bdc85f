package source

import (
	"slices"
	"strings"
)

// Choice says what is meant of a table. The zero value is all of it.
type Choice struct {
	Selection Selection `json:"selection"`

	// NoRows leaves out the rows: only the definition is meant.
	NoRows bool `json:"no_rows,omitempty"`

	// WithoutKeys are foreign keys that the definition does not keep, since what they refer to is not there.
	WithoutKeys []Constraint `json:"without_keys,omitempty"`
}

// Define returns the definition of the table without its WithoutKeys, which may be the same. The statement Create of
// MySQL and MariaDB loses them too. That of SQLite keeps them: it makes a table that refers to another one, whether
// that is there or not. They are in Lacks in any case: of SQLite, what they refer to is.
func (c *Choice) Define(d *Definition) *Definition {
	if d == nil || len(c.WithoutKeys) == 0 {
		return d
	}
	fewer := *d
	fewer.Lacks = slices.Clip(d.Lacks)
	isWithout := func(one Constraint) bool {
		return slices.ContainsFunc(c.WithoutKeys, func(key Constraint) bool {
			return one.Kind == ForeignKey && one.Name == key.Name && one.Definition == key.Definition
		})
	}
	fewer.Constraints = slices.DeleteFunc(slices.Clone(d.Constraints), func(one Constraint) bool {
		if !isWithout(one) {
			return false
		}
		if d.Dialect == SQLite {
			fewer.Lacks = append(fewer.Lacks, "some or all that "+one.describe()+" refers to")
			return true
		}
		fewer.Lacks = append(fewer.Lacks, one.describe())
		if d.Dialect.Family() == MySQL {
			clause := ",\n  CONSTRAINT `" + strings.ReplaceAll(one.Name, "`", "``") + "` " + one.Definition
			fewer.Create = strings.Replace(fewer.Create, clause, "", 1)
		}
		return true
	})
	return &fewer
}

// describe names a foreign key, for people.
func (c *Constraint) describe() string {
	if c.Name == "" {
		return "the foreign key (" + strings.Join(c.Columns, ", ") + ")"
	}
	return `the foreign key "` + c.Name + `"`
}
