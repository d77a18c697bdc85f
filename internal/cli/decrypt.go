package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"culvert/agefile"
	"culvert/export"
	"culvert/place"
)

// decryptOptions are the flags of culvert decrypt.
type decryptOptions struct {
	workFlags
	inputFlags
	output string
	force  bool
}

func (a *app) newDecrypt() *cobra.Command {
	o, r := &decryptOptions{}, &workReport{}
	cmd := o.command(a, "decrypt", r, func(ctx context.Context, w *work, args []string) error {
		return a.decrypt(ctx, w, r, o, args)
	})
	o.inputFlags.add(cmd)
	outputFlags(cmd, &o.output, &o.force)
	return cmd
}

func (a *app) decrypt(ctx context.Context, w *work, r *workReport, o *decryptOptions, args []string) (err error) {
	if err := w.outputTo(r, o.output, o.force, args, o.identities.files(), o.passphraseFlags.inputs()); err != nil {
		return err
	}
	config := export.ReadConfig{Jobs: o.jobs, Packed: true}
	if config.Identities, err = o.decryptFlags.read(ctx, a); err != nil {
		return err
	}
	return a.copyText(ctx, w, &o.placeFlags, args, config, func() (place.File, func(error) error, error) {
		return a.openSink(ctx, o.output, o.force, &o.placeFlags,
			"write to a file with -o FILE, or look into it: culvert cat", "force it with -o -")
	})
}

var errNotAge = fmt.Errorf("%w: it does not begin as one", agefile.ErrCorrupt)

// readError says which file cannot be read. If no identity matches, it says who the file is for, as far as that shows.
func readError(name string, err error) error {
	if key, is := errors.AsType[*keyError](err); is {
		return key.error // about the identities, not the file
	}
	var noMatch *age.NoIdentityMatchError
	if errors.As(err, &noMatch) {
		kinds := slices.Compact(slices.Sorted(slices.Values(noMatch.StanzaTypes)))
		return &rephrasedError{err, fmt.Sprintf("%s: no identity matches; it is encrypted to others (%s)",
			name, strings.Join(kinds, ", "))}
	}
	switch {
	case strings.HasPrefix(err.Error(), name+": "):
		return err
	case errors.Is(err, export.ErrMangled):
		err = withHint(err, "it looks as if PowerShell redirection has damaged this file; encrypt with -o FILE or -a")
	}
	return about(name, err)
}
