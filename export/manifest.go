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
	return m
}

// outsideSnapshot is the state of a table that no snapshot holds.
const outsideSnapshot = "none"

// writeManifestOf writes the manifest of tables, whose statistics are in the same order. The snapshot does not hold the
// tables that are outside.
func (p *Plan) writeManifestOf(
	ctx context.Context, to place.Place, m *manifest.Manifest, all []TableStats, outside []string,
) error {
	for i := range all {
		t := &all[i]
		if t.Outside = slices.Contains(outside, t.Name); t.Outside && t.Err == nil {
			m.Consistent = false
			m.Tables[i].Snapshot = outsideSnapshot
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
		Sum: t.Sum.String(),
	}}
	return entry, entry.AddUp()
}

// RemoveManifest ensures that there is no manifest. Without Overwrite, the error wraps [fs.ErrExist] if there is one.
func (p *Plan) RemoveManifest(ctx context.Context, from place.Place) error {
	for _, name := range []string{manifest.EncryptedName, manifest.Name} {
		var err error
		if p.Overwrite {
			err = from.Remove(ctx, name)
		} else if _, err = fs.Lstat(from, name); err == nil {
			err = &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
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
