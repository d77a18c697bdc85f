package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/internal/compress"
)

// Inspection describes a file.
type Inspection struct {
	Size    int64    `json:"size"`
	Age     *AgeInfo `json:"age,omitempty"`     // nil if the file is not encrypted
	Content *Content `json:"content,omitempty"` // the decrypted content; nil if unknown
}

// AgeInfo describes an encrypted file as far as possible without a key.
type AgeInfo struct {
	Version     string   `json:"version"`
	Armored     bool     `json:"armored"`
	Recipients  []string `json:"recipients"`   // the types of the recipient stanzas
	PostQuantum string   `json:"post_quantum"` // yes, no or unknown
	Header      int64    `json:"header_bytes"`
	Chunks      int64    `json:"chunks"`
	Data        int64    `json:"data_bytes"` // the size of the decrypted data
}

// Content describes how the text in a file is compressed.
type Content struct {
	Compression string `json:"compression"` // zstd, gzip or none
	Frames      int    `json:"frames,omitempty"`
	Text        int64  `json:"text_bytes,omitempty"` // known from a seek table
}

// Inspect describes a file: its header, its size, and its content if one of the identities opens it. If there are
// identities and none opens the file, the error is an [*age.NoIdentityMatchError]. The result has the known facts even
// if there is an error.
//
// If src is an io.ReaderAt and an io.Seeker, Inspect reads only its beginning and its end, and does not detect damage
// between them. If src is another reader, or the file is armored, Inspect reads everything and returns no content.
func (c ReadConfig) Inspect(src io.Reader) (*Inspection, error) {
	i := &Inspection{}
	raw := &countingReader{r: src}
	random, isRandom := src.(randomReader)
	if isRandom {
		var err error
		if i.Size, err = random.Seek(0, io.SeekEnd); err != nil {
			return i, err
		}
		if _, err = random.Seek(0, io.SeekStart); err != nil {
			return i, err
		}
	} else {
		src = raw
	}
	opened, form, err := recognize(src)
	if err != nil {
		return i, err
	}
	data := &countingReader{r: opened}
	if form.encrypted {
		if i.Age, err = readHeader(data, form.armored); err != nil {
			return i, err
		}
	}
	plain := i.Size
	if !isRandom || form.armored {
		// The size shows only at the end.
		if _, err := io.Copy(io.Discard, data); err != nil {
			return i, err
		}
		plain, i.Size = data.n, max(i.Size, raw.n)
	}
	if form.encrypted {
		if i.Age.Data, i.Age.Chunks, err = agefile.PayloadSize(plain - i.Age.Header); err != nil {
			return i, err
		}
	}
	if !isRandom || form.armored || i.Size == 0 || form.encrypted && len(c.Identities) == 0 {
		return i, nil
	}
	content, size := io.ReaderAt(random), i.Size
	if form.encrypted {
		sealed, err := agefile.NewReaderAt(random, i.Size, c.Identities...)
		if err != nil {
			return i, err
		}
		content, size = sealed, sealed.Size()
	}
	i.Content, err = inspectContent(content, size)
	return i, err
}

// headerLimit bounds the memory for a header. Package agefile has the same.
const headerLimit = 2 << 20

func readHeader(src io.Reader, armored bool) (*AgeInfo, error) {
	header, err := age.ExtractHeader(io.LimitReader(src, headerLimit))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", agefile.ErrCorrupt, err)
	}
	version, _, _ := bytes.Cut(header, []byte("\n"))
	info := &AgeInfo{Version: string(version), Armored: armored, Header: int64(len(header))}
	_, err = age.DecryptHeader(header, nobody{})
	noMatch, is := errors.AsType[*age.NoIdentityMatchError](err)
	if !is {
		return nil, fmt.Errorf("%w: %w", agefile.ErrCorrupt, err)
	}
	info.Recipients, info.PostQuantum = noMatch.StanzaTypes, postQuantum(noMatch.StanzaTypes)
	return info, nil
}

// nobody is an identity that nothing is encrypted to.
type nobody struct{}

func (nobody) Unwrap([]*age.Stanza) ([]byte, error) { return nil, age.ErrIncorrectIdentity }

// postQuantum reports whether all stanzas of a header withstand a quantum computer: yes, no or unknown. The types are
// in the age specification (c2sp.org/age), or belong to ssh and tagged recipients; a passphrase needs no public key.
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

func inspectContent(data io.ReaderAt, size int64) (*Content, error) {
	text, err := compress.NewReader(io.NewSectionReader(data, 0, size))
	if err != nil {
		return nil, err
	}
	content := &Content{Compression: text.Codec().String()}
	if err := text.Close(); err != nil || text.Codec() != compress.Zstd {
		return content, err
	}
	table, err := compress.ReadSeekTable(data, size)
	if errors.Is(err, compress.ErrNoSeekTable) {
		return content, nil
	}
	if err != nil {
		return nil, err
	}
	content.Frames, content.Text = table.Len(), table.TextSize()
	return content, nil
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
