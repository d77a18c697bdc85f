package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"culvert/export"
	"culvert/format"
	"culvert/internal/ui"
)

const exportHelp = `Export writes the rows of a table, a view or a query to one file: formatted, compressed and
encrypted from the first byte, on all cores, in an amount of memory that does not depend on the number of rows.

` + sourceHelp + `

Without -r, -R or a passphrase the file is encrypted to the own identity, which culvert keygen makes. The file is named
after the table, as orders.csv.zst.age; it appears when it is complete and the database has confirmed the number of
rows. Nothing is overwritten without --force. Stock tools open it too: age -d -i FILE … | zstd -d.

A large table of PostgreSQL is read by several connections, in one snapshot, and its rows come in no order; with
--ordered, and with a query, by one. What only one can read, such as a view, is told with -v or -j.

The formats are csv, with a header, as psql writes it; jsonl, one JSON object a row; and text, one line a row by the
template of --line, in which {name} stands for a column, and \{ for a brace. Without --line all columns
are listed, as {id: 1, title: Pay the rent},.`

const exportExamples = `  culvert export postgres://me@db.example/shop orders
  culvert export shop.db orders -r age1… -f jsonl -o /backup/
  culvert export postgres:service=shop -q 'SELECT id FROM users' -o ids.csv.zst.age
  culvert export todo.db todo -f text --line '{id}: {title}' --no-encrypt -c none -o -`

// exportOptions are the flags of culvert export.
type exportOptions struct {
	workFlags
	recipientFlags
	sourceFlags
	plaintext   bool
	query       string
	format      string
	line        string
	invalidUTF8 string
	compression string
	output      string
	force       bool
	ordered     bool
}

func (a *app) newExport() *cobra.Command {
	o := &exportOptions{}
	cmd := &cobra.Command{
		Use:     "export SOURCE TABLE | SOURCE -q SQL",
		Short:   "Export a table or a query, encrypted",
		Long:    exportHelp + jsonHelp("rows, "+workFields+" bytes_in counts the text\nof the rows.") + exitHelp,
		Example: exportExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &workReport{}
			return a.perform(cmd, &o.workFlags, r, func(ctx context.Context, w *work) error {
				return a.export(ctx, w, r, o, args)
			})
		},
	}
	o.recipientFlags.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&o.plaintext, "no-encrypt", false, "do not encrypt")
	flags.StringVarP(&o.query, "query", "q", "", "export the rows of the statement `SQL` in place of a table")
	flags.StringVarP(&o.format, "format", "f", "csv", "write `FORMAT`: csv, jsonl or text")
	flags.StringVar(&o.line, "line", "", "with -f text: the `TEMPLATE` of a row (default: all columns)")
	flags.StringVar(&o.invalidUTF8, "invalid-utf8", "error",
		"with -f jsonl: the `POLICY` for text that is not UTF-8: error, replace or base64")
	flags.StringVarP(&o.compression, "compress", "c", "zstd", "compress with `CODEC`: zstd, gzip or none")
	flags.VarP((*notEmpty)(&o.output), "output", "o", "write to `FILE`, into a directory, or to standard output if -")
	flags.BoolVar(&o.force, "force", false, "overwrite the output if it exists; write binary data to a terminal")
	flags.Var((*notEmpty)(&o.sourceFlags.file), "dsn-file", "read SOURCE from the first line of `FILE`")
	flags.BoolVar(&o.insecure, "insecure-dsn", false, "allow a password in SOURCE")
	flags.BoolVar(&o.ordered, "ordered", false, "keep the rows in the order of the table, with one connection")
	o.workFlags.add(cmd, "j")
	flags.Lookup("jobs").Usage = "work on `N` cores, with up to N connections to PostgreSQL (default: all)"
	for flag, values := range map[string][]string{
		"format": formats, "compress": compressions, "invalid-utf8": slices.Sorted(maps.Keys(invalidUTF8Policies)),
	} {
		completion := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
		if err := cmd.RegisterFlagCompletionFunc(flag, completion); err != nil {
			panic(err) // there is no such flag
		}
	}
	return cmd
}

