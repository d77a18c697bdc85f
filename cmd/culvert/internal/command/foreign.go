package command

import (
	"slices"

	"github.com/spf13/cobra"
)

// foreignVerbs says what stands here for the verbs of pg_dump, restic and their like.
var foreignVerbs = map[string]string{
	"backup":  "tables of a database: culvert export; files: culvert push",
	"dump":    "tables of a database: culvert export",
	"import":  "into the tables of a database: culvert load",
	"list":    "tables: culvert tables; files of servers and buckets: culvert ls; exports by workers: culvert jobs",
	"restore": "into the tables of a database: culvert load; files: culvert pull",
}

// foreignFlags says what stands here for the flags of other programs, by the name and the verbs that lack it.
var foreignFlags = []struct {
	names, verbs []string
	hint         string
}{
	{
		[]string{"exclude-table"},
		[]string{"export", "copy"},
		"leave tables out by patterns: --exclude PATTERN, or only their rows: --exclude-rows PATTERN",
	},
	{
		[]string{"no-data"},
		[]string{"export", "copy", "load"},
		"to make a whole database without its rows: --schema-only",
	},
	{[]string{"data-only"}, []string{"copy"}, "only rows are copied, unless --create is given"},
	{[]string{"clean"}, []string{"load", "copy"}, "to replace the rows of a table: --truncate, or --swap"},
	{[]string{"table"}, []string{"export", "load", "copy"}, "tables are arguments, without a flag"},
	{
		[]string{"host", "port", "dbname", "username", "user"},
		[]string{"export", "load", "copy"},
		"a database is one argument, such as postgres://USER@HOST/DATABASE",
	},
}

// HintOfForeignFlag says what to do in place of a flag that other programs have, or nothing.
func HintOfForeignFlag(cmd *cobra.Command, name string) string {
	for _, foreign := range foreignFlags {
		if slices.Contains(foreign.verbs, cmd.Name()) && slices.Contains(foreign.names, name) {
			return foreign.hint
		}
	}
	return ""
}
