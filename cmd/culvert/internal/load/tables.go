package load

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/load"
	"culvert/manifest"
	"culvert/sink"
)

// tableFlags say what becomes of tables. They are the same for load and copy.
type tableFlags struct {
	create, truncate, swap, appending, analyze bool
	dryRun, redact                             bool
	conflict                                   string
	key, columns, renames, types               []string
	convert                                    conversions
	lockTimeout                                time.Duration
	sequences, triggers                        string
	isWhole                                    bool // the whole database is made
	pace                                       database.PaceFlags
}

func (f *tableFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.create, "create", false, "make the tables, as they are defined where they come from")
	flags.BoolVar(&f.truncate, "truncate", false, "remove the rows that a table has, in the same transaction")
	flags.BoolVar(&f.swap, "swap", false, "fill a new table, which takes the place of the old one at the end")
	flags.BoolVar(&f.appending, "append", false, "keep the rows that a table has")
	flags.StringVar(&f.conflict, "on-conflict", "fail",
		"treat rows whose key exists by `POLICY`: fail, or ignore or update, which append")
	flags.StringSliceVar(&f.key, "key", nil, "with --on-conflict update, the `COLUMNS` of the key: a,b")
	flags.StringSliceVar(&f.columns, "columns", nil, "read only these `COLUMNS`: a,b,c")
	flags.StringSliceVar(&f.renames, "map", nil, "load the column OLD into the column NEW: `OLD=NEW`; repeatable")
	flags.Var(&f.convert, "convert", "let columns a,b of DEST change values, for example round numbers; "+
		"or convert values: `PATTERN=RULE`; repeatable")
	flags.StringArrayVar(&f.types, "type", nil,
		"with --create, make a column TABLE.COLUMN with another type: `NAME=TYPE`; repeatable")
	flags.DurationVar(&f.lockTimeout, "lock-timeout", 0, "wait for locks of others for at most `TIME` (default 10s)")
	flags.StringVar(&f.sequences, "sequences", "set",
		"set sequences past the rows that came, or leave them: `POLICY` is set or keep")
	flags.StringVar(&f.triggers, "triggers", "on", "let triggers of the tables fire, or not: `on` or off")
	flags.BoolVar(&f.analyze, "analyze", false, "update the statistics of each table")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be done; change nothing")
	flags.BoolVar(&f.redact, "redact-errors", false, "keep values out of errors")
	f.pace.Add(flags, "DEST")
	cmd.MarkFlagsMutuallyExclusive("truncate", "swap", "append", "create")
	cmd.MarkFlagsMutuallyExclusive("on-conflict", "create")
	cmd.MarkFlagsMutuallyExclusive("on-conflict", "swap")
}

// plan checks the flags.
func (f *tableFlags) plan(ctx context.Context, to database.Database, jobs int) (*load.Plan, error) {
	pace, err := f.pace.Pace(to)
	if err != nil {
		return nil, err
	}
	plan := &load.Plan{
		Loaders: jobs, Jobs: jobs, Create: f.create, Columns: f.columns, Analyze: f.analyze,
		Progress: new(load.Progress), Columnar: argument.Columnar, Pace: pace,
		Filling: sink.Filling{Key: f.key, Convert: f.convert.columns, Redact: f.redact, LockTimeout: f.lockTimeout},
	}
	switch {
	case f.truncate:
		plan.Filling.Existing = sink.Truncate
	case f.swap:
		plan.Filling.Existing = sink.Swap
	case f.appending, f.conflict != "fail":
		plan.Filling.Existing = sink.Append
	}
	switch f.conflict {
	case "fail":
	case "ignore":
		plan.Filling.Conflict = sink.Ignore
	case "update":
		plan.Filling.Conflict = sink.Update
	default:
		return nil, command.Usagef("--on-conflict is fail, ignore or update, not %q", f.conflict)
	}
	switch f.triggers {
	case "on":
	case "off":
		plan.Filling.TriggersOff = true
	default:
		return nil, command.Usagef("--triggers is on or off, not %q", f.triggers)
	}
	switch f.sequences {
	case "set":
	case "keep":
		plan.Filling.KeepSequences = true
	default:
		return nil, command.Usagef("--sequences is set or keep, not %q", f.sequences)
	}
	switch {
	case (f.conflict == "update") != (len(f.key) > 0):
		return nil, command.WithHint(command.Usagef("--on-conflict update and --key go together"),
			"name the columns of the key: --on-conflict update --key id")
	case f.lockTimeout < 0:
		return nil, command.Usagef("--lock-timeout is negative")
	}
	if len(f.types) > 0 && !f.create {
		return nil, command.WithHint(command.Usagef("--type is for tables that are made"), "add --create")
	}
	for _, text := range f.types {
		one, err := parseType(text)
		if err != nil {
			return nil, err
		}
		plan.Types = append(plan.Types, one)
	}
	if plan.Conversions, err = f.convert.parse(ctx, to); err != nil {
		return nil, err
	}
	for _, rename := range f.renames {
		from, to, _ := strings.Cut(rename, "=") // a column of SQLite can have an empty name
		if to == "" {
			return nil, command.Usagef("--map is OLD=NEW, not %q", rename)
		}
		if plan.Rename == nil {
			plan.Rename = map[string]string{}
		}
		if plan.Rename[from] != "" {
			return nil, command.Usagef("--map gives the column %q two names", from)
		}
		plan.Rename[from] = to
	}
	return plan, nil
}

