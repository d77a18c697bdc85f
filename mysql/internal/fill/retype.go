package fill

import (
	"fmt"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/mysql/internal/catalog"
	"culvert/source"
)

// isRetyped reports whether columns have other types than where they come from, by the will of the user.
func isRetyped(d *source.Definition) bool {
	return slices.ContainsFunc(d.Columns, func(c source.ColumnDefinition) bool { return c.As != "" })
}

// ofText matches what follows the type of a text alone.
var ofText = lazyregexp.New("^(?: CHARACTER SET [0-9A-Za-z_]+)?(?: COLLATE [0-9A-Za-z_]+)?")

// retyped returns a definition of which the statement has the types that the user wants. One that was translated has
// them already.
func retyped(d *source.Definition) (*source.Definition, error) {
	made := *d
	for _, c := range d.Columns {
		if c.As == "" {
			continue
		}
		begin := "\n  " + catalog.Quote(c.Name) + " "
		before, rest, found := strings.Cut(made.Create, begin)
		if found {
			rest, found = strings.CutPrefix(rest, c.Type)
		}
		if !found {
			return nil, fmt.Errorf("mysql: the type %s of column %q is not in the statement that makes the table",
				c.Type, c.Name)
		}
		made.Create = before + begin + c.As + ofText.ReplaceAllString(rest, "")
	}
	return &made, nil
}
