package export

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"culvert/agefile"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
)

// NewManifest begins the manifest of an export, without tables, by what the source says of itself.
func (p *Plan) NewManifest(of source.Description) *manifest.Manifest {
	m := manifest.New(of)
	m.Format = strings.TrimPrefix(p.format().Extension(), ".")
	m.Compression = p.Compression.String()
	m.Encrypted = !p.Unencrypted
	m.Omitted = p.Omitted
	return m
}

// writeManifestOf writes the manifest of tables, whose statistics are in the same order. The snapshot does not hold the
// tables that are outside.
func (p *Plan) writeManifestOf(
	ctx context.Context, to place.Place, m *manifest.Manifest, all []TableStats, outside []string,
) error {
	for i := range all {
		t := &all[i]
		if t.Outside = slices.Contains(outside, t.Name); t.Outside && t.Err == nil {
			m.Consistent = false
			m.Tables[i].Snapshot = manifest.NoSnapshot
		}
	}
	return p.WriteManifest(ctx, to, m)
}

// entry returns the entry of a table that is in one file, or whose export failed.
func (p *Plan) entry(t *TableStats) (manifest.Table, error) {
	if t.Err != nil {
		return manifest.FailedTable(t.Name, t.Err), nil
	}
	header, err := p.headerSize(t.Columns)
	if err != nil {
		return manifest.Table{}, err
	}
	entry := manifest.NewTable(t.Name, t.Columns)
	entry.HeaderBytes, entry.Readers, entry.Definition = header, t.Readers, t.definition
	entry.Parts = []manifest.Part{{
		File: t.File, Rows: t.Rows, TextBytes: t.Text, FileBytes: t.Out, SHA256: hex.EncodeToString(t.SHA256[:]),
		Sum: t.Sum.String(), Untold: manifest.ValidNames(t.Untold),
	}}
	return entry, entry.AddUp()
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
		_, err = m.WriteTo(file)
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
	if _, err := m.WriteTo(w); err != nil {
		return err
	}
	return w.Close()
}
