package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"filippo.io/age"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/manifest"
	"culvert/source"
)

// PlanReport is the report of culvert export --dry-run.
type PlanReport struct {
	command.Outcome
	Output     string         `json:"output,omitempty"`  // the file or the directory; "-" is standard output
	Omitted    []string       `json:"omitted,omitempty"` // what is left out
	Schema     *schemaReport  `json:"schema,omitempty"`  // of the whole database
	Tables     []plannedTable `json:"tables"`
	Recipients []string       `json:"recipients"` // empty if the output would not be encrypted

	NewColumns []string `json:"new_columns,omitempty"` // those that the list of the job does not have

	several bool // Output is the directory of the files
}

// plannedTable says how a table would be exported.
type plannedTable struct {
	Name    string          `json:"name"`
	File    string          `json:"file"` // in the directory, if there are several tables
	Columns []source.Column `json:"columns"`
	Rows    int64           `json:"rows"`            // about; 0 if not known
	Bytes   int64           `json:"bytes"`           // about, as the database keeps or sends them; 0 if not known
	Parts   int             `json:"parts,omitempty"` // files, if File is the directory of parts
	Ranges  int             `json:"ranges,omitempty"`
	Readers int             `json:"readers,omitempty"`
	Reason  string          `json:"reason,omitempty"`  // why only one reads
	Where   string          `json:"where,omitempty"`   // the condition that its rows meet
	Defined bool            `json:"defined,omitempty"` // only the definition is exported
	Error   string          `json:"error,omitempty"`

	Masks []manifest.Mask `json:"masks,omitempty"`

	workers bool // it is read by workers, whose number nobody knows
}

// dryRun does what export does before it writes.
func dryRun(ctx context.Context, a *command.App, r *PlanReport, o *options, args []string) (err error) {
	r.Tables, r.Recipients = []plannedTable{}, []string{}
	if err := o.Check(); err != nil {
		return err
	}
	e, err := o.request(a, args)
	if err == nil {
		err = e.expandOutput(ctx)
	}
	if err != nil {
		return err
	}
	if r.Recipients, err = o.describeRecipients(ctx, a); err != nil {
		return err
	}
	src, err := e.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	r.several = o.several(e.names)
	if r.Omitted, err = e.lookUp(ctx, a, src, e.readSchema); err != nil {
		return err
	}
	r.Schema = reportOf(e.plan.Schema)
	files, err := e.planOutput(ctx, a, src, r)
	if err != nil {
		return e.db.Explain(err)
	}
	failed := 0
	for i, name := range e.names {
		estimate, err := e.plan.Estimate(ctx, src, name)
		if err != nil && (!r.several || ctx.Err() != nil || errors.Is(err, source.ErrUnavailable) ||
			command.Is[*source.UnknownError](err)) {
			return e.db.Explain(err)
		}
		if err != nil {
			failed++
		}
		t := o.newPlannedTable(name, files[i], &estimate, err)
		t.Masks = rulesOf(e.plan.Masks, name)
		t.Where = e.plan.Choices[name].Selection.Where
		r.Tables = append(r.Tables, t)
	}
	if failed > 0 {
		return &export.PartialError{Failed: failed, Tables: len(e.names)}
	}
	return nil
}

// planOutput finds out where the files would go, and refuses a place that export would refuse.
func (e *request) planOutput(
	ctx context.Context, a *command.App, src source.Source, r *PlanReport,
) (files []string, err error) {
	o, extension := e.options, e.plan.Extension()
	if r.several {
		if r.Output, err = o.directory(ctx, src); err != nil {
			return nil, err
		}
		_, l, err := newDirectory(ctx, a, r.Output, o)
		if err != nil {
			return nil, err
		}
		if o.parted() {
			extension = "" // of the directories
		}
		return manifest.FileNames(e.names, extension), l.Close(nil)
	}
	r.Output, err = outputPath(ctx, a, o, e.names[0], extension)
	if err == nil && r.Output != "-" && !argument.IsURL(r.Output) {
		err = argument.CheckOutput(r.Output, o.force)
	}
	return []string{r.Output}, err
}

func (o *options) newPlannedTable(name, file string, e *export.Estimate, err error) plannedTable {
	t := plannedTable{
		Name: name, File: file, Columns: []source.Column{}, Parts: len(e.Parts),
		Rows: e.Size.Rows, Bytes: e.Size.Bytes, Ranges: e.Ranges, Readers: e.Readers,
	}
	if t.Parts > 0 {
		t.Ranges = 0
	}
	if e.Defined {
		t.Defined, t.File, t.Rows, t.Bytes = true, "", 0, 0
	}
	switch {
	case t.Parts > 0 && o.shared.Elsewhere():
		t.workers, t.Readers = true, 0
	case t.Parts > 0 && o.shared.workers > 0:
		t.Readers = min(o.shared.workers, t.Parts)
	}
	t.Columns = append(t.Columns, e.Columns...)
	if e.Indivisible != nil {
		t.Reason = e.Indivisible.Reason
	}
	if err != nil {
		t.Error = command.Plain(err)
	}
	return t
}

