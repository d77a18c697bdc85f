package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// firstManifest is a manifest of version 1: each table has one file and no sum, and there is only one way to write it.
type firstManifest struct {
	Version     int          `json:"version"`
	Tool        string       `json:"tool"`
	Begun       time.Time    `json:"begun"`
	Ended       time.Time    `json:"ended"`
	System      string       `json:"system,omitempty"`
	Database    string       `json:"database,omitempty"`
	Snapshot    string       `json:"snapshot,omitempty"`
	Position    string       `json:"position,omitempty"`
	Format      string       `json:"format"`
	Compression string       `json:"compression"`
	Encrypted   bool         `json:"encrypted"`
	Tables      []firstTable `json:"tables"`
}

type firstTable struct {
	Name      string   `json:"name"`
	File      string   `json:"file,omitempty"`
	Columns   []Column `json:"columns,omitempty"`
	Rows      int64    `json:"rows"`
	TextBytes int64    `json:"text_bytes"`
	FileBytes int64    `json:"file_bytes"`
	SHA256    string   `json:"sha256,omitempty"`
	Readers   int      `json:"readers,omitempty"`
	Error     string   `json:"error,omitempty"`
}

// parseFirst reads a manifest of version 1 as one of the newest version without sums.
func parseFirst(text []byte) (*Manifest, error) {
	first := new(firstManifest)
	if err := json.Unmarshal(text, first); err != nil {
		return nil, err
	}
	if err := first.compare(text); err != nil {
		return nil, err
	}
	m := &Manifest{
		Version: Version, Tool: first.Tool, Begun: first.Begun, Ended: first.Ended,
		System: first.System, Database: first.Database, Snapshot: first.Snapshot, Position: first.Position,
		Consistent: first.Snapshot != "",
		Format:     first.Format, Compression: first.Compression, Encrypted: first.Encrypted,
	}
	for _, t := range first.Tables {
		table := Table{
			Name: t.Name, Columns: t.Columns, Rows: t.Rows, TextBytes: t.TextBytes, FileBytes: t.FileBytes,
			Readers: t.Readers, Error: t.Error,
		}
		if t.Error == "" || t.File != "" || t.SHA256 != "" {
			table.Parts = []Part{{
				File: t.File, Rows: t.Rows, TextBytes: t.TextBytes, FileBytes: t.FileBytes, SHA256: t.SHA256,
			}}
		}
		if table.Parted() {
			return nil, fmt.Errorf("table %q is in a file %q, which no file can be named", t.Name, t.File)
		}
		m.Tables = append(m.Tables, table)
	}
	return m, nil
}

// compare fails if the text is not the form in which the manifest was written, apart from white space. So nothing is
// left that parsers of JSON may read differently, such as repeated fields.
func (m *firstManifest) compare(text []byte) error {
	canonical, err := encode(m)
	if err != nil {
		return err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return err
	}
	if !bytes.Equal(bytes.TrimSpace(compact.Bytes()), bytes.TrimSpace(canonical)) {
		return errors.New("it has fields that are not known, or is not written as manifests are")
	}
	return nil
}
