package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxSize bounds the size of a manifest. It is enough for about a quarter of a million parts.
const maxSize = 128 << 20

// ErrInvalid marks errors of a manifest that is damaged or is not a manifest.
var ErrInvalid = errors.New("manifest: not a valid manifest")

// encode returns the JSON of a manifest of any version on one line, which has its line feed.
func encode(m any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(m); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// DialectFeature is what a manifest requires whose files are CSV in a dialect.
const DialectFeature = "csv"

// known are the features of manifests that this package reads, of those that Manifest.Requires may name.
var known = []string{DialectFeature}

// Read reads the JSON of a manifest to the end of r. Fields that are not known are ignored. The error wraps
// [ErrInvalid] if the manifest has another version, requires a feature that is not known, or breaks a rule of the
// package comment: names of files are different from each other and cannot lead out of the directory, no field is
// repeated, the figures of the parts of a table add up to its own, and the signature, if there is one, is right.
func Read(r io.Reader) (*Manifest, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSize {
		return nil, fmt.Errorf("%w: it is larger than %d bytes", ErrInvalid, maxSize)
	}
	m, err := parse(text)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return m, nil
}

// parse reads a manifest of any version as one of the newest.
func parse(text []byte) (*Manifest, error) {
	var head struct {
		Version   int      `json:"version"`
		Requires  []string `json:"requires"`
		Author    []byte   `json:"author"`
		Signature []byte   `json:"signature"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, err
	}
	switch head.Version {
	case 1:
		return parseFirst(text)
	case 2, Version:
	default:
		return nil, fmt.Errorf("it has version %d, and only 1 to %d are known: try a newer culvert",
			head.Version, Version)
	}
	if err := checkFields(text); err != nil {
		return nil, err
	}
	for _, feature := range head.Requires {
		if !slices.Contains(known, feature) {
			return nil, fmt.Errorf("it requires %q, which is not known: try a newer culvert", feature)
		}
	}
	if err := verifyAuthor(text, head.Author, head.Signature); err != nil {
		return nil, err
	}
	m := &Manifest{author: head.Author}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, err
	}
	for i := range m.Tables {
		t := &m.Tables[i]
		if m.Version < Version || slices.ContainsFunc(t.Columns, func(c Column) bool { return c.isNew }) {
			t.forgetCanonical()
		}
	}
	m.Version = Version
	return m, nil
}

// forgetCanonical forgets sums that nobody here can compute: those of columns whose logical type is not known, and
// fields that a manifest of version 2 may have, but with another meaning.
func (t *Table) forgetCanonical() {
	t.Canonical = ""
	for i := range t.Parts {
		t.Parts[i].Canonical = ""
	}
}
