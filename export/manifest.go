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

// The names of a manifest beside the files that it lists. The first is that of one that is encrypted, as they are.
const (
	EncryptedManifestName = "manifest.json.age"
	ManifestName          = "manifest.json"
)

var manifestNames = []string{EncryptedManifestName, ManifestName}

// maxManifest bounds the size of a manifest, at about that of a hundred thousand tables.
const maxManifest = 128 << 20

// ErrManifest marks errors of a manifest that is damaged, or none.
var ErrManifest = errors.New("export: not a valid manifest")

// Manifest says what an export of several tables has written. Its JSON is described in the package comment.
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

// ManifestTable says what has become of one table. Either there is a file, and all fields but Error tell of it; or
// there is an error, and nothing else but the name.
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

// tool is the name and the version of this module.
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

// add notes what has become of a table.
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

// valid is a text as JSON can hold it. Databases exist whose names are not in UTF-8.
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

// encode gives the one way to write the manifest, but for white space.
func (m *Manifest) encode() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(m); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// ReadManifest reads a manifest to the end of r, which gives its JSON. It accepts what WriteTo writes, with other white
// space between, and nothing else: no field that it does not know, and none twice. All names of files are such as can
// only be in one directory, and no two are the same. Any other input is an [ErrManifest]; that a manifest is of another
// version is said.
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

// compare fails if the text is not the one of the manifest. So what two readers of JSON may read in two ways, such as a
// field that is there twice, is not read at all.
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

// check fails if fields have values that no export would give them.
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
			return errors.New("has failed and has a file")
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
