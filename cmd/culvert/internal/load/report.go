package load

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/internal/namepattern"
	"culvert/load"
	"culvert/sink"
	"culvert/sink/dialect"
	"culvert/sink/grammar"
	"culvert/source"
)

// Report is the report of culvert load and culvert copy.
type Report struct {
	command.WorkReport
	Author  string        `json:"author,omitempty"`  // the fingerprint of whoever has signed the export
	Omitted []string      `json:"omitted,omitempty"` // what is in none of all tables
	Schema  *SchemaReport `json:"schema,omitempty"`  // of a whole database
	Tables  []Table       `json:"tables,omitempty"`

	NewColumns []string `json:"new_columns,omitempty"` // of a copy: those that the list of the job does not have
	database.MomentReport
}

// Table says what has become of a table.
type Table struct {
	Name     string   `json:"name"`  // of the table in the export or the source, or of the file
	Table    string   `json:"table"` // in the database
	Rows     int64    `json:"rows"`
	Sum      string   `json:"sum,omitempty"`
	Loaders  int      `json:"loaders,omitempty"`
	Reason   string   `json:"reason,omitempty"` // why no more connections have loaded
	Skipped  int      `json:"skipped_parts,omitempty"`
	Omitted  []string `json:"omitted,omitempty"` // what a table that was made does not have
	Existed  bool     `json:"existed,omitempty"` // it was to be made, and was there already, without rows
	Outside  bool     `json:"outside_snapshot,omitempty"`
	Rejected int64    `json:"rejected,omitempty"`  // rows that were refused, and are in files
	Changed  []string `json:"converted,omitempty"` // columns: the rows of the table have another sum
	Error    string   `json:"error,omitempty"`
}

func (r *Report) add(a *command.App, stats load.Stats, err error) {
	t := Table{
		Name: stats.Name, Table: stats.Table, Rows: stats.Rows, Loaders: stats.Loaders, Reason: stats.Alone,
		Skipped: stats.Skipped, Omitted: stats.Omitted, Existed: stats.Existed, Changed: stats.Changed,
		Rejected: stats.Rejected,
	}
	if stats.Summed {
		t.Sum = stats.Sum.String()
	}
	if err != nil {
		t.Error = a.Secrets.Redact(command.Plain(err))
	}
	r.Tables = append(r.Tables, t)
}

// reportTables reports what has become of each table.
func reportTables(a *command.App, w *command.Work, r *Report, jobs int, all []load.Stats, of int, err error) {
	complete, skipped := 0, 0
	partial := command.Is[*load.PartialError](err)
	var failures []failure
	for _, stats := range all {
		r.add(a, stats, stats.Err)
		skipped += stats.Skipped
		if stats.Err == nil {
			complete++
			if len(stats.Omitted) > 0 && !w.Flags.JSON { // also with --quiet: it is no figure
				a.Console.Print(fmt.Sprintf("%s: made without %s", stats.Name, strings.Join(stats.Omitted, ", ")))
			}
			if stats.Existed && w.WantsSummary() {
				a.Console.Print(stats.Name + ": existed without rows, and was filled as it is")
			}
			continue
		}
		unfinished, _ := errors.AsType[*load.UnfinishedError](stats.Err)
		if (partial || unfinished != nil && !errors.Is(err, unfinished)) && !w.Flags.JSON {
			failures = append(failures, failure{stats.Name, stats.Err})
		}
	}
	reportFailures(a, failures)
	reportLoaders(w, jobs, all)
	r.Tell(w, w.Name)
	reportConversions(w, all)
	w.Summary = ui.Several(int64(of), "table") + ", "
	if complete < of {
		w.Summary = fmt.Sprintf("%d of %s", complete, w.Summary)
	}
	if skipped > 0 {
		w.Summary += fmt.Sprintf("%s loaded before, ", ui.Several(int64(skipped), "part"))
	}
	if err != nil && !partial && complete > 0 && !w.Flags.JSON {
		a.Console.Warn(fmt.Sprintf("%d of %s complete", complete, ui.Several(int64(of), "table")))
	}
}

