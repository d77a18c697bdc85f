package manifest

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"culvert/internal/rowsum"
	"culvert/source"
)

// Version is the version of the manifests that this package writes. It also reads versions 1 and 2.
const Version = 3

// Manifest lists the files of an export. The package comment describes its JSON.
type Manifest struct {
	Version     int       `json:"version"`
	Requires    []string  `json:"requires,omitempty"`
	Tool        string    `json:"tool"`
	Run         string    `json:"run,omitempty"`
	Begun       time.Time `json:"begun"`
	Ended       time.Time `json:"ended"`
	System      string    `json:"system,omitempty"`
	Database    string    `json:"database,omitempty"`
	Snapshot    string    `json:"snapshot,omitempty"`
	Position    string    `json:"position,omitempty"`
	Consistent  bool      `json:"consistent"`
	Format      string    `json:"format"`
	CSV         string    `json:"csv,omitempty"` // the settings of a dialect of CSV
	Compression string    `json:"compression"`
	Encrypted   bool      `json:"encrypted"`
	Lossy       string    `json:"lossy,omitempty"` // how values that did not fit were written
	Omitted     []string  `json:"omitted,omitempty"`
	MaskKey     string    `json:"mask_key,omitempty"` // the fingerprint of the key of masks
	Schema      *Schema   `json:"schema,omitempty"`
	Tables      []Table   `json:"tables"`

	author ed25519.PublicKey
}

// Table describes the export of one table. If it succeeded, Error is empty and there is at least one part. If it
// failed, only Name and Error are set.
type Table struct {
	Name        string   `json:"name"`
	Snapshot    string   `json:"snapshot,omitempty"` // if it is not the one of the manifest
	Where       string   `json:"where,omitempty"`
	Columns     []Column `json:"columns,omitempty"`
	Rows        int64    `json:"rows"`
	TextBytes   int64    `json:"text_bytes"`
	FileBytes   int64    `json:"file_bytes"`
	HeaderBytes int64    `json:"header_bytes"`
	Sum         string   `json:"sum,omitempty"`       // of the text of the rows
	Canonical   string   `json:"canonical,omitempty"` // of their canonical text; "" if it is not known
	Readers     int      `json:"readers,omitempty"`

	// Masks are the columns whose values are not those of the database, in order of their names. A column that is
	// dropped is not among the Columns.
	Masks []Mask `json:"masks,omitempty"`

	// Definition makes the table again, whatever Where and Columns; nil if it is not known.
	Definition *source.Definition `json:"definition,omitempty"`

	Parts []Part `json:"parts,omitempty"`
	Error string `json:"error,omitempty"`
}

// NoSnapshot is the Snapshot of a table whose rows no snapshot holds.
const NoSnapshot = "none"

// Column is the name and the type of a column.
type Column struct {
	Name    string      `json:"name"`
	Type    string      `json:"type,omitempty"`
	Logical source.Type `json:"logical,omitzero"`

	isNew bool // the logical type is one of a newer version
}

