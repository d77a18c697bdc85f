package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"culvert/agefile"
	"culvert/internal/compress"
)

const catHelp = `Cat writes what is in a file to standard output: decrypted if it is an age file, armored or not, and
decompressed if there is zstd or gzip in it. Any other file is written as it is, unless its name ends in
.age, .asc, .zst or .gz.

FILE defaults to standard input. What comes before a damaged place has been written when the damage is found.`

const catExamples = `  culvert cat orders.csv.zst.age | head
  culvert cat -i archive.txt 2019.jsonl.gz.age | jq .name
  ssh host cat backup.sql.zst.age | culvert cat > backup.sql`

// catOptions are the flags of culvert cat.
type catOptions struct {
	workFlags
	decryptFlags
}

func (a *app) newCat() *cobra.Command {
	o := &catOptions{}
	cmd := &cobra.Command{
		Use:     "cat [-i FILE]... [FILE]",
		Short:   "Decrypt and decompress a file to standard output",
		Long:    catHelp + jsonHelp(workFields) + exitHelp,
		Example: catExamples,
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &workReport{Output: "-"}
			return a.perform(cmd, &o.workFlags, r, func(ctx context.Context, w *work) error {
				w.toStdout, w.name = true, "standard output"
				return a.cat(ctx, w, o, args)
			})
		},
	}
	o.decryptFlags.add(cmd)
	o.workFlags.add(cmd, "")
	return cmd
}

func (a *app) cat(ctx context.Context, w *work, o *catOptions, args []string) (err error) {
	in, err := a.openInput(ctx, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	text, err := openText(in, o.decryptFlags.reader(ctx, a), o.jobs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, text.Close()) }()
	out, err := a.openSink("", false, "write to a file or to a program: culvert cat … > FILE")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.discard()) }()

	counted := w.beginMoving(in, out)
	if _, err := io.Copy(counted, text.Reader); err != nil {
		return counted.blame(err, readError(in.name, err))
	}
	return out.commit()
}

// text is what is in a file: decrypted and decompressed as it is read.
type text struct {
	*compress.Reader
	opened  *openedInput
	decrypt *agefile.Reader // nil if the file is not encrypted
	data    countingReader  // what was decrypted, and is still compressed
}

// openText opens what is in a file. The identities are asked for if it is encrypted. A file whose beginning is damaged
// is one of another kind, so that its name is compared with its content.
func openText(in *input, identities func() ([]age.Identity, error), jobs int) (t *text, err error) {
	t = &text{}
	if t.opened, err = recognize(in); err != nil {
		return nil, about(in.name, err)
	}
	if extension := filepath.Ext(in.name); !t.opened.age && (extension == ageExtension || extension == armorExtension) {
		return nil, notAgeError(in.name)
	}
	t.data.r = t.opened.Reader
	if t.opened.age {
		var keys []age.Identity
		if keys, err = identities(); err != nil {
			return nil, err
		}
		config := agefile.Config{Workers: jobs, ReadAt: true}
		if t.decrypt, err = config.NewReader(t.opened.Reader, keys...); err != nil {
			return nil, readError(in.name, err)
		}
		t.data.r = t.decrypt
	}
	if t.Reader, err = compress.NewReader(&t.data); err != nil {
		err = readError(in.name, err)
		if t.decrypt != nil {
			err = errors.Join(err, t.decrypt.Close())
		}
		return nil, err
	}
	extension := filepath.Ext(strings.TrimSuffix(in.name, ageExtension))
	for _, codec := range []compress.Codec{compress.Zstd, compress.Gzip} {
		if extension == codec.Extension() && t.Codec() == compress.None && !t.opened.armored {
			err := about(in.name, fmt.Errorf("%w: it does not begin as %s does", compress.ErrCorrupt, codec))
			return nil, errors.Join(err, t.Close())
		}
	}
	return t, nil
}

// Close ends the goroutines of both stages.
func (t *text) Close() error {
	err := t.Reader.Close()
	if t.decrypt != nil {
		err = errors.Join(err, t.decrypt.Close())
	}
	return err
}

// countingReader counts what is read.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