func (a *app) export(ctx context.Context, w *work, r *workReport, o *exportOptions, args []string) (err error) {
	progress := new(export.Progress)
	w.figures = func() ui.Figures {
		return ui.Figures{Rows: progress.Rows.Load(), In: progress.Text.Load(), Out: progress.Out.Load()}
	}
	db, args, err := o.sourceFlags.parse(a, args)
	if err != nil {
		return err
	}
	table, err := o.table(args)
	if err != nil {
		return err
	}
	plan, err := o.plan()
	if err != nil {
		return err
	}
	plan.Progress = progress
	path := outputPath(o.output, table, plan.Extension())
	if err := w.outputTo(r, path, o.force, o.recipientFlags.inputs(), o.sourceFlags.inputs(db)); err != nil {
		return err
	}
	if path == "-" && ui.IsTerminal(a.stdout) && !o.force && plan.Extension() != plan.Format.Extension() {
		return withHint(errBinary, "to look at the rows: --no-encrypt -c none", "force it with --force")
	}
	if !o.plaintext {
		if plan.Recipients, err = o.recipientFlags.read(ctx, a, nil); err != nil {
			return err
		}
	}

	src, err := db.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	out, err := a.openSink(path, o.force)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.discard()) }()
	w.begin()
	var stats export.Stats
	if o.query != "" {
		stats, err = plan.Query(ctx, out, src, o.query)
	} else {
		stats, err = plan.Table(ctx, out, src, table)
	}
	if err != nil {
		return db.explain(err)
	}
	if alone := stats.Indivisible; alone != nil && (o.verbose || o.jobs > 1) && !o.quiet && !o.json {
		a.console.Print(w.name + ": read with one connection, since " + alone.Reason)
	}
	return out.commit()
}

// table gives the one table that is to be exported, or "" for a query.
func (o *exportOptions) table(args []string) (string, error) {
	hint := "usage: culvert export SOURCE TABLE, or culvert export SOURCE -q SQL"
	switch {
	case o.query != "" && len(args) > 0:
		return "", withHint(usagef("both a query and the table %q are given", args[0]), hint)
	case o.query != "":
		return "", nil
	case len(args) == 0 || args[0] == "":
		return "", withHint(usagef("there is no TABLE"), hint)
	case len(args) > 1:
		return "", withHint(usagef("%d tables are given: only one can be exported at a time", len(args)), hint)
	}
	return args[0], nil
}

var (
	formats             = []string{"csv", "jsonl", "text"}
	compressions        = []string{export.Zstd.String(), export.Gzip.String(), export.None.String()}
	invalidUTF8Policies = map[string]format.InvalidUTF8{
		"error":   format.ErrorOnInvalid,
		"replace": format.ReplaceInvalid,
		"base64":  format.Base64Invalid,
	}
)

// plan checks the flags that say how to export. Recipients are still missing from it.
func (o *exportOptions) plan() (*export.Plan, error) {
	plan := &export.Plan{Jobs: o.jobs, Ordered: o.ordered, Unencrypted: o.plaintext}
	if o.plaintext && (o.named() || o.prompt || o.passphraseFlags.given()) {
		return nil, usagef("--no-encrypt cannot be combined with recipients or a passphrase")
	}
	var err error
	if plan.Compression, err = export.ParseCompression(o.compression); err != nil {
		return nil, badValue("--compress", o.compression, compressions)
	}
	switch {
	case o.line != "" && o.format != "text":
		return nil, withHint(usagef("--line is the template of -f text, not of -f %s", o.format), "add: -f text")
	case o.invalidUTF8 != "error" && o.format != "jsonl":
		return nil, usagef("--invalid-utf8 has a meaning for -f jsonl only: other formats keep all bytes as they are")
	}
	switch o.format {
	case "csv":
		plan.Format = format.CSV{}
	case "jsonl":
		policy, found := invalidUTF8Policies[o.invalidUTF8]
		if !found {
			return nil, badValue("--invalid-utf8", o.invalidUTF8, slices.Sorted(maps.Keys(invalidUTF8Policies)))
		}
		plan.Format = format.JSONL{InvalidUTF8: policy}
	case "text":
		plan.Format = format.Text{Line: o.line}
	default:
		return nil, badValue("--format", o.format, formats)
	}
	return plan, nil
}

// badValue explains a value of a flag that has only some.
func badValue(flag, value string, known []string) error {
	hint := fmt.Sprintf("%s is one of: %s", flag, strings.Join(known, ", "))
	if near := ui.Nearest(value, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return withHint(usagef("%s cannot be %q", flag, value), hint)
}

// outputPath is where an export goes: to the file that is named, into the directory that is named, or else into the
// working directory.
func outputPath(output, table, extension string) string {
	name := "query"
	if table != "" {
		name = fileName(table)
	}
	name += extension
	if output == "" {
		return name
	}
	if info, err := os.Stat(output); (err == nil && info.IsDir()) || os.IsPathSeparator(output[len(output)-1]) {
		return filepath.Join(output, name)
	}
	return output
}

// fileName makes a file name of the name of a table. What a file system might refuse, or take for something else,
// becomes an underscore; quotes around a name are dropped.
func fileName(table string) string {
	const longest = 150
	name := strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return -1
		case unicode.IsControl(r), r == unicode.ReplacementChar, strings.ContainsRune(`/\:*?<>|`, r):
			return '_'
		}
		return r
	}, table)
	if name == "" || strings.ContainsRune(".-~ ", rune(name[0])) {
		name = "_" + strings.TrimLeft(name, ".-~ ")
	}
	return strings.ToValidUTF8(name[:min(len(name), longest)], "")
}
