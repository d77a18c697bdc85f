package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"culvert/agefile"
	"culvert/internal/compress"
	"culvert/internal/keyfile"
	"culvert/internal/ui"
)

const inspectHelp = `Inspect says what a file is, without a key: of an age file the kinds of recipients, whether it
withstands quantum computers, and the size of what is in it; of a zstd or gzip file the frames. It reads the header and
the size only, so that damage inside goes unnoticed: for that, see culvert verify.

With an identity, given or one's own, it also looks through the encryption, at the compression and its seek table.`

const inspectExamples = `  culvert inspect orders.csv.zst.age
  culvert inspect -i archive.txt --json photos.tar.age`

// inspectReport is the report of culvert inspect.
type inspectReport struct {
	outcome
	File    string         `json:"file"`
	Size    int64          `json:"size"`
	Age     *ageReport     `json:"age,omitempty"`     // of an age file
	Content *contentReport `json:"content,omitempty"` // of what is inside, as far as that is known
}

// ageReport says what the outside of an age file shows.
type ageReport struct {
	Version     string   `json:"version"`
	Armored     bool     `json:"armored"`
	Recipients  []string `json:"recipients"`   // the types of the recipient stanzas
	PostQuantum string   `json:"post_quantum"` // yes, no or unknown
	Header      int64    `json:"header_bytes"`
	Chunks      int64    `json:"chunks"`
	Data        int64    `json:"data_bytes"` // the size of what is encrypted
}

// contentReport says what is under the encryption.
type contentReport struct {
	Compression string `json:"compression"` // zstd, gzip or none
	Frames      int    `json:"frames,omitempty"`
	Text        int64  `json:"text_bytes,omitempty"` // known from a seek table
}

const inspectFields = `file, size; age (version, armored, recipients, post_quantum, header_bytes, chunks, data_bytes)
of an age file; and content (compression, frames, text_bytes), as far as it can be seen.`

// inspectOptions are the flags of culvert inspect.
type inspectOptions struct {
	decryptFlags
	json bool
}

