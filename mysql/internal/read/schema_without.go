package read

import (
	"slices"

	"culvert/source"
)

// leaveOut removes the tables that a schema is without, and the views that read them.
func (r *schemaReading) leaveOut(without []source.TableName, tables, views []string) (left, made []string, err error) {
	if len(without) == 0 {
		return tables, views, nil
	}
	r.without = map[string]bool{}
	for _, t := range without {
		if sameName(t.Schema, r.Database, r.FoldCase) {
			r.without[t.Name] = true
		}
	}
	texts := map[string][]string{}
	for _, name := range views {
		found, err := r.showView(name)
		if err != nil {
			return nil, nil, err
		}
		if found != nil {
			texts[name] = tokensOf(found[1])
		}
	}
	for changed := true; changed; {
		changed = false
		for _, name := range views {
			if !r.without[name] && r.reads(texts[name]) {
				r.without[name], changed = true, true
				r.lack("the view %q, which needs a table that is left out", name)
			}
		}
	}
	isWithout := func(name string) bool { return r.without[name] }
	return slices.DeleteFunc(tables, isWithout), slices.DeleteFunc(views, isWithout), nil
}

// reads reports whether a statement names a table or a view that is left out where it says what it reads.
func (r *schemaReading) reads(tokens []string) bool {
	for i, token := range tokens {
		if token[0] != '`' || !r.without[unquoted(token)] {
			continue
		}
		begin := i
		if i >= 2 && tokens[i-1] == "." {
			begin = i - 2 // with its database
		}
		if isPlaceOfTable(tokens[:begin]) {
			return true
		}
	}
	return false
}
