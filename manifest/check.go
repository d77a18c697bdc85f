package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"reflect"
	"strings"
	"unicode/utf8"
)

// checkFields fails if parsers of JSON may read the text differently: if a field is repeated, or has a name that some
// parsers take for another one.
func checkFields(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("it is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var open []map[string]bool // the fields of each object that is open; nil for an array
	isName := false            // the next string is the name of a field
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		switch token := token.(type) {
		case json.Delim:
			switch token {
			case '{':
				open = append(open, map[string]bool{})
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
		case string:
			if isName {
				fields := open[len(open)-1]
				if !isFieldName(token) || fields[token] {
					return fmt.Errorf("it has a field %.100q that is repeated or no manifest has", token)
				}
				fields[token] = true
				isName = false
				continue
			}
		}
		isName = len(open) > 0 && open[len(open)-1] != nil
	}
}

// isFieldName reports whether a field of a manifest, of any version, may have a name.
func isFieldName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	})
}

// check fails if fields have values that no export writes.
func (m *Manifest) check() error {
	if len(m.Tables) == 0 && m.Schema == nil {
		return errors.New("it lists no tables")
	}
	// Files and the directories of parted tables must differ. A directory may have files of one table.
	taken := map[string]bool{}
	for _, name := range []string{EncryptedName, Name} {
		taken[name] = true
	}
	if m.Schema != nil {
		if err := m.Schema.check(); err != nil {
			return fmt.Errorf("the schema %w", err)
		}
		taken[caseless(m.Schema.File)] = true
	}
	for i := range m.Tables {
		t := &m.Tables[i]
		if err := t.check(); err != nil {
			return fmt.Errorf("table %q %w", t.Name, err)
		}
		if t.Error != "" || t.IsDefined() {
			continue
		}
		if taken[caseless(t.File())] {
			return fmt.Errorf("table %q is in the file %q of another", t.Name, t.File())
		}
		taken[caseless(t.File())] = true
	}
	return nil
}

func (t *Table) check() error {
	if t.Error != "" {
		if failed := (Table{Name: t.Name, Error: t.Error}); !reflect.DeepEqual(*t, failed) {
			return errors.New("has both an error and a file")
		}
		return nil
	}
	if defined := (Table{Name: t.Name, Columns: t.Columns, Definition: t.Definition}); len(t.Parts) == 0 &&
		(t.Definition == nil || !reflect.DeepEqual(*t, defined)) {
		return errors.New("has neither a file nor an error")
	}
	if t.Readers < 0 || t.HeaderBytes < 0 {
		return errors.New("has a number below zero")
	}
	if d := t.Definition; d != nil && (d.Dialect == "" || d.Name == "" && t.Name != "") { // SQLite has tables named ""
		return errors.New("has a definition without a dialect or a name")
	}
	taken := map[string]bool{}
	for i := range t.Parts {
		part := &t.Parts[i]
		if err := part.check(t); err != nil {
			return err
		}
		if taken[caseless(part.File)] {
			return fmt.Errorf("has the file %q twice", part.File)
		}
		taken[caseless(part.File)] = true
	}
	if t.IsDefined() {
		return nil
	}
	return t.checkTotals()
}

// check fails if a part of the table has values that no export writes.
func (p *Part) check(t *Table) error {
	dir, name := path.Split(p.File)
	if !isFileName(name) || dir != "" && !isFileName(strings.TrimSuffix(dir, "/")) {
		return fmt.Errorf("is in a file %q, which no file can be named", p.File)
	}
	if path.Dir(p.File) != path.Dir(t.Parts[0].File) || dir == "" && len(t.Parts) > 1 {
		return fmt.Errorf("has parts in %q and %q, which are not in one directory of its own", t.Parts[0].File, p.File)
	}
	hash, err := hex.DecodeString(p.SHA256)
	switch {
	case p.Rows < 0, p.TextBytes < 0, p.FileBytes < 0:
		return errors.New("has a number below zero")
	case p.TextBytes < t.HeaderBytes:
		return errors.New("has a part that is shorter than the header")
	case err != nil, len(hash) != sha256.Size, strings.ToLower(p.SHA256) != p.SHA256:
		return errors.New("has no SHA-256")
	case (p.Sum == "") != (t.Sum == ""):
		return errors.New("has a sum of some of its parts only")
	case p.Canonical != "" && p.Sum == "":
		return errors.New("has a canonical sum without the sum of the text")
	}
	return nil
}

// checkTotals fails if the figures of the parts do not add up to the figures of the table.
func (t *Table) checkTotals() error {
	total := *t
	if err := total.AddUp(); err != nil {
		return fmt.Errorf("has parts that cannot be added up: %w", err)
	}
	if total.Rows != t.Rows || total.TextBytes != t.TextBytes || total.FileBytes != t.FileBytes {
		return errors.New("has other figures than its parts together")
	}
	if total.Sum != t.Sum || total.Canonical != t.Canonical {
		return errors.New("has another sum than its parts together")
	}
	return nil
}
