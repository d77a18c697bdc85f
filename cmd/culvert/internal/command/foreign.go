package command

import (
	"slices"

	"github.com/spf13/cobra"
)

// foreignVerbs says what stands here for the verbs of pg_dump, restic and their like.
var foreignVerbs = map[string]string{
	"backup":  "tables of a database: culvert export; files: culvert push",
	"check":   "files and exports: culvert verify; logs: culvert wal verify; job files: culvert job check",
	"dump":    "tables of a database: culvert export",
	"forget":  "old exports: culvert prune",
	"import":  "into the tables of a database: culvert load",
	"init":    "nothing has to be made first but an identity: culvert keygen",
	"list":    "tables: culvert tables; files of servers and buckets: culvert ls; exports by workers: culvert jobs",
	"restore": "into the tables of a database: culvert load; files: culvert pull",
}

// foreignFlags says what stands here for the flags of other programs, by the name or letter and the verbs that lack it.
var foreignFlags = []struct {
	names, verbs []string
	hint         string
}{
	{
		[]string{"exclude-table", "T"},
		[]string{"export", "copy"},
		"leave tables out by patterns: --exclude PATTERN, or only their rows: --exclude-rows PATTERN",
	},
	{
		[]string{"no-data", "s"},
		[]string{"export", "copy", "load"},
		"to make a whole database without its rows: --schema-only",
	},
	{[]string{"data-only", "a"}, []string{"copy"}, "only rows are copied, unless --create is given"},
	{[]string{"n"}, []string{"export"}, "all tables of a schema: --schema SCHEMA; to write nothing: --dry-run"},
	{[]string{"n"}, []string{"load", "copy"}, "to change nothing: --dry-run"},
	{
		[]string{"no-owner", "no-privileges", "no-acl", "O", "x"},
		[]string{"export", "load", "copy"},
		"owners and privileges only come along if --grants is given",
	},
	{[]string{"clean", "if-exists"}, []string{"load", "copy"}, "to replace the rows of a table: --truncate, or --swap"},
	{[]string{"table", "t"}, []string{"export", "load", "copy"}, "tables are arguments, without a flag"},
	{
		[]string{"host", "port", "p", "dbname", "d", "username", "user", "U"},
		[]string{"export", "load", "copy"},
		"a database is one argument, such as postgres://USER@HOST/DATABASE",
	},
	{
		[]string{"password", "no-password", "W", "w"},
		[]string{"export", "load", "copy"},
		"passwords come from the terminal, ~/.pgpass or the environment; see: culvert help environment",
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
