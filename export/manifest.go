package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"culvert/agefile"
	"culvert/format"
	"culvert/manifest"
	"culvert/mask"
	"culvert/place"
	"culvert/source"
)

// NewManifest begins the manifest of an export, without tables, by what the source says of itself.
func (p *Plan) NewManifest(of source.Description) *manifest.Manifest {
	m := manifest.New(of)
	m.Format = strings.TrimPrefix(p.format().Extension(), ".")
	if d, is := p.format().(format.Dialect); is {
		m.CSV, m.Requires = d.String(), []string{manifest.DialectFeature}
	}
	m.Compression = p.Compression.String()
	m.Encrypted, m.Lossy = !p.Unencrypted, p.Lossy.String()
	m.Omitted = p.Omitted
	if !p.Masks.IsZero() && p.Masks.Key != nil {
		m.MaskKey = p.Masks.Key.Fingerprint()
	}
	return m
}

// Entry returns the entry of the manifest for a table of which all files are written, in the order of their ranges.
func (p *Plan) Entry(o *Outline, files []manifest.Part) (manifest.Table, error) {
	for i := range files {
		if files[i].File == "" {
			return manifest.Table{}, fmt.Errorf("export: part %d is not written", i+1)
		}
	}
	header, err := p.headerSize(o.Columns)
	if err != nil {
		return manifest.Table{}, err
	}
	t := manifest.NewTable(o.Table, o.Columns)
	choice := p.choiceOf(o.Table)
	if choice.NoRows {
		t.Definition = p.Masks.Definition(o.Table, o.Definition)
		return t, nil
	}
	t.Where, t.HeaderBytes, t.Definition, t.Parts = choice.Selection.Where, header, o.Definition, files
	p.addMasks(&t)
	if o.Outside {
		t.Snapshot = manifest.NoSnapshot
	}
	return t, t.AddUp()
}

// addMasks adds the masks of a table to its entry. The ranges of parts have values of the columns by which the table
// was cut, so they are left out if these are masked. So are the positions of sequences, which are the last values of
// columns.
func (p *Plan) addMasks(t *manifest.Table) {
	rules := p.Masks.Of(t.Name)
	for column, rule := range rules {
		t.Masks = append(t.Masks, manifest.Mask{Column: column, Rule: rule.String()})
	}
	slices.SortFunc(t.Masks, func(a, b manifest.Mask) int { return strings.Compare(a.Column, b.Column) })
	t.Parts = slices.Clone(t.Parts)
	for i := range t.Parts {
		if t.Parts[i].Range != nil && showsMasked(rules, t.Parts[i].Range) {
			t.Parts[i].Range = nil
		}
	}
	t.Definition = p.Masks.Definition(t.Name, t.Definition)
}

// showsMasked reports whether a range may have values of columns that are masked. A position of PostgreSQL is no value;
// that of SQLite may be.
func showsMasked(rules mask.Rules, r *source.Range) bool {
	if len(rules) == 0 || r.By == "ctid" {
		return false
	}
	var columns []string
	if json.Unmarshal([]byte(r.By), &columns) != nil {
		return true
	}
	return slices.ContainsFunc(columns, func(name string) bool { return !rules[name].IsZero() })
}

// MakeRoom ensures that the place has neither the journal of an export by several workers that was not finished, nor a
// manifest. With Overwrite, it removes them, the journal first: without a manifest, it would mean that its export can
// go on. Otherwise the error wraps [fs.ErrExist] if there is one of them.
func (p *Plan) MakeRoom(ctx context.Context, in place.Place) error {
	names, err := manifest.JournalFiles(place.WithContext(ctx, in))
	if err != nil {
		return err
	}
	journal := len(names) > 0
	for _, name := range append(names, manifest.EncryptedName, manifest.Name) {
		var err error
		if p.Overwrite {
			err = in.Remove(ctx, name)
		} else if _, err = fs.Lstat(place.WithContext(ctx, in), name); err == nil {
			err = &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if journal {
		_ = in.Remove(ctx, manifest.JournalDirectory) // it may have other files, or be no directory, and does no harm
	}
	return nil
}

// WriteManifest writes the manifest of an export that ends now. It must be the last file.
func (p *Plan) WriteManifest(ctx context.Context, to place.Place, m *manifest.Manifest) (err error) {
	m.Ended = time.Now().UTC().Truncate(time.Millisecond)
	name := manifest.Name
	if !p.Unencrypted {
		name = manifest.EncryptedName
	}
	file, err := p.create(ctx, to, name)
	if err != nil {
		return err
	}
	if p.Unencrypted {
		err = p.sign(file, m)
	} else {
		err = p.seal(file, m)
	}
	if err != nil {
		return errors.Join(err, file.Discard())
	}
	return file.Commit()
}

// seal writes the manifest encrypted.
func (p *Plan) seal(dst io.Writer, m *manifest.Manifest) error {
	w, err := agefile.Config{Workers: 1}.NewWriter(dst, p.Recipients...)
	if err != nil {
		return err
	}
	defer w.Abort() // does nothing once it is closed
	if err := p.sign(w, m); err != nil {
		return err
	}
	return w.Close()
}

// sign writes the manifest with the signature of its author, if it has one.
func (p *Plan) sign(w io.Writer, m *manifest.Manifest) (err error) {
	if p.Author == nil {
		_, err = m.WriteTo(w)
	} else {
		_, err = m.WriteSigned(w, p.Author)
	}
	return err
}