// removal is how much longer than others a load may take to end after a signal if it makes tables that others can see:
// sinks remove them for up to 30 seconds.
const removal = 30 * time.Second

// waitForRemoval has the program wait after a signal until the sink has removed a table that it has made.
func (f *tableFlags) waitForRemoval(app *command.App) {
	if f.swap || f.create {
		app.WaitFor(removal)
	}
}

// makes reports whether files of databases may be made.
func (f *tableFlags) makes() bool { return f.create && !f.dryRun }

// target is a table of the command line: TABLE or TABLE=NAME.
type target struct {
	from, to string
	renamed  bool
}

func parseTargets(arguments []string) ([]target, error) {
	var tables []target
	for _, text := range arguments {
		from, to, renamed := strings.Cut(text, "=")
		if !renamed {
			to = from
		}
		if from == "" || to == "" {
			return nil, command.Usagef("%q is not TABLE or TABLE=NAME", text)
		}
		for _, other := range tables {
			if other.from == from || other.to == to {
				return nil, command.Usagef("the table %q is given twice", text)
			}
		}
		tables = append(tables, target{from, to, renamed})
	}
	return tables, nil
}

// otherName says what to do if two tables would become one.
const otherName = "name the tables, and give one of them another name: TABLE=NAME"

// refuseSameNames refuses tables that would become one in a database of an engine. In SQLite, letter case does not
// count.
func refuseSameNames(engine string, tables []target) error {
	first := map[string]target{}
	for _, t := range tables {
		key := t.to
		if engine == "sqlite" {
			key = strings.ToLower(key)
		}
		if other, is := first[key]; is {
			err := command.Usagef("the tables %q and %q would both become %q", other.from, t.from, t.to)
			return command.WithHint(err, otherName)
		}
		first[key] = t
	}
	return nil
}

// ParseNames returns the names that tables have in a database, "" for the usual ones, by those in a manifest, of
// arguments TABLE or TABLE=NAME. It is nil if there are none.
func ParseNames(arguments []string) (map[string]string, error) {
	tables, err := parseTargets(arguments)
	return namesOf(tables), err
}

// namesOf returns the names in the database by those in the manifest; nil stands for all.
func namesOf(tables []target) map[string]string {
	if len(tables) == 0 {
		return nil
	}
	names := map[string]string{}
	for _, t := range tables {
		names[t.from] = ""
		if t.renamed {
			names[t.from] = t.to
		}
	}
	return names
}

// identify returns what tells an export from others in a ledger: a hash of its origin and its files.
func identify(m *manifest.Manifest) string {
	h := sha256.New()
	write := func(texts ...string) {
		for _, text := range texts {
			_, _ = fmt.Fprintf(h, "%d:%s", len(text), text) // a hash returns no error
		}
	}
	write(m.System, m.Database, m.Begun.UTC().Format(time.RFC3339Nano))
	for i := range m.Tables {
		write(m.Tables[i].Name)
		for _, part := range m.Tables[i].Parts {
			write(part.File, part.SHA256)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
