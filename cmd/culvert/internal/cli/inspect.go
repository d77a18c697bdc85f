package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/internal/keyfile"
)

// inspectReport is the report of culvert inspect.
type inspectReport struct {
	command.Outcome
	File string `json:"file"`
	export.Inspection
	Table   *tableInspection   `json:"table,omitempty"`   // of a table in parts
	Columns *columnsInspection `json:"columns,omitempty"` // of a file of columns
	CSV     *csvInspection     `json:"csv,omitempty"`     // of CSV, or what looks like it
}

func newInspect(a *command.App) *cobra.Command {
	o, r := &argument.InputFlags{}, &inspectReport{}
	cmd := a.Reporting("inspect", r, func(ctx context.Context, args []string) error {
		return inspect(ctx, a, r, o, args)
	})
	cmd.Args = command.OneFile
	o.Add(cmd)
	return cmd
}

func inspect(ctx context.Context, a *command.App, r *inspectReport, o *argument.InputFlags, args []string) (err error) {
	config := export.ReadConfig{}
	if config.Identities, err = o.DecryptFlags.WhenNeeded(ctx, a); err != nil {
		return err
	}
	in, err := argument.OpenInput(ctx, a, args, &o.PlaceFlags)
	if errors.Is(err, argument.ErrDirectory) {
		t, tableErr := argument.OpenTable(ctx, a, args[0], &o.PlaceFlags, config)
		if t != nil {
			r.inspectTable(t, args[0])
			return t.Close(nil)
		}
		err = cmp.Or(tableErr, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = in.Close(err) }()
	r.File = in.Name
	asked := o.Identities.Given() || o.PassphraseFlags.Given()
	if !asked {
		// Nobody asked for the content, so nobody is asked for a passphrase.
		own, _, _ := command.OwnIdentity(&keyfile.Reader{}) // without an identity, it stays unknown
		config.Identities = []age.Identity{quietIdentity(own)}
	}
	seen, err := config.Inspect(in.Random)
	if seen != nil {
		r.Inspection = *seen
	}
	switch {
	case err == nil && seen.Content != nil:
		if argument.ColumnarOf(in.Name) == nil {
			return r.inspectCSV(in, config)
		}
		return r.inspectColumns(in, config)
	case err == nil || !asked && command.Is[*age.NoIdentityMatchError](err):
		return nil
	}
	return argument.ReadError(in.Name, err)
}

// quietIdentity stands for identities that fail if they would have to ask for something.
type quietIdentity []age.Identity

// Unwrap implements [age.Identity].
func (q quietIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	for _, identity := range q {
		if key, err := identity.Unwrap(stanzas); err == nil {
			return key, nil
		}
	}
	return nil, age.ErrIncorrectIdentity
}

func (r *inspectReport) Text() string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-14s%s\n", label, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "%s: %s\n", ui.Name(r.File), r.kind())
	line("size", "%s bytes", ui.Count(r.Size))
	if r.Age != nil {
		line("encrypted to", "%s", recipientKinds(r.Age.Recipients))
		line("post-quantum", "%s", r.Age.PostQuantum)
		line("header", "%s bytes", ui.Count(r.Age.Header))
		line("data", "%s bytes in %s", ui.Count(r.Age.Data), ui.Several(r.Age.Chunks, "chunk"))
	}
	if t := r.Table; t != nil {
		line("table", "%s", ui.Name(t.Name))
		line("rows", "%s, by the manifest", ui.Count(t.Rows))
		line("text", "%s bytes", ui.Count(r.Content.Text))
		line("sum", "%s", t.Sum)
		for _, one := range t.Masks {
			line("masked", "%s", ui.Line(one.Column+": "+one.Rule))
		}
		if !t.Consistent {
			line("snapshot", "%s, not that of all tables", ui.Line(t.Snapshot))
		}
	}
	if c := r.Content; c != nil {
		line("compression", "%s", c.Compression)
		if c.Frames > 0 {
			line("text", "%s bytes in %s, by the seek table", ui.Count(c.Text), ui.Several(int64(c.Frames), "frame"))
		}
	}
	r.Columns.write(&b, line)
	r.CSV.write(&b, line)
	return b.String()
}

// kind is what a file is, in a few words.
func (r *inspectReport) kind() string {
	switch {
	case r.Columns != nil && r.Age == nil:
		return "file of columns, not encrypted"
	case r.Table != nil:
		return "table in " + ui.Several(int64(r.Table.Parts), "part")
	case r.Age != nil && r.Age.Armored:
		return "age file, armored, " + r.Age.Version
	case r.Age != nil:
		return "age file, " + r.Age.Version
	case r.Content != nil && r.Content.Compression != export.None.String():
		return r.Content.Compression + " file, not encrypted"
	}
	return "neither encrypted nor compressed"
}

// recipientKinds counts the stanzas of each type, as in "2 × X25519, 1 × ssh-ed25519".
func recipientKinds(types []string) string {
	var kinds []string
	for _, kind := range slices.Compact(slices.Sorted(slices.Values(types))) {
		count := 0
		for _, t := range types {
			if t == kind {
				count++
			}
		}
		kinds = append(kinds, fmt.Sprintf("%d × %s", count, kind))
	}
	return strings.Join(kinds, ", ")
}
