package load

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"culvert/agefile"
	"culvert/internal/publish"
	"culvert/place"
)

func (r *rejecting) create(ctx context.Context, part, into string) (place.File, error) {
	create, name := r.to.Create, r.name(part, into)
	if r.replaces {
		create = r.to.Replace
		if err := r.sweep(ctx, name); err != nil {
			return nil, err
		}
	}
	file, err := create(ctx, name)
	if err != nil || r.flags.plain {
		return file, err
	}
	w, err := agefile.Config{Workers: 1}.NewWriter(file, r.recipients...)
	if err != nil {
		return nil, errors.Join(err, file.Discard())
	}
	return &sealed{file, w}, nil
}

func (r *rejecting) remove(ctx context.Context, part, into string) error {
	name := r.name(part, into)
	err := r.to.Remove(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if r.replaces {
		err = errors.Join(err, r.sweep(ctx, name))
	}
	return err
}

// sweep removes unfinished files that a killed process has left. With a ledger, only the process that fills the table
// writes them. Each directory is listed once, before a file is begun in it.
func (r *rejecting) sweep(ctx context.Context, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	in := path.Dir(name)
	if r.left[in] == nil {
		entries, err := fs.ReadDir(r.to, in)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		left := map[string][]string{}
		for _, entry := range entries {
			if whole, is := publish.WholeName(entry.Name()); is {
				whole = path.Join(in, whole)
				left[whole] = append(left[whole], path.Join(in, entry.Name()))
			}
		}
		r.left[in] = left
	}
	var all []error
	for _, one := range r.left[in][name] {
		if err := r.to.Remove(ctx, one); !errors.Is(err, fs.ErrNotExist) {
			all = append(all, err)
		}
	}
	delete(r.left[in], name)
	return errors.Join(all...)
}

// sealed is a file of which what is written is encrypted.
type sealed struct {
	place.File
	w *agefile.Writer
}

func (f *sealed) Write(p []byte) (int, error) { return f.w.Write(p) }

func (f *sealed) Commit() error {
	if err := f.w.Close(); err != nil {
		return err
	}
	return f.File.Commit()
}

func (f *sealed) Discard() error {
	f.w.Abort() // does nothing after Close
	return f.File.Discard()
}
