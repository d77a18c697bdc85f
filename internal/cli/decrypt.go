package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"culvert/agefile"
)

const decryptHelp = `Decrypt opens an age file, armored or not, on all cores. Without -i or -j it takes the own
identity, and asks for a passphrase if the file needs one. Passphrases whose work factor is above 20, which takes 1 GiB
of memory, are refused; age makes them with 18.

FILE defaults to standard input, and the output to standard output. An output file appears only if all is intact; on
standard output, what comes before a damaged place has been written when the damage is found. Nothing is overwritten
without --force, and the input not at all.` + keyLetters

const decryptExamples = `  culvert decrypt -o notes.txt notes.txt.age
  culvert decrypt -i archive.txt photos.tar.age | tar x
  culvert decrypt --passphrase-command 'pass show archive' old.age > old`

// decryptOptions are the flags of culvert decrypt.
type decryptOptions struct {
	workFlags
	decryptFlags
	output string
	force  bool
}

func (a *app) newDecrypt() *cobra.Command {
	o := &decryptOptions{}
	cmd := &cobra.Command{
		Use:     "decrypt [-i FILE]... [-o FILE] [FILE]",
		Short:   "Decrypt an age file",
		Long:    decryptHelp + jsonHelp(workFields) + exitHelp,
		Example: decryptExamples,
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &workReport{}
			return a.perform(cmd, &o.workFlags, r, func(ctx context.Context, w *work) error {
				return a.decrypt(ctx, w, r, o, args)
			})
		},
	}
	o.decryptFlags.add(cmd)
	outputFlags(cmd, &o.output, &o.force)
	o.workFlags.add(cmd, "")
	return cmd
}

func (a *app) decrypt(ctx context.Context, w *work, r *workReport, o *decryptOptions, args []string) (err error) {
	if err := w.outputTo(r, o.output, o.force, args, o.identities.files(), o.passphraseFlags.inputs()); err != nil {
		return err
	}
	in, err := a.openInput(ctx, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	identities, err := o.decryptFlags.read(ctx, a)
	if err != nil {
		return err
	}
	opened, err := recognize(in)
	if err != nil {
		return about(in.name, err)
	}
	if !opened.age {
		return withHint(notAgeError(in.name), "culvert cat shows files of any kind")
	}
	src, err := agefile.Config{Workers: o.jobs, ReadAt: true}.NewReader(opened.Reader, identities...)
	if err != nil {
		return readError(in.name, err)
	}
	defer func() { err = errors.Join(err, src.Close()) }()

	out, err := a.openSink(o.output, o.force,
		"write to a file with -o FILE, or look into it: culvert cat", "force it with -o -")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.discard()) }()

	counted := w.beginMoving(in, out)
	if _, err := io.Copy(counted, src); err != nil {
		return counted.blame(err, readError(in.name, err))
	}
	return out.commit()
}

// The usual ends of the names of age files, and of armored ones.
const (
	ageExtension   = ".age"
	armorExtension = ".asc"
)

func notAgeError(name string) error {
	return about(name, fmt.Errorf("%w: it does not begin as one", agefile.ErrCorrupt))
}

// readError says which file cannot be read. Where no identity matches it says whom the file is for, as far as that
// shows.
func readError(name string, err error) error {
	var noMatch *age.NoIdentityMatchError
	if errors.As(err, &noMatch) {
		kinds := slices.Compact(slices.Sorted(slices.Values(noMatch.StanzaTypes)))
		return &rephrasedError{err, fmt.Sprintf("%s: no identity matches; it is encrypted to others (%s)",
			name, strings.Join(kinds, ", "))}
	}
	return about(name, err)
}
