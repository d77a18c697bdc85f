package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"culvert/export"
	"culvert/internal/ui"
)

// verifyReport is the report of culvert verify.
type verifyReport struct {
	workReport
	File        string `json:"file"`
	Encrypted   *bool  `json:"encrypted,omitempty"`
	Compression string `json:"compression,omitempty"`
	Sealed      *bool  `json:"sealed,omitempty"` // nothing can be missing: by the encryption, or by the seek table

	Tables     []verifiedTable `json:"tables,omitempty"`     // of a directory
	Unexpected []string        `json:"unexpected,omitempty"` // files in it that its manifest does not list

	manifest *export.Manifest
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

func (r *verifyReport) text() string {
	if r.manifest != nil {
		return r.manifestText()
	}
	text := fmt.Sprintf("%s: intact (%s)", ui.Line(r.File), r.layers())
	if !*r.Sealed {
		text += ", unless it was cut between two frames, which would not show"
	}
	return text + "\n"
}

func (a *app) newVerify() *cobra.Command {
	o, r := &readOptions{}, &verifyReport{}
	cmd := o.command(a, "verify", r, func(ctx context.Context, w *work, args []string) error {
		return a.verify(ctx, w, r, o, args)
	})
	o.inputFlags.add(cmd)
	return cmd
}

func (a *app) verify(ctx context.Context, w *work, r *verifyReport, o *readOptions, args []string) (err error) {
	config := export.ReadConfig{Jobs: o.jobs, Identities: o.decryptFlags.whenNeeded(ctx, a)}
	var in *input
	if len(args) > 0 && (isURL(args[0]) || isDirectory(args[0])) {
		ctx, l, err := a.locate(ctx, args[0], &o.placeFlags)
		if err != nil {
			return err
		}
		if info, err := l.info(); err == nil && info.IsDir() {
			return l.close(a.verifyDirectory(ctx, w, r, l, config))
		}
		in, err = l.openInput(ctx)
		if err != nil {
			return err
		}
	} else if in, err = a.openInput(ctx, args, &o.placeFlags); err != nil {
		return err
	}
	r.File, w.name = in.name, in.name
	return in.use(config, func(text *export.Reader) error {
		encrypted := text.Encrypted()
		r.Encrypted, r.Compression = &encrypted, text.Compression().String()
		if !encrypted && text.Compression() == export.None {
			return fmt.Errorf("%s: there is nothing to check: it is neither encrypted nor compressed", in.name)
		}
		if err := w.move(in, stream{io.Discard}, text); err != nil {
			return err
		}
		complete := text.Complete()
		r.Sealed = &complete
		return nil
	})
}
