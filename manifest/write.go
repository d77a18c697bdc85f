package manifest

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
)

// maxDefinitions bounds the size of all definitions of a manifest together, as JSON without white space: parts need the
// rest.
const maxDefinitions = 16 << 20

// WriteTo writes the manifest as JSON. It makes the text of one part at a time, since there may be a hundred thousand.
// Definitions are left out, beginning with the largest, if they are too large for a manifest. If the text would still
// be larger than Read accepts, WriteTo fails after it has written a part of it.
func (m *Manifest) WriteTo(w io.Writer) (int64, error) { return m.write(w, nil) }

// write writes the manifest, and signs it if there is an author.
func (m *Manifest) write(w io.Writer, author ed25519.PrivateKey) (int64, error) {
	m, err := m.fitting()
	if err != nil {
		return 0, err
	}
	p := &printer{to: bufio.NewWriterSize(w, 64<<10)}
	head := struct {
		Manifest
		Author []byte  `json:"author,omitempty"`
		Tables []Table `json:"tables,omitempty"` // in place of the ones of Manifest
	}{Manifest: *m}
	if author != nil {
		head.Author, p.hash = author.Public().(ed25519.PublicKey), sha512.New()
	}
	p.openList(0, head, "tables", len(m.Tables), func(i int) {
		table := m.Tables[i]
		table.Parts = nil
		p.withList(2, table, "parts", len(m.Tables[i].Parts), func(j int) {
			p.print(p.indented(4, m.Tables[i].Parts[j]))
		})
	})
	end := []byte("\n}\n")
	if author != nil {
		signature, err := sign(author, p.hash.Sum(nil))
		if err != nil {
			return p.written, err
		}
		end = signatureField(signature)
	}
	p.print(end)
	if p.err == nil {
		p.err = p.to.Flush()
	}
	return p.written, p.err
}

// fitting returns the manifest without the definitions that it has no room for.
func (m *Manifest) fitting() (*Manifest, error) {
	sizes := make([]int, len(m.Tables))
	order := make([]int, len(m.Tables))
	for i := range m.Tables {
		order[i] = i
		if m.Tables[i].Definition == nil {
			continue
		}
		text, err := encode(m.Tables[i].Definition)
		if err != nil {
			return nil, err
		}
		sizes[i] = len(text)
	}
	slices.SortStableFunc(order, func(a, b int) int { return sizes[a] - sizes[b] })
	fitting := *m
	fitting.Tables = slices.Clone(m.Tables)
	total := 0
	for _, i := range order {
		if total += sizes[i]; total > maxDefinitions {
			fitting.Tables[i].Definition = nil
		}
	}
	return &fitting, nil
}

// printer writes indented JSON.
type printer struct {
	to      *bufio.Writer
	text    bytes.Buffer
	hash    hash.Hash // of what is written; nil if it is not wanted
	written int64
	err     error // the first one; nothing is written after it
}

const indent = "  "

// withList writes an object at a depth, and a list of n elements as its last field. The object itself has no such
// field. Without elements, there is none.
func (p *printer) withList(depth int, object any, field string, n int, element func(i int)) {
	p.openList(depth, object, field, n, element)
	p.print([]byte("\n" + strings.Repeat(indent, depth) + "}"))
}

// openList is withList without the end of the object.
func (p *printer) openList(depth int, object any, field string, n int, element func(i int)) {
	outer := strings.Repeat(indent, depth)
	p.print(bytes.TrimSuffix(p.indented(depth, object), []byte("\n"+outer+"}")))
	if n == 0 {
		return
	}
	p.print(fmt.Appendf(nil, ",\n%s%q: [", outer+indent, field))
	for i := range n {
		if i > 0 {
			p.print([]byte(","))
		}
		p.print([]byte("\n" + outer + indent + indent))
		element(i)
	}
	p.print([]byte("\n" + outer + indent + "]"))
}

// indented returns a value at a depth, without indentation of its first line. The text is valid until the next call.
func (p *printer) indented(depth int, value any) []byte {
	line, err := encode(value)
	if err == nil {
		p.text.Reset()
		err = json.Indent(&p.text, bytes.TrimSuffix(line, []byte("\n")), strings.Repeat(indent, depth), indent)
	}
	if p.err == nil {
		p.err = err
	}
	return p.text.Bytes()
}

func (p *printer) print(text []byte) {
	if p.written+int64(len(text)) > maxSize && p.err == nil {
		p.err = fmt.Errorf("manifest: it would have more than %d bytes", maxSize)
	}
	if p.err != nil {
		return
	}
	if p.hash != nil {
		p.hash.Write(text) // a hash returns no error
	}
	n, err := p.to.Write(text)
	p.written, p.err = p.written+int64(n), err
}
