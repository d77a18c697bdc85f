package load

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/load"
	"culvert/manifest"
	"culvert/place"
	"culvert/sink"
)

// rejectFlags say where rows go that are refused, and to whom they are encrypted.
type rejectFlags struct {
	output command.NotEmpty
	most   int64
	to     command.RecipientFlags // without its passphrases, which are for what is read
	plain  bool
}

func (f *rejectFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(&f.output, "reject", "write rows that are refused to `FILE`, and load the others")
	flags.Int64Var(&f.most, "max-rejects", load.DefaultRejects, "with --reject, fail if more than `N` rows are refused")
	f.to.NamedRecipients.Add(cmd, "encrypt the rows of --reject to")
	flags.BoolVar(&f.plain, "no-encrypt", false, "do not encrypt the rows of --reject")
}

// check refuses flags without the one that they are about. A job file may have them for its export.
func (f *rejectFlags) check(cmd *cobra.Command) error {
	flags := cmd.Flags()
	if flags.Changed("reject") || flags.Changed("job") {
		return nil
	}
	for _, name := range []string{"max-rejects", "recipient", "recipients-file", "no-encrypt"} {
		if flags.Changed(name) {
			return command.WithHint(command.Usagef("--%s is about rows that are refused", name),
				"say where they go: --reject FILE")
		}
	}
	return nil
}

func (f *rejectFlags) given() bool { return f.output != "" }

// rejecting is where rejected rows go.
type rejecting struct {
	flags      *rejectFlags
	recipients []age.Recipient // none if the rows are not encrypted
	at         *argument.Location
	to         place.Place
	name       func(part, into string) string
	replaces   bool

	mu   sync.Mutex
	left map[string]map[string][]string // by directory and name: see [rejecting.sweep]
}

// reject has the plan reject rows, if the flags say so. They go to a file, or, if there are names for the files or the
// tables that rows come from, to a file in a directory for each of them. The function that it returns takes the error
// of the load.
func (r *work) reject(
	ctx context.Context, f *rejectFlags, places *argument.PlaceFlags, names func(part string) string,
) (done func(error) error, err error) {
	if !f.given() {
		return func(err error) error { return err }, nil
	}
	rejects := &rejecting{flags: f, left: map[string]map[string][]string{}}
	switch {
	case f.most < 0:
		return nil, command.Usagef("--max-rejects is negative")
	case f.plain && f.to.Named():
		return nil, command.Usagef("--no-encrypt cannot be combined with recipients")
	case r.plan.SchemaOnly:
		return nil, command.Usagef("--schema-only moves no rows, so none can be rejected")
	case r.plan.Filling.Conflict != sink.Fail:
		return nil, command.WithHint(command.Usagef("--on-conflict adds rows together at the end, when none can be "+
			"rejected by itself"),
			"leave --on-conflict out, and add --append: then rows whose key exists are rejected too",
			"or fill a table of its own with --reject, and move its rows by INSERT ... ON CONFLICT")
	case !f.plain:
		if rejects.recipients, err = f.to.Read(ctx, r.a, nil); err != nil {
			return nil, err
		}
	}
	if names != nil {
		err = rejects.intoDirectory(ctx, r, places, names)
	} else {
		err = rejects.intoFile(ctx, r, places)
	}
	if err != nil {
		return nil, err
	}
	r.plan.Rejects = &load.Rejects{Most: f.most, Create: rejects.create, Remove: rejects.remove}
	if f.most == 0 {
		r.plan.Rejects.Most = -1
	}
	return rejects.at.Close, nil
}

// refuseWhole refuses to reject rows of a whole database.
func (f *rejectFlags) refuseWhole() error {
	if !f.given() {
		return nil
	}
	return command.WithHint(
		command.Usagef("--reject cannot make a whole database, whose keys and checks come after all rows"),
		"make it with --schema-only, and then fill its tables without --create", "or name the tables")
}

