package read

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"culvert/source"
)

// Origins returns, for the table with the content of an FTS3 or FTS4 table, of which column each of its columns has the
// values: the module puts a number before their names. Other tables have none, and those of views are not known.
func (db *DB) Origins(ctx context.Context, name string) (_ map[string][]source.Origin, err error) {
	defer db.catch(&err)
	table, err := db.find(ctx, name)
	if err != nil {
		return nil, err
	}
	all, err := db.virtuals(ctx)
	i := slices.IndexFunc(all, func(v *virtual) bool {
		return (v.module == "fts3" || v.module == "fts4") && sameName(table, v.name+"_content")
	})
	if err != nil || i < 0 {
		return nil, err
	}
	columns, err := read[source.ColumnDefinition](ctx, db, columnDefinitionsSQL, table)
	origins := map[string][]source.Origin{}
	for at, c := range columns {
		if own, is := strings.CutPrefix(c.Name, fmt.Sprintf("c%d", at-1)); is { // the docid is before them
			of := source.ColumnName{Table: source.TableName{Name: all[i].name}, Column: own}
			origins[c.Name] = []source.Origin{{ColumnName: of}}
		}
	}
	return origins, err
}
