package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"culvert/source"
)

// ManifestVersion is the version of the manifests that this package writes and reads.
const ManifestVersion = 1

// The name of the manifest: the first if the files are encrypted, as the manifest then is too, and otherwise the
// second.
const (
	EncryptedManifestName = "manifest.json.age"
	ManifestName          = "manifest.json"
)

var manifestNames = []string{EncryptedManifestName, ManifestName}

// maxManifest bounds the size of a manifest. It is enough for about a hundred thousand tables.
const maxManifest = 128 << 20

// ErrManifest marks errors of a manifest that is damaged or is not a manifest.
var ErrManifest = errors.New("export: not a valid manifest")

// Manifest lists the files of an export of several tables. The package comment describes its JSON.
type Manifest struct {
	Version     int             `json:"version"`
	Tool        string          `json:"tool"`
	Begun       time.Time       `json:"begun"`
	Ended       time.Time       `json:"ended"`
	System      string          `json:"system,omitempty"`
	Database    string          `json:"database,omitempty"`
	Snapshot    string          `json:"snapshot,omitempty"`
	Position    string          `json:"position,omitempty"`
	Format      string          `json:"format"`
	Compression string          `json:"compression"`
	Encrypted   bool            `json:"encrypted"`
	Tables      []ManifestTable `json:"tables"`
}

// ManifestTable describes the export of one table. If it succeeded, Error is empty and the other fields describe the
// file. If it failed, only Name and Error are set.
type ManifestTable struct {
	Name      string           `json:"name"`
	File      string           `json:"file,omitempty"`
	Columns   []ManifestColumn `json:"columns,omitempty"`
	Rows      int64            `json:"rows"`
	TextBytes int64            `json:"text_bytes"`
	FileBytes int64            `json:"file_bytes"`
	SHA256    string           `json:"sha256,omitempty"`
	Readers   int              `json:"readers,omitempty"`
	Error     string           `json:"error,omitempty"`
}

// ManifestColumn is the name and the type of a column.
type ManifestColumn struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
}

// newManifest begins the manifest of an export.
func (p *Plan) newManifest(of source.Description) *Manifest {
	return &Manifest{
		Version: ManifestVersion, Tool: tool(), Begun: time.Now().UTC().Truncate(time.Millisecond),
		System: of.System, Database: of.Database, Snapshot: of.Snapshot, Position: of.Position,
		Format: strings.TrimPrefix(p.format().Extension(), "."), Compression: p.Compression.String(),
		Encrypted: !p.Unencrypted,
	}
}

// tool returns the name and the version of this module.
func tool() string {
	const name = "culvert"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return name
	}
	for _, module := range append(slices.Clone(info.Deps), &info.Main) {
		if module.Path == name && module.Version != "" {
			return name + " " + module.Version
		}
	}
	return name + " (devel)"
}

// add records the result of a table.
func (m *Manifest) add(t *TableStats) {
	if t.Err != nil {
		m.Tables = append(m.Tables, ManifestTable{Name: valid(t.Name), Error: valid(t.Err.Error())})
		return
	}
	entry := ManifestTable{
		Name: valid(t.Name), File: t.File, Rows: t.Rows, TextBytes: t.Text, FileBytes: t.Out,
		SHA256: hex.EncodeToString(t.SHA256[:]), Readers: t.Readers,
	}
	for _, column := range t.Columns {
		entry.Columns = append(entry.Columns, ManifestColumn{Name: valid(column.Name), Type: valid(column.Type)})
	}
	m.Tables = append(m.Tables, entry)
}

// valid returns a text that JSON can hold. The names of some databases are not UTF-8.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// WriteTo writes the manifest as JSON.
func (m *Manifest) WriteTo(w io.Writer) (int64, error) {
	text, err := m.encode()
	if err != nil {
		return 0, err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, text, "", "  "); err != nil {
		return 0, err
	}
	if pretty.Len() > maxManifest {
		return 0, fmt.Errorf("export: a manifest of %d bytes", pretty.Len())
	}
	return pretty.WriteTo(w)
}

// encode returns the only form of the manifest that ReadManifest accepts, except for white space.
func (m *Manifest) encode() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(m); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// ReadManifest reads the JSON of a manifest to the end of r. It accepts only the output of WriteTo, apart from white
// space: no unknown or repeated fields. File names are different from each other and cannot lead out of the directory.
// For any other input, and for a manifest of another version, the error wraps [ErrManifest].
func ReadManifest(r io.Reader) (*Manifest, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxManifest {
		return nil, fmt.Errorf("%w: it is larger than %d bytes", ErrManifest, maxManifest)
	}
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if version.Version != ManifestVersion {
		return nil, fmt.Errorf("%w: it has version %d, and only version %d is known",
			ErrManifest, version.Version, ManifestVersion)
	}
	m := new(Manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if err := m.compare(text); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// compare fails if the text is not the canonical text of the manifest. This rejects text that parsers of JSON may read
// differently, such as repeated fields.
func (m *Manifest) compare(text []byte) error {
	canonical, err := m.encode()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrManifest, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if !bytes.Equal(bytes.TrimSpace(compact.Bytes()), bytes.TrimSpace(canonical)) {
		return fmt.Errorf("%w: it has fields that are not known, or is not written as manifests are", ErrManifest)
	}
	return nil
}

// check fails if fields have values that no export writes.
func (m *Manifest) check() error {
	if len(m.Tables) == 0 {
		return fmt.Errorf("%w: it lists no tables", ErrManifest)
	}
	files := map[string]bool{}
	for _, name := range manifestNames {
		files[name] = true
	}
	for _, t := range m.Tables {
		if err := t.check(); err != nil {
			return fmt.Errorf("%w: table %q %w", ErrManifest, t.Name, err)
		}
		if t.Error != "" {
			continue
		}
		if files[caseless(t.File)] {
			return fmt.Errorf("%w: table %q is in the file %q of another", ErrManifest, t.Name, t.File)
		}
		files[caseless(t.File)] = true
	}
	return nil
}

func (t *ManifestTable) check() error {
	if t.Error != "" {
		if failed := (ManifestTable{Name: t.Name, Error: t.Error}); !reflect.DeepEqual(*t, failed) {
			return errors.New("has both an error and a file")
		}
		return nil
	}
	sum, err := hex.DecodeString(t.SHA256)
	switch {
	case !isFileName(t.File):
		return fmt.Errorf("is in a file %q, which no file can be named", t.File)
	case t.Rows < 0, t.TextBytes < 0, t.FileBytes < 0, t.Readers < 0:
		return errors.New("has a number below zero")
	case err != nil, len(sum) != sha256.Size, strings.ToLower(t.SHA256) != t.SHA256:
		return errors.New("has no SHA-256")
	}
	return nil
}