// intoFile has the rows go to a file.
func (r *rejecting) intoFile(ctx context.Context, w *work, places *argument.PlaceFlags) (err error) {
	output := string(r.flags.output)
	name := output
	if argument.IsURL(output) {
		name, _, _ = strings.Cut(output, "?") // the address of a store, such as its endpoint
	} else if err := argument.CheckOutput(output, false); err != nil {
		return command.WithHint(err, "name another file for the rows that are refused: --reject FILE")
	}
	switch isAge := strings.HasSuffix(name, ".age"); {
	case isAge && r.flags.plain:
		return command.Usagef("--no-encrypt contradicts the name %q", name)
	case !isAge && !r.flags.plain:
		return command.WithHint(command.Usagef("the rows in %q would be encrypted, which its name does not say", name),
			"name it so: --reject "+command.ForShell(name)+".age", "or do not encrypt them: --no-encrypt")
	}
	if _, r.at, err = argument.Locate(ctx, w.a, output, places); err != nil {
		return err
	}
	r.to, r.name = r.at.Place, func(string, string) string { return r.at.Name }
	return nil
}

// intoDirectory has the rows go to files of a directory. With a ledger, these also have digits, which are others for
// each export, ledger and table that is filled: a file is replaced only by the load that has written it.
func (r *rejecting) intoDirectory(
	ctx context.Context, w *work, places *argument.PlaceFlags, names func(part string) string,
) (err error) {
	output := string(r.flags.output)
	if !argument.IsURL(output) && !argument.IsDirectory(output) {
		err := command.Usagef("--reject %s is no directory: each file of an export, and each of several tables, has a "+
			"file of its own for the rows that are refused", output)
		return command.WithHint(err, command.HintToMake(output))
	}
	if _, r.at, err = argument.Locate(ctx, w.a, output, places); err != nil {
		return err
	}
	if r.to, err = r.at.Directory(); err != nil {
		return r.at.Close(err)
	}
	extension := ".rejected.csv"
	if !r.flags.plain {
		extension += ".age"
	}
	ledger := w.plan.Filling.Ledger
	r.replaces = ledger != nil
	r.name = func(part, into string) string {
		name := names(part)
		if r.replaces {
			name += "-" + digits(ledger.Load, ledger.Table, into)
		}
		return name + extension
	}
	return nil
}

// digits returns twelve that tell texts from others.
func digits(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(text), text) // a hash returns no error
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// withoutExtensions returns the name of a file of an export without what its format, compression and encryption have
// added. Those of all files of an export are the same, so names stay different, also if tables have dots in theirs.
func withoutExtensions(part string) string {
	formats := []string{".csv", ".jsonl", ".parquet", ".arrow", ".arrows"}
	for _, extensions := range [][]string{{".age"}, {".zst", ".gz"}, formats} {
		for _, extension := range extensions {
			if rest, found := strings.CutSuffix(part, extension); found {
				part = rest
				break
			}
		}
	}
	return part
}

// rejectOf has the plan reject rows of tables.
func (c *copying) rejectOf(ctx context.Context, tables []load.Names) (done func(error) error, err error) {
	if c.schema != nil {
		if err := c.o.reject.refuseWhole(); err != nil {
			return nil, err
		}
	}
	var names func(string) string
	if c.o.all || len(tables) > 1 {
		names = tableFiles(tables)
	}
	return c.work.reject(ctx, &c.o.reject, &c.o.places, names)
}

// tableFiles returns the name of the file for the rejected rows of each table that is copied, without its extension.
func tableFiles(tables []load.Names) func(table string) string {
	from := make([]string, len(tables))
	for i, t := range tables {
		from[i] = t.From
	}
	names := map[string]string{}
	for i, file := range manifest.FileNames(from, "") {
		names[from[i]] = file
	}
	return func(table string) string { return names[table] }
}

// reportRejects says how many rows are rejected. That is an error of its own, which it reports, if there is no other.
func (r *work) reportRejects(f *rejectFlags, all []load.Stats, err error) error {
	rows := int64(0)
	for _, stats := range all {
		rows += stats.Rejected
	}
	if rows == 0 {
		return err
	}
	refused := fmt.Errorf("%s refused, in %s", ui.Several(rows, "row"), ui.Name(string(f.output)))
	if !f.given() {
		refused = fmt.Errorf("%s refused when this load was begun with --reject", ui.Several(rows, "row"))
	}
	if !r.w.Flags.JSON {
		r.a.Console.Warn(refused.Error())
		r.a.Console.Hint("the others are loaded; to mend and load these too: culvert help rejects")
	}
	if err == nil {
		err = command.Incomplete(refused)
	}
	return err
}