// reportLoaders says why there were fewer connections than wanted, and each reason once.
func reportLoaders(w *command.Work, jobs int, all []load.Stats) {
	if jobs <= 1 || !w.WantsSummary() {
		return
	}
	said := map[string]bool{"": true}
	for _, stats := range all {
		if stats.Err != nil || said[stats.Alone] {
			continue
		}
		said[stats.Alone] = true
		name, others := stats.Name, -1
		for _, other := range all {
			if other.Err == nil && other.Alone == stats.Alone {
				others++
			}
		}
		if others > 0 {
			name = fmt.Sprintf("%s and %s", name, ui.Several(int64(others), "other"))
		}
		w.App.Console.Print(fmt.Sprintf("%s: loaded by %s: %s", name, ui.Several(int64(stats.Loaders), "connection"),
			stats.Alone))
	}
}

// PlanReport is the report of culvert load --dry-run and culvert copy --dry-run.
type PlanReport struct {
	command.Outcome
	Author  string         `json:"author,omitempty"`  // the fingerprint of whoever has signed the export
	Omitted []string       `json:"omitted,omitempty"` // what is in none of all tables
	Before  []string       `json:"before,omitempty"`  // statements that make a whole database, before the rows
	Tables  []PlannedTable `json:"tables"`
	After   []string       `json:"after,omitempty"` // and those after the rows

	NewColumns []string `json:"new_columns,omitempty"` // of a copy, as above

	json bool // it is printed as JSON
}

// PlannedTable says what would be done to a table.
type PlannedTable struct {
	Table   string   `json:"table"` // in the database
	Exists  bool     `json:"exists"`
	Rows    int64    `json:"rows"` // that it has, about
	Columns []string `json:"columns"`
	Loaders int      `json:"loaders"`
	Reason  string   `json:"reason,omitempty"`
	Omitted []string `json:"omitted,omitempty"` // what a table that is made will not have

	Together []string `json:"together,omitempty"` // the tables that one transaction fills, itself too

	Steps []string `json:"steps"`
	Later []string `json:"later,omitempty"` // foreign keys that would be added after all tables
	Error string   `json:"error,omitempty"` // why it cannot be filled

	name string // in the export or the source
}

func (r *PlanReport) add(p load.Planned) {
	t := PlannedTable{
		Table: p.Table, Exists: p.Exists, Rows: p.Rows, Loaders: p.Loaders, Reason: p.Alone,
		Omitted: p.Omitted, Together: p.Together, name: p.Name, Columns: []string{}, Steps: []string{}, Later: p.Later,
	}
	for _, column := range p.Columns {
		t.Columns = append(t.Columns, column.Name)
	}
	for _, step := range p.Steps {
		t.Steps = append(t.Steps, strings.Join(strings.Fields(step), " "))
	}
	r.Tables = append(r.Tables, t)
}

// othersOf names the tables that are filled in one transaction with a table.
func othersOf(t PlannedTable) string {
	others := slices.DeleteFunc(slices.Clone(t.Together), func(name string) bool { return name == t.name })
	return strings.Join(others, ", ")
}

// Text is what people read.
func (r *PlanReport) Text() string {
	var b strings.Builder
	for _, sql := range r.Before {
		fmt.Fprintf(&b, "%s;\n", ui.Lines(sql))
	}
	for _, t := range r.Tables {
		if t.Error != "" {
			continue // it was reported
		}
		fmt.Fprintf(&b, "%s: %s", ui.Name(t.Table), ui.Several(int64(t.Loaders), "connection"))
		if t.Reason != "" {
			fmt.Fprintf(&b, ": %s", ui.Line(t.Reason))
		}
		if t.Rows > 0 {
			fmt.Fprintf(&b, "; it has about %s", ui.Several(t.Rows, "row"))
		}
		b.WriteByte('\n')
		if len(t.Together) > 1 {
			fmt.Fprintf(&b, "  in one transaction with %s\n", ui.Line(othersOf(t)))
		}
		for _, omitted := range t.Omitted {
			fmt.Fprintf(&b, "  without %s\n", ui.Line(omitted))
		}
		for _, step := range t.Steps {
			fmt.Fprintf(&b, "  %s\n", ui.Line(step))
		}
		for _, later := range t.Later {
			fmt.Fprintf(&b, "  after all tables, the foreign key %s\n", ui.Line(later))
		}
	}
	for _, sql := range r.After {
		fmt.Fprintf(&b, "%s;\n", ui.Lines(sql))
	}
	b.WriteString("nothing was changed\n")
	return b.String()
}

