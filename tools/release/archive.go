package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// archive packs a program and what goes with it: a zip for Windows, and a tar.gz for other systems.
func (r *release) archive(p program) error {
	if p.goos == "windows" {
		return create(r.name(p, ".zip"), func(w io.Writer) error {
			z := zip.NewWriter(w)
			return errors.Join(r.each(p, func(name string, data []byte, mode fs.FileMode) error {
				header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: r.date}
				header.SetMode(mode)
				f, err := z.CreateHeader(header)
				if err == nil {
					_, err = f.Write(data)
				}
				return err
			}), z.Close())
		})
	}
	return create(r.name(p, ".tar.gz"), func(w io.Writer) error {
		z := gzip.NewWriter(w)
		t := tar.NewWriter(z)
		return errors.Join(r.each(p, func(name string, data []byte, mode fs.FileMode) error {
			return r.addTo(t, name, data, mode)
		}), t.Close(), z.Close())
	})
}

// addTo adds a file to an archive: it belongs to root, and is of the time of the commit.
func (r *release) addTo(t *tar.Writer, name string, data []byte, mode fs.FileMode) error {
	err := t.WriteHeader(&tar.Header{
		Name: name, Mode: int64(mode.Perm()), Size: int64(len(data)), ModTime: r.date, Typeflag: tar.TypeReg,
	})
	if err == nil {
		_, err = t.Write(data)
	}
	return err
}

// each calls f with the program and the files that go with it, in the order of their names.
func (r *release) each(p program, f func(name string, data []byte, mode fs.FileMode) error) error {
	top := filepath.Base(r.name(p, ""))
	data, err := os.ReadFile(p.path)
	if err == nil {
		err = f(top+"/"+filepath.Base(p.path), data, 0o755)
	}
	if err != nil {
		return err
	}
	return fs.WalkDir(os.DirFS(r.stage), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(r.stage, name))
		if err != nil {
			return err
		}
		return f(top+"/"+name, data, 0o644)
	})
}

// create writes a file.
func create(name string, write func(w io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
