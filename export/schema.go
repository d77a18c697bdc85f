package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync/atomic"

	"culvert/agefile"
	"culvert/internal/compress"
	"culvert/manifest"
	"culvert/place"
	"culvert/source"
)

// WriteSchema writes the Schema of the plan, if it has one, and adds it to a manifest. It comes before the manifest.
// With masks, the schema must be that of [mask.Policy.Schema].
func (p *Plan) WriteSchema(ctx context.Context, to place.Place, m *manifest.Manifest) error {
	if p.Schema == nil {
		return nil
	}
	s := manifest.NewSchema(p.Schema)
	s.File = manifest.SchemaName + p.Compression.Extension()
	if !p.Unencrypted {
		s.File += ".age"
	}
	// The file of an export that has stopped is not listed by a manifest, so it is of no use.
	file, err := to.Replace(ctx, s.File)
	if err != nil {
		return err
	}
	out := &output{file: file, sum: sha256.New()}
	var size atomic.Int64
	if s.TextBytes, err = p.pack(io.MultiWriter(out, counterOf(&size)),
		slices.Concat(p.Schema.ForTables, p.Schema.Statements)); err != nil {
		return errors.Join(err, file.Discard())
	}
	s.FileBytes, s.SHA256 = size.Load(), hex.EncodeToString(out.sum.Sum(nil))
	m.Schema = s
	return file.Commit()
}

// separate has a source read the rows that go along with the Schema.
func (p *Plan) separate(src source.Source) {
	if p.Schema != nil && p.Schema.OwnRows {
		source.Separate(src)
	}
}

// SchemaOnly writes the Schema of the plan, and a manifest without rows. If statements of the Schema do not make the
// tables, the manifest has the definitions of those that are named. Name all of them if there are masks, which leave
// out the positions of sequences. An existing manifest is treated as by [Plan.Tables].
func (p *Plan) SchemaOnly(ctx context.Context, to place.Place, src source.Source, names []string) error {
	if p.Schema == nil {
		return errors.New("export: there is no schema")
	}
	if err := p.checkRecipients(); err != nil {
		return err
	}
	description, err := source.Describe(ctx, src)
	if err != nil {
		return err
	}
	m := p.NewManifest(description)
	if !p.Schema.Tables {
		if err := p.define(ctx, src, m, names); err != nil {
			return err
		}
	}
	if err := p.MakeRoom(ctx, to); err != nil {
		return err
	}
	masked := *p
	if !p.Masks.IsZero() {
		tables, err := p.MaskTables(ctx, src, names)
		if err != nil {
			return err
		}
		masked.Schema = p.Masks.Schema(p.Schema, tables)
	}
	if err := masked.WriteSchema(ctx, to, m); err != nil {
		return err
	}
	return p.WriteManifest(ctx, to, m)
}

// define adds tables to a manifest, without their rows.
func (p *Plan) define(ctx context.Context, src source.Source, m *manifest.Manifest, names []string) error {
	const atOnce = 500
	for some := range slices.Chunk(names, atOnce) {
		if err := source.Prepare(ctx, src, some); err != nil {
			return err
		}
		for _, name := range some {
			o, err := p.outline(ctx, src, name, nil)
			if err == nil && o.Definition == nil {
				err = errNoDefinition
			}
			if err != nil {
				return fmt.Errorf("export: table %q: %w", name, err)
			}
			t := manifest.NewTable(name, o.Columns)
			t.Definition = p.Masks.Definition(name, o.Definition)
			m.Add(t)
		}
	}
	return nil
}

// Schema reads the schema of the export, and compares its file with the manifest. It is nil if there is none. An error
// about the file is an [*fs.PathError].
func (d *Directory) Schema(ctx context.Context) (*source.Schema, error) {
	if d.Manifest.Schema == nil {
		return nil, nil
	}
	s := d.Manifest.Schema.Schema
	err := d.readSchema(ctx, func(one source.Statement) {
		if len(s.ForTables) < d.Manifest.Schema.ForTables {
			s.ForTables = append(s.ForTables, one)
			return
		}
		s.Statements = append(s.Statements, one)
	})
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// readSchema calls each with every statement of the schema, if there is one.
func (d *Directory) readSchema(ctx context.Context, each func(source.Statement)) error {
	of := d.Manifest.Schema
	if of == nil {
		return nil
	}
	first, before, after := 0, 0, 0
	errNumber := damagef("it has another number of statements than the manifest says")
	part := manifest.Part{File: of.File, TextBytes: of.TextBytes, FileBytes: of.FileBytes, SHA256: of.SHA256}
	err := d.ReadPart(ctx, &part, func(text io.Reader) error {
		return manifest.ReadStatements(text, func(one source.Statement) error {
			switch {
			case first < of.ForTables:
				first++
			case one.After:
				after++
			default:
				before++
			}
			if before > of.Before || after > of.After {
				return errNumber
			}
			each(one)
			return nil
		})
	})
	if err == nil && (first != of.ForTables || before != of.Before || after != of.After) {
		err = errNumber
	}
	if err != nil {
		return &fs.PathError{Op: "read", Path: of.File, Err: err}
	}
	return nil
}

// pack writes statements compressed and encrypted as the plan says, and returns the size of their text.
func (p *Plan) pack(dst io.Writer, statements []source.Statement) (int64, error) {
	if p.Unencrypted {
		return p.compress(dst, statements)
	}
	w, err := agefile.Config{Workers: 1}.NewWriter(dst, p.Recipients...)
	if err != nil {
		return 0, err
	}
	defer w.Abort() // does nothing once it is closed
	size, err := p.compress(w, statements)
	if err != nil {
		return size, err
	}
	return size, w.Close()
}

func (p *Plan) compress(dst io.Writer, statements []source.Statement) (int64, error) {
	w := &frameWriter{
		dst: dst, codec: compress.NewEncoder(p.Compression.codec(), 1),
		trailer: compress.NewTrailer(p.Compression.codec()),
	}
	if err := manifest.WriteStatements(w, statements); err != nil {
		return w.size, err
	}
	return w.size, w.close()
}

// frameWriter writes text as frames.
type frameWriter struct {
	dst     io.Writer
	codec   *compress.Encoder
	trailer *compress.Trailer
	text    []byte
	frame   []byte
	size    int64 // of all text
}

func (w *frameWriter) Write(p []byte) (int, error) {
	w.text = append(w.text, p...)
	w.size += int64(len(p))
	if len(w.text) < source.BatchSize {
		return len(p), nil
	}
	return len(p), w.flush()
}

func (w *frameWriter) flush() error {
	w.frame = w.codec.AppendFrame(w.frame[:0], w.text)
	w.trailer.Add(int64(len(w.frame)), int64(len(w.text)))
	w.text = w.text[:0]
	_, err := w.dst.Write(w.frame)
	return err
}

func (w *frameWriter) close() error {
	if len(w.text) > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	_, err := w.trailer.WriteTo(w.dst)
	return err
}