// explain says which file an error is about, and what to try.
func (l *loading) explain(at *argument.Location, err error) error {
	if err == nil || command.Is[*load.PartialError](err) {
		return err
	}
	explained := err
	where, is := errors.AsType[*fs.PathError](err)
	switch {
	case is && at != nil:
		name := where.Path
		if where.Op != "load" { // a file that is open is named by its path in the place
			name = strings.TrimPrefix(name, at.Name+"/")
		}
		explained = argument.ReadError(at.Join(name), where.Err)
	case is:
		explained = argument.ReadError(where.Path, where.Err)
	case errors.Is(err, export.ErrNoManifest):
		return command.WithHint(command.About(l.from, err),
			"an export that was stopped has none: run it again with --force",
			"to load one file: culvert load FILE DEST TABLE")
	case errors.Is(err, export.ErrDamaged):
		explained = command.About(l.from, err)
	}
	explained = l.o.withHints(l.db.Explain(explained))
	if errors.Is(err, sink.ErrLocked) && l.o.swap && l.o.ledger == "" {
		explained = command.WithHint(explained, append(command.HintsOf(explained),
			"run it again with --ledger TABLE: then rows are kept until the table can be swapped")...)
	}
	return explained
}

// conflicts are the codes of databases for a key that exists.
var conflicts = []string{
	"23505", "1062", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_ROWID",
}

// withHints adds what to try.
func (f *tableFlags) withHints(err error) error {
	if command.Is[*load.RejectsError](err) {
		return command.WithHint(err, "nothing of the table is committed; let more rows be refused: --max-rejects N")
	}
	var hints []string
	unknown, isUnknown := errors.AsType[*source.UnknownError](err)
	referenced, isReferenced := errors.AsType[*sink.ReferencedError](err)
	refused, isRow := errors.AsType[*sink.RowError](err)
	unnameable, isName := errors.AsType[*dialect.NameError](err)
	differ, isSum := errors.AsType[*load.SumError](err)
	switch {
	case command.Is[*load.UnfinishedError](err):
		hints = []string{"add them by ALTER TABLE; or, if the load has a ledger, run the same command again"}
	case f.isWhole && (errors.Is(err, sink.ErrNotEmpty) || errors.Is(err, sink.ErrGone) ||
		errors.Is(err, sink.ErrExists) && !isUnknown):
		hints = []string{"a whole database is made where nothing of it is: drop the table, or choose an empty database"}
	case errors.Is(err, sink.ErrNotEmpty):
		hints = []string{"remove its rows in the same transaction: --truncate", "or keep them: --append"}
	case errors.Is(err, sink.ErrGone):
		hints = []string{"remove what is left of them, and load all rows again: --truncate"}
	case isReferenced:
		hints = hintsOfReferenced(referenced)
	case command.Is[*load.SameTargetError](err):
		hints = []string{otherName}
	case command.Is[*load.ConversionError](err):
		hints = []string{"a pattern is column, table.column or schema.table.column: culvert help conversions"}
	case command.Is[*load.HeirsError](err):
		hints = []string{
			"load an export of all tables, with its schema: each has its own rows there: culvert export --all",
			"or remove the rows of the tables that inherit, and load or copy this table without them",
			"or export its own rows alone, --where \"tableoid = 'TABLE'::regclass\", and load them by --append",
		}
	case errors.Is(err, sink.ErrSwap):
		hints = []string{"keep the table, and replace its rows: --truncate"}
	case errors.Is(err, sink.ErrExists) && isUnknown:
		hints = []string{"rename the table, or give it the columns of the rows and run the same command again"}
	case errors.Is(err, sink.ErrExists):
		hints = []string{
			"in place of --create: remove its rows in the same transaction with --truncate, or keep them with --append",
		}
	case command.Is[*dialect.TypeError](err):
		hints = []string{
			"say which type it gets: --type TABLE.COLUMN=TYPE",
			"or make the table yourself, and run the same command again: it fills a table without rows",
		}
	case isName && unnameable.Number == 0:
		hints = []string{"give the table another name: TABLE=NAME"}
	case isName:
		hints = []string{
			"make the table yourself, with another name for the column, and load into it with --map OLD=NEW",
		}
	case errors.Is(err, sink.ErrNeeds):
		hints = []string{"make it first, and run the same command again"}
	case errors.Is(err, sink.ErrBusy):
		hints = []string{"try again when the other load is done"}
	case errors.Is(err, sink.ErrLocked):
		hints = []string{"wait longer: --lock-timeout 5m"}
	case errors.Is(err, sink.ErrUnconfirmed):
		hints = []string{"look into the table before you load again; with --ledger, the ledger knows"}
	case command.Is[*load.MissingTableError](err) && !f.create:
		hints = []string{"to have it made: --create"}
	case isUnknown:
		hints = f.hintsOfUnknown(unknown)
	case errors.Is(err, sink.ErrFull):
		hints = []string{"make room for the database, and run the same command again"}
	case isRow:
		hints = f.hintsOfRow(refused)
	case isSum && differ.Where == "in the table":
		hints = []string{"a trigger may have changed rows, or the type of a column prints values in another way"}
	}
	if hints == nil {
		return err
	}
	return command.WithHint(err, append(command.HintsOf(err), hints...)...)
}