// UnmarshalJSON reads a column. Nothing is known of its values if their logical type is one of a newer version.
func (c *Column) UnmarshalJSON(text []byte) error {
	var read struct {
		Name    string `json:"name"`
		Type    string `json:"type"`
		Logical string `json:"logical"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*c = Column{Name: read.Name, Type: read.Type}
	if read.Logical != "" {
		var err error
		c.Logical, err = source.ParseType(read.Logical)
		c.isNew = err != nil
	}
	return nil
}

// Column returns the column as a source describes it.
func (c *Column) Column() source.Column {
	return source.Column{Name: c.Name, Type: c.Type, Logical: c.Logical}
}

// Mask says what became of the values of a column; package mask has the rules.
type Mask struct {
	Column string `json:"column"`
	Rule   string `json:"rule"`
}

// Part describes a file, which has all rows of a table or a part of them.
type Part struct {
	File      string        `json:"file"`
	Range     *source.Range `json:"range,omitempty"` // nil for all rows
	Rows      int64         `json:"rows"`
	TextBytes int64         `json:"text_bytes"`
	FileBytes int64         `json:"file_bytes"`
	SHA256    string        `json:"sha256"`
	Sum       string        `json:"sum,omitempty"`
	Canonical string        `json:"canonical,omitempty"`
	Untold    []string      `json:"untold,omitempty"` // columns; see [source.Untold]
	Unfit     []Unfit       `json:"unfit,omitempty"`  // columns with values that did not fit
}

// Unfit says how many values of a column did not fit its type.
type Unfit struct {
	Column string `json:"column"`
	Values int64  `json:"values"`
}

// New begins the manifest of an export that begins now, without tables, by what the source says of itself. The caller
// sets Format, Compression and Encrypted.
func New(of source.Description) *Manifest {
	return &Manifest{
		Version: Version, Tool: tool(), Begun: time.Now().UTC().Truncate(time.Millisecond),
		System: of.System, Database: of.Database, Snapshot: of.Snapshot, Position: of.Position,
		Consistent: of.Snapshot != "",
	}
}

// LeftOut names, for people, what none of the tables and the schema have together.
func (m *Manifest) LeftOut() []string {
	switch {
	case m.Schema == nil:
		return m.Omitted
	case m.Schema.Needs:
		return slices.Concat(m.Omitted, m.Schema.Lacks)
	}
	return m.Schema.Lacks // which has what the tables leave out
}

// IsText reports whether the files are text, so that parts can be joined. Those of Parquet and Arrow are not.
func (m *Manifest) IsText() bool {
	return m.Format != "parquet" && m.Format != "arrow" && m.Format != "arrows"
}

// OwnRows reports whether each table has only its own rows, although others inherit from it; see [source.Separator].
func (m *Manifest) OwnRows() bool { return m.Schema != nil && m.Schema.OwnRows }

// Add appends the entry of a table. A table with a snapshot of its own is not consistent with the others.
func (m *Manifest) Add(t Table) {
	m.Tables = append(m.Tables, t)
	m.Consistent = m.Consistent && t.Snapshot == ""
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

// NewTable begins the entry of a table that was exported. Once its Parts are set, AddUp completes it.
func NewTable(name string, columns []source.Column) Table {
	return Table{Name: valid(name), Columns: Columns(columns)}
}

// FailedTable describes a table whose export failed.
func FailedTable(name string, err error) Table {
	return Table{Name: valid(name), Error: valid(err.Error())}
}

// Columns returns the columns of a source as a manifest has them.
func Columns(columns []source.Column) (described []Column) {
	for _, column := range columns {
		described = append(described, Column{
			Name: valid(column.Name), Type: valid(column.Type), Logical: column.Logical,
		})
	}
	return described
}

// ValidNames returns names of columns as a manifest has them.
func ValidNames(names []string) (described []string) {
	for _, name := range names {
		described = append(described, valid(name))
	}
	return described
}

// Untold returns the columns that are untold in any of the parts.
func (t *Table) Untold() (names []string) {
	for _, part := range t.Parts {
		for _, name := range part.Untold {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Unfit returns how many values of each column did not fit, in all parts.
func (t *Table) Unfit() (all []Unfit) {
	for _, part := range t.Parts {
		for _, one := range part.Unfit {
			at := slices.IndexFunc(all, func(u Unfit) bool { return u.Column == one.Column })
			if at < 0 {
				all = append(all, one)
			} else {
				all[at].Values += one.Values
			}
		}
	}
	return all
}

// valid returns a text that JSON can hold. The names of some databases are not UTF-8.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// Parted reports whether the files of the table are in a directory of its own.
func (t *Table) Parted() bool { return len(t.Parts) > 0 && path.Dir(t.Parts[0].File) != "." }

// IsDefined reports whether only the definition of the table was exported, and not its rows. Then it has no file.
func (t *Table) IsDefined() bool { return len(t.Parts) == 0 && t.Error == "" }

// File returns the name of the file of the table, or of the directory of its parts; or "" if there is none.
func (t *Table) File() string {
	switch {
	case len(t.Parts) == 0:
		return ""
	case t.Parted():
		return path.Dir(t.Parts[0].File)
	}
	return t.Parts[0].File
}

// AddUp sets Rows, TextBytes, FileBytes and the sums to those of all Parts together. Each part has the header, whose
// size is HeaderBytes, and the table has it once. Without sums of the parts, as in manifests of version 1, there is
// none; nor is there a canonical one if a part has none.
func (t *Table) AddUp() error {
	t.Rows, t.TextBytes, t.FileBytes = 0, 0, 0
	for i, part := range t.Parts {
		text := part.TextBytes
		if i > 0 {
			text -= t.HeaderBytes
		}
		if t.Rows > math.MaxInt64-part.Rows || t.TextBytes > math.MaxInt64-text ||
			t.FileBytes > math.MaxInt64-part.FileBytes {
			return errors.New("manifest: numbers that are too large")
		}
		t.Rows, t.TextBytes, t.FileBytes = t.Rows+part.Rows, t.TextBytes+text, t.FileBytes+part.FileBytes
	}
	var err error
	if t.Sum, err = t.addUp(func(p *Part) string { return p.Sum }); err != nil {
		return err
	}
	t.Canonical, err = t.addUp(func(p *Part) string { return p.Canonical })
	return err
}

// addUp adds up a sum of the parts, if all have one.
func (t *Table) addUp(of func(p *Part) string) (string, error) {
	var sum rowsum.Sum
	for i := range t.Parts {
		part := &t.Parts[i]
		if of(part) == "" {
			return "", nil
		}
		one, err := rowsum.Parse(of(part))
		if err != nil {
			return "", fmt.Errorf("manifest: part %q: %w", part.File, err)
		}
		sum.Add(one)
	}
	if len(t.Parts) == 0 {
		return "", nil
	}
	return sum.String(), nil
}