// describeRecipients names those who could read the output. Nobody is asked for a passphrase.
func (o *options) describeRecipients(ctx context.Context, a *command.App) ([]string, error) {
	switch {
	case o.plaintext:
		return []string{}, nil
	case o.Prompt || o.PassphraseFlags.Given():
		return []string{"a passphrase"}, nil
	}
	recipients, err := o.RecipientFlags.Read(ctx, a, nil)
	names := make([]string, len(recipients))
	for i, recipient := range recipients {
		names[i] = describeRecipient(recipient)
	}
	return names, err
}

// describeRecipient is the public key of a recipient, or of a long one its beginning; or the kind of one that does not
// say.
func describeRecipient(recipient age.Recipient) string {
	const longest = 80
	stringer, ok := recipient.(fmt.Stringer)
	if !ok {
		return strings.TrimPrefix(fmt.Sprintf("%T", recipient), "*")
	}
	text := stringer.String()
	if len(text) > longest {
		text = text[:longest-3] + "…"
	}
	return text
}

// Text implements [command.Report].
func (r *PlanReport) Text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(cells ...string) {
		_, _ = io.WriteString(w, ui.Line(strings.Join(cells, "\t"))+"\n") // into memory
	}
	line("TABLE", "ROWS", "BYTES", "TO", "READ BY")
	var rows, bytes int64
	for _, t := range r.Tables {
		file := t.File
		if r.several && file != "" {
			file = filepath.Join(r.Output, file)
		}
		line(withoutTabs(t.Name), known(t.Rows, ui.Count), known(t.Bytes, ui.Bytes), withoutTabs(file),
			withoutTabs(t.readBy()))
		rows, bytes = rows+t.Rows, bytes+t.Bytes
	}
	_ = w.Flush()
	for _, t := range r.Tables {
		for _, one := range t.Masks {
			fmt.Fprintf(&b, "\n%s", ui.Line(t.Name+"."+one.Column+": "+one.Rule))
		}
	}
	b.WriteString(strings.Repeat("\n", min(1, r.masks())))
	for _, t := range r.Tables {
		if t.Where != "" {
			fmt.Fprintf(&b, "\n%s WHERE %s\n", ui.Line(t.Name), ui.Line(t.Where))
		}
	}
	fmt.Fprintf(&b, "\n%s", ui.Several(int64(len(r.Tables)), "table"))
	b.WriteString(strings.TrimSuffix(", "+r.Schema.summary(), ", "))
	if rows > 0 {
		fmt.Fprintf(&b, ", about %s", ui.Several(rows, "row"))
	}
	if bytes > 0 {
		fmt.Fprintf(&b, ", about %s", ui.Bytes(bytes))
	}
	b.WriteByte('\n')
	to := "nobody: it can be read by all"
	if len(r.Recipients) > 0 {
		to = strings.Join(r.Recipients, ", ")
	}
	fmt.Fprintf(&b, "encrypted to %s\nnothing was written\n", ui.Line(to))
	return b.String()
}

// masks returns how many columns are masked.
func (r *PlanReport) masks() (n int) {
	for _, t := range r.Tables {
		n += len(t.Masks)
	}
	return n
}

// withoutTabs keeps a name in its cell.
func withoutTabs(name string) string { return strings.ReplaceAll(name, "\t", " ") }

// known is a number, if it is known.
func known(n int64, written func(int64) string) string {
	if n == 0 {
		return "?"
	}
	return written(n)
}

// readBy says how a table would be read, in a few words.
func (t *plannedTable) readBy() string {
	switch {
	case t.Error != "":
		return "nobody: " + t.Error
	case t.Defined:
		return "nobody: only its definition"
	case t.workers:
		return "workers, " + ui.Several(int64(t.Parts), "part")
	case t.Parts > 0:
		return ui.Several(int64(t.Readers), "connection") + ", " + ui.Several(int64(t.Parts), "part")
	case t.Ranges > 1:
		return fmt.Sprintf("%d connections, %d ranges", t.Readers, t.Ranges)
	case t.Reason != "":
		return "one connection: " + t.Reason
	}
	return "one connection"
}