// hintsOfReferenced returns what to try if tables that stay refer to one that is replaced.
func hintsOfReferenced(err *sink.ReferencedError) []string {
	hints := []string{"load the tables that refer to it too, and nothing more is needed: " +
		"all are replaced in one transaction"}
	for _, drop := range err.Drop {
		hints = append(hints, "or remove the foreign key, and add it again after the load: "+drop)
	}
	return append(hints, "or remove the rows of all these tables yourself, and load without --truncate or --swap")
}

// hintsOfUnknown returns what to try if something is not there.
func (f *tableFlags) hintsOfUnknown(unknown *source.UnknownError) []string {
	switch {
	case f.isTyped(unknown.Name):
		return []string{"--type names a column of a table that is made: TABLE.COLUMN=TYPE"}
	case unknown.What != "column":
		return nil
	case slices.Contains(f.convert.columns, unknown.Name):
		return []string{"--convert takes names that columns of DEST have"}
	}
	return []string{"give the column another name with --map OLD=NEW, or choose others with --columns"}
}

// hintsOfRow returns what to try if the database refuses a row.
func (f *tableFlags) hintsOfRow(refused *sink.RowError) []string {
	switch {
	case slices.Contains(conflicts, refused.Code) && (f.create || f.swap):
		return []string{"rows have equal keys: look for them where the rows come from"}
	case slices.Contains(conflicts, refused.Code):
		return []string{
			"leave out rows whose key exists: --on-conflict ignore",
			"or update those: --on-conflict update --key COLUMNS",
		}
	case errors.Is(refused, sink.ErrChanged) && grammar.IsZeroDate([]byte(refused.Value)):
		column := command.ForShell(refused.Column)
		return []string{"load such dates, which only MySQL has, as NULL: --convert " + column}
	case errors.Is(refused, sink.ErrChanged) && strings.Contains(refused.Error(), "no spaces at the end"):
		column := refused.Column
		return []string{
			"take away the spaces around its texts: --convert " + command.ForShell(namepattern.Quote(column)+"=trim"),
			"or let the column change values: --convert " + command.ForShell(column),
		}
	case errors.Is(refused, sink.ErrChanged):
		return []string{"correct it where it comes from; or let the column change values: --convert COLUMN"}
	case refused.Code == "22021" && strings.Contains(refused.Error(), "0x00"):
		return []string{"PostgreSQL has no text with the character NUL: remove it where the rows come from"}
	case refused.Code == "22021":
		return []string{"the file must be UTF-8: iconv -f LATIN1 -t UTF-8 FILE"}
	case refused.Code == "22P05":
		return []string{"the encoding of the database has not all characters of the file: load into one with UTF8"}
	}
	return nil
}
