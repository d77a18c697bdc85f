package export

import (
	"errors"
	"io"

	"culvert/export/internal/joined"
	"culvert/manifest"
)

// openJoined opens a table in parts as one text.
func (d *Directory) openJoined(t *manifest.Table) (*Reader, error) {
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
