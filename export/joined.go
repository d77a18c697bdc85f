package export

import (
	"errors"
	"fmt"
	"io"

	"culvert/export/internal/joined"
	"culvert/manifest"
)

// joins returns an error if the parts of a table, one after the other, are no file of the format.
func (d *Directory) joins(t *manifest.Table) error {
	if t.Parted() && !d.Manifest.IsText() {
		return fmt.Errorf("export: a table in parts of the format %s is no file as a whole; open its files",
			d.Manifest.Format)
	}
	return nil
}

// openJoined opens a table in parts as one text.
func (d *Directory) openJoined(t *manifest.Table) (*Reader, error) {
	if err := d.joins(t); err != nil {
		return nil, err
	}
	if d.config.Packed {
		return nil, errors.New("export: a table in parts has no compressed form as a whole; open its files")
	}
	var last *Reader // of the current part
	text, err := joined.NewText(t, func(part *manifest.Part) (io.ReadCloser, error) {
		r, err := d.config.Open(d.fs, part.File)
		if err != nil {
			return nil, err
		}
		if r.encrypted != d.Manifest.Encrypted || r.armored {
			err = damagef("it is another kind of file than the manifest says")
			return nil, errors.Join(err, r.Close())
		}
		last = r
		return r, nil
	}, damagef)
	if err != nil {
		return nil, err
	}
	return &Reader{text: text, form: last.form, joined: text, codec: last.Compression()}, nil
}
