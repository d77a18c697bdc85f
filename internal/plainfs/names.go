package plainfs

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync"
)

const (
	sealedEnd = ".age"
	packedEnd = ".zst.age"
)

// maxName is how long a name can be on all usual file systems, in bytes.
const maxName = 255

// form is how a file is shown.
type form uint8

const (
	asItIs form = iota
	decrypted
	decompressed
)

// end is what a file of this form has at the end of its name, and its name in the view has not.
func (f form) end() string {
	switch f {
	case decrypted:
		return sealedEnd
	case decompressed:
		return packedEnd
	default:
		return ""
	}
}

// shape is what was found out about a version of a file.
type shape struct {
	form form
	size int64 // of what it is shown as
}

// sealedFile is a file of the file system that is shown under another name.
type sealedFile struct {
	name string // in the file system
	info fs.FileInfo
	shape
}

// find finds the file that is shown under a name that the file system does not have. The error says why that cannot be
// told.
func (f *FS) find(name string) (sealedFile, bool, error) {
	forms := [...]form{decompressed, decrypted}
	var found [len(forms)]sealedFile
	var errs [len(forms)]error
	var wait sync.WaitGroup
	for i, form := range forms {
		wait.Go(func() { found[i], errs[i] = f.lookInto(name + form.end()) })
	}
	wait.Wait()
	for i, form := range forms {
		if errs[i] != nil {
			return sealedFile{}, false, errs[i]
		}
		if found[i].form == form {
			return found[i], true, nil
		}
	}
	return sealedFile{}, false, nil
}

// lookInto finds out how a file is shown, if there is one.
func (f *FS) lookInto(name string) (sealedFile, error) {
	if len(path.Base(name)) > maxName {
		return sealedFile{}, nil
	}
	info, err := fs.Lstat(f.source, name)
	switch {
	case err == nil:
		return f.describe(name, info)
	case isOfFile(err):
		return sealedFile{}, nil
	default:
		return sealedFile{}, withoutPath(err)
	}
}

// describe finds out how a file is shown.
func (f *FS) describe(name string, info fs.FileInfo) (sealedFile, error) {
	sealed := sealedFile{name: name, info: info}
	if !info.Mode().IsRegular() || !mayBeSealed(name) {
		return sealed, nil
	}
	if version := versionOf(info); version != nil {
		if known, ok := f.shapes.Get(fileVersion{name, version}); ok {
			sealed.shape = known
			return sealed, nil
		}
	}
	content, err := f.open(name)
	if err != nil {
		if isOfFile(err) {
			err = nil
		}
		return sealed, withoutPath(err)
	}
	sealed.info, sealed.shape = content.info, content.shape
	return sealed, content.source.Close()
}

// isOfFile reports whether an error belongs to one file and will not pass: it is then shown as it is, or not at all.
func isOfFile(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid)
}

// mayBeSealed reports whether a name has an end to take away, and something before it.
func mayBeSealed(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, sealedEnd) && base != sealedEnd && base != packedEnd
}

// shownAs gives the entry of the view for one of the file system. It agrees with find: a file is listed under the name
// that finds it.
func (f *FS) shownAs(dir string, entry fs.DirEntry) fs.DirEntry {
	name := path.Join(dir, entry.Name())
	if !entry.Type().IsRegular() || !mayBeSealed(name) {
		return entry
	}
	info, err := entry.Info()
	if err != nil {
		return entry // it will be told to who asks for it
	}
	sealed, err := f.describe(name, info)
	if err != nil || sealed.form == asItIs {
		return entry
	}
	plain := strings.TrimSuffix(name, sealed.form.end())
	if _, err := fs.Lstat(f.source, plain); !errors.Is(err, fs.ErrNotExist) {
		return entry
	}
	if sealed.form == decrypted {
		first, err := f.lookInto(plain + packedEnd)
		if err != nil || first.form == decompressed {
			return entry
		}
	}
	return fs.FileInfoToDirEntry(plainInfo(plain, sealed.info, sealed.size))
}
