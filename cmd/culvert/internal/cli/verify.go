package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/load"
	"culvert/cmd/culvert/internal/masking"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/manifest"
)

// verifyReport is the report of culvert verify.
type verifyReport struct {
	command.WorkReport
	File        string `json:"file"`
	Encrypted   *bool  `json:"encrypted,omitempty"`
	Compression string `json:"compression,omitempty"`
	Sealed      *bool  `json:"sealed,omitempty"` // nothing can be missing: by the encryption, or by the seek table

	Author     string          `json:"author,omitempty"`     // the fingerprint of whoever has signed a directory
	Consistent *bool           `json:"consistent,omitempty"` // all tables of a directory show the state of Snapshot
	Snapshot   string          `json:"snapshot,omitempty"`
	Omitted    []string        `json:"omitted,omitempty"`    // what is in none of the tables of a directory
	Tables     []verifiedTable `json:"tables,omitempty"`     // of a directory
	Unexpected []string        `json:"unexpected,omitempty"` // files in it that its manifest does not list
	Against    string          `json:"against,omitempty"`    // the database that it was compared with
	MaskKey    string          `json:"mask_key,omitempty"`   // the fingerprint of the key of masks

	manifest *manifest.Manifest
}

// layers says what a file is protected by.
func (r *verifyReport) layers() string {
	var layers []string
	if *r.Encrypted {
		layers = append(layers, "age")
	}
	if r.Compression != export.None.String() {
		layers = append(layers, r.Compression)
	}
	if len(layers) == 0 {
		return "neither encrypted nor compressed"
	}
	return strings.Join(layers, ", ")
}

func (r *verifyReport) Text() string {
	if r.manifest != nil {
		return r.manifestText()
	}
	text := fmt.Sprintf("%s: intact (%s)", ui.Name(r.File), r.layers())
	if !*r.Sealed {
		text += ", unless it was cut between two frames, which would not show"
	}
	return text + "\n"
}

func newVerify(a *command.App) *cobra.Command {
	o, r := &verifyOptions{}, &verifyReport{}
	cmd := o.Command(a, "verify", r, func(ctx context.Context, w *command.Work, args []string) error {
		return o.masks.End(verify(ctx, a, w, r, o, args))
	})
	o.InputFlags.Add(cmd)
	o.author.Add(cmd, "accept")
	cmd.Args = cobra.ArbitraryArgs
	flags := cmd.Flags()
	flags.Var((*command.NotEmpty)(&o.against), "against", "also compare the tables with the database `SOURCE`")
	o.from.Add(cmd)
	o.masks.AddKey(cmd)
	return cmd
}

// verifyOptions are the flags of culvert verify.
type verifyOptions struct {
	readOptions
	author  argument.AuthorFlags
	from    database.Flags
	masks   masking.Flags
	against string
}

// database returns the database to compare with, if there is one.
func (o *verifyOptions) database(a *command.App) (db database.Database, is bool, err error) {
	if o.against == "" && o.from.File == "" {
		return database.Database{}, false, nil
	}
	if o.against != "" && o.from.File != "" {
		return database.Database{}, false, command.Usagef("both --against and --dsn-file name a SOURCE")
	}
	db, _, err = o.from.Parse(a, []string{o.against})
	return db, true, err
}

func verify(
	ctx context.Context, a *command.App, w *command.Work, r *verifyReport, o *verifyOptions, args []string) (err error,
) {
	db, against, err := o.database(a)
	if err != nil {
		return err
	}
	var names map[string]string
	if against && len(args) > 1 {
		if names, err = load.ParseNames(args[1:]); err != nil {
			return err
		}
		args = args[:1]
	}
	if err := command.OneFile(nil, args); err != nil {
		return command.WithHint(err, "to compare some tables with a database: --against SOURCE DIR TABLE...")
	}
	if err := o.author.Read(ctx, a); err != nil {
		return err
	}
	config := export.ReadConfig{Jobs: o.Jobs}
	if config.Identities, err = o.DecryptFlags.WhenNeeded(ctx, a); err != nil {
		return err
	}
	var in *argument.Input
	if len(args) > 0 && (argument.IsURL(args[0]) || argument.IsDirectory(args[0])) {
		ctx, l, err := argument.Locate(ctx, a, args[0], &o.PlaceFlags)
		if err != nil {
			return err
		}
		if info, err := l.Info(); err == nil && info.IsDir() {
			config.Jobs = o.Jobs
			err := verifyDirectory(ctx, a, w, r, l, config, o, &comparison{db: db, names: names, is: against})
			if errors.Is(err, export.ErrNoManifest) && !against {
				t, tableErr := argument.OpenTable(ctx, a, args[0], &o.PlaceFlags, config)
				if t != nil {
					err := o.author.Check(args[0], t.Export.Manifest)
					if err == nil {
						err = verifyTable(ctx, w, r, t, args[0])
					}
					return errors.Join(t.Close(err), l.Close(nil))
				}
				err = cmp.Or(tableErr, err)
			}
			return l.Close(err)
		}
		in, err = l.OpenInput(ctx)
		if err != nil {
			return err
		}
	} else if in, err = argument.OpenInput(ctx, a, args, &o.PlaceFlags); err != nil {
		return err
	}
	if err := o.author.RefuseFile(in.Name); err != nil {
		return in.Close(err)
	}
	if against {
		err := command.Usagef("--against compares the directory of an export, and %s is a file", in.Name)
		return in.Close(command.WithHint(err, "name the directory"))
	}
	r.File, w.Name = in.Name, in.Name
	text, err := in.Text(config)
	if err != nil {
		return err
	}
	defer func() { err = text.Close(err) }()
	encrypted := text.Encrypted()
	r.Encrypted, r.Compression = &encrypted, text.Compression().String()
	if !encrypted && text.Compression() == export.None {
		return fmt.Errorf("%s: there is nothing to check: it is neither encrypted nor compressed", in.Name)
	}
	if err := move(w, text, command.Stream{Writer: io.Discard}); err != nil {
		return err
	}
	complete := text.Complete()
	r.Sealed = &complete
	return nil
}
