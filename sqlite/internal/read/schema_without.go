package read

import (
	"context"
	"fmt"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// made is a statement of the schema.
type made struct {
	Name  string `json:"name"`
	Table string `json:"table"` // of a trigger
	SQL   string `json:"sql"`
}

// madeSQL returns the statements of a kind in the order in which they were run.
const madeSQL = `SELECT json_object('name', name, 'table', tbl_name, 'sql', sql) FROM main.sqlite_schema
	WHERE type = ? ORDER BY rowid`

// viewsAndTriggers returns what makes these, except those that need tables that are left out, which the schema lacks.
func (db *DB) viewsAndTriggers(ctx context.Context, without []source.TableName, s *source.Schema) (
	views, triggers []string, err error,
) {
	gone := map[string]bool{}
	for _, t := range without {
		gone[lower(t.Name)] = true
	}
	found, err := read[made](ctx, db, madeSQL, "view")
	if err != nil {
		return nil, nil, err
	}
	for changed := true; changed; { // a view may be made before the ones that it reads
		changed = false
		for _, view := range found {
			if !gone[lower(view.Name)] && names(view.SQL, gone) {
				gone[lower(view.Name)], changed = true, true
				s.Lacks = append(s.Lacks, fmt.Sprintf("the view %q, which names a table that is left out", view.Name))
			}
		}
	}
	for _, view := range found {
		if !gone[lower(view.Name)] {
			views = append(views, view.SQL)
		}
	}
	if found, err = read[made](ctx, db, madeSQL, "trigger"); err != nil {
		return nil, nil, err
	}
	for _, trigger := range found {
		if gone[lower(trigger.Table)] {
			s.Lacks = append(s.Lacks, fmt.Sprintf("the trigger %q of the table %q, which is left out", trigger.Name,
				trigger.Table))
			continue
		}
		triggers = append(triggers, trigger.SQL)
	}
	return views, triggers, nil
}

// word matches a name or a text. SQLite takes texts for names where only a name can be.
var word = lazyregexp.New("(?s)'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"|`((?:[^`]|``)*)`|\\[([^\\]]*)\\]|" +
	"([\\pL_][\\pL\\pN_$]*)")

// names reports whether a statement has one of some names in it, in lower case, whatever it stands for there.
func names(sql string, some map[string]bool) bool {
	if len(some) == 0 {
		return false
	}
	for _, match := range word.FindAllStringSubmatch(sql, -1) {
		for _, name := range match[1:] {
			if name != "" && some[lower(name)] {
				return true
			}
		}
	}
	return false
}