func (a *app) newInspect() *cobra.Command {
	o := &inspectOptions{}
	cmd := &cobra.Command{
		Use:     "inspect [-i FILE]... [FILE]",
		Short:   "Say what a file is, without a key",
		Long:    inspectHelp + jsonHelp(inspectFields) + exitHelp,
		Example: inspectExamples,
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &inspectReport{}
			err := a.inspect(cmd.Context(), r, o, args)
			return a.deliver(cmd, r, a.stdout, o.json, interruption(cmd.Context(), err))
		},
	}
	o.decryptFlags.add(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (a *app) inspect(ctx context.Context, r *inspectReport, o *inspectOptions, args []string) (err error) {
	in, err := a.openInput(ctx, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	r.File = in.name
	opened, err := recognize(in)
	if err != nil {
		return about(in.name, err)
	}
	data := &countingReader{r: opened}
	if opened.age {
		if err := r.readHeader(data, opened.armored); err != nil {
			return about(in.name, err)
		}
	}
	r.Size = in.size
	plain := in.size
	if in.size == 0 || opened.armored {
		// The size shows only at the end.
		if _, err := io.Copy(io.Discard, data); err != nil {
			return about(in.name, err)
		}
		plain, r.Size = data.n, in.read.Load()
	}
	if opened.age {
		if r.Age.Data, r.Age.Chunks, err = agefile.PayloadSize(plain - r.Age.Header); err != nil {
			return about(in.name, err)
		}
	}
	if in.file == nil || opened.armored {
		return nil // what is inside is read at random
	}
	if err := a.inspectContent(ctx, r, o, in, opened.age); err != nil {
		return readError(in.name, err)
	}
	return nil
}

// headerLimit bounds the memory for a header. It is that of agefile.
const headerLimit = 2 << 20

func (r *inspectReport) readHeader(src io.Reader, armored bool) error {
	header, err := age.ExtractHeader(io.LimitReader(src, headerLimit))
	if err != nil {
		return fmt.Errorf("%w: %w", agefile.ErrCorrupt, err)
	}
	version, _, _ := bytes.Cut(header, []byte("\n"))
	r.Age = &ageReport{Version: string(version), Armored: armored, Header: int64(len(header))}

	var noMatch *age.NoIdentityMatchError
	if _, err := age.DecryptHeader(header, nobody{}); !errors.As(err, &noMatch) {
		return fmt.Errorf("%w: %w", agefile.ErrCorrupt, err)
	}
	r.Age.Recipients = noMatch.StanzaTypes
	r.Age.PostQuantum = postQuantum(noMatch.StanzaTypes)
	return nil
}

// nobody is an identity that nothing is encrypted to.
type nobody struct{}

func (nobody) Unwrap([]*age.Stanza) ([]byte, error) { return nil, age.ErrIncorrectIdentity }

// postQuantum says whether all stanzas of a header withstand a quantum computer. The types are those of the age
// specification (c2sp.org/age) and of its ssh and tagged recipients; a passphrase needs no public key.
func postQuantum(types []string) string {
	answer := "yes"
	for _, kind := range types {
		switch kind {
		case "X25519", "ssh-rsa", "ssh-ed25519", "p256tag", "piv-p256":
			return "no"
		case "mlkem768x25519", "mlkem768p256tag", "scrypt":
		default:
			answer = "unknown"
		}
	}
	return answer
}

// inspectContent looks at what is in a file: through the encryption, if there is an identity for that.
func (a *app) inspectContent(
	ctx context.Context, r *inspectReport, o *inspectOptions, in *input, encrypted bool,
) error {
	if in.size == 0 {
		return nil
	}
	if !encrypted {
		return r.readContent(in.file, in.size)
	}
	asked := o.identities.given() || o.passphraseFlags.given()
	var identities []age.Identity
	var err error
	if asked {
		identities, err = o.decryptFlags.read(ctx, a)
	} else {
		// Nobody asked for this, so nobody is asked for a passphrase.
		identities, _, err = ownIdentity(&keyfile.Reader{})
	}
	if err != nil && asked {
		return err
	}
	if err != nil || len(identities) == 0 {
		return nil
	}
	data, err := agefile.NewReaderAt(in.file, in.size, identities...)
	switch {
	case err == nil:
		return r.readContent(data, data.Size())
	case asked, errors.Is(err, agefile.ErrCorrupt):
		return err
	}
	return nil
}

func (r *inspectReport) readContent(data io.ReaderAt, size int64) error {
	text, err := compress.NewReader(io.NewSectionReader(data, 0, size))
	if err != nil {
		return err
	}
	r.Content = &contentReport{Compression: text.Codec().String()}
	if err := text.Close(); err != nil {
		return err
	}
	if text.Codec() != compress.Zstd {
		return nil
	}
	table, err := compress.ReadSeekTable(data, size)
	if errors.Is(err, compress.ErrNoSeekTable) {
		return nil
	}
	if err != nil {
		return err
	}
	r.Content.Frames = table.Len()
	for frame := range table.All() {
		r.Content.Text = frame.TextOffset + frame.TextSize
	}
	return nil
}

func (r *inspectReport) text() string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-14s%s\n", label, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "%s: %s\n", ui.Line(r.File), r.kind())
	line("size", "%s bytes", ui.Count(r.Size))
	if r.Age != nil {
		line("encrypted to", "%s", recipientKinds(r.Age.Recipients))
		line("post-quantum", "%s", r.Age.PostQuantum)
		line("header", "%s bytes", ui.Count(r.Age.Header))
		line("data", "%s bytes in %s", ui.Count(r.Age.Data), ui.Several(r.Age.Chunks, "chunk"))
	}
	if c := r.Content; c != nil {
		line("compression", "%s", c.Compression)
		if c.Frames > 0 {
			line("text", "%s bytes in %s, by the seek table", ui.Count(c.Text), ui.Several(int64(c.Frames), "frame"))
		}
	}
	return b.String()
}

// kind is what a file is, in a few words.
func (r *inspectReport) kind() string {
	switch {
	case r.Age != nil && r.Age.Armored:
		return "age file, armored, " + r.Age.Version
	case r.Age != nil:
		return "age file, " + r.Age.Version
	case r.Content != nil && r.Content.Compression != compress.None.String():
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
