package receive

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"culvert/fileservice"
	"culvert/fileservice/internal/osfile"
	"culvert/internal/publish"
)

// Small receives small files of one directory, each whole. If the file system supports it, a file that replaces nothing
// has no name until it is complete and durable. Any other is received by a File.
//
//	Add       file without a name ◀── bytes, time
//	Publish   sync of all ──▶ names ──▶ sync of the directory
type Small struct {
	Dir     *publish.Dir
	local   string // path of the directory
	receive func(local string, version fileservice.Version) (*File, error)
	unnamed *publish.Unnamed
	named   bool // the file system does not support files without names
	Empty   bool // the directory was empty
	clean   bool // the directory has no unfinished files
	Files   []*smallFile
}

// firstNames is the number of names read from a directory. A directory with fewer needs no lookups for each file; the
// bound keeps large directories cheap.
const firstNames = 256

// NewSmall begins to receive files into dir, which the result owns. It calls receive for files that must have a name.
func NewSmall(
	dir *publish.Dir, local string, publisher *publish.Publisher,
	receive func(local string, version fileservice.Version) (*File, error),
) *Small {
	s := &Small{Dir: dir, local: local, receive: receive, unnamed: publisher.NewUnnamed(dir)}
	names, err := dir.FirstNames(firstNames)
	if err == nil && len(names) < firstNames {
		s.Empty, s.clean = len(names) == 0, !slices.ContainsFunc(names, fileservice.IsReserved)
	}
	return s
}

// smallFile is one of the files. It has no name yet, or a receiver, or an error.
type smallFile struct {
	name        string
	receiver    *File
	sum         fileservice.Sum
	permissions fs.FileMode
	err         error
}

// Add adds a file that the caller has compared with its sum. Publish returns its error.
func (s *Small) Add(file *fileservice.SmallFile, content []byte, sum fileservice.Sum) {
	f := &smallFile{name: file.Name, sum: sum, permissions: file.Permissions.Perm()}
	f.err = s.write(f, file, content)
	s.Files = append(s.Files, f)
}

func (s *Small) write(f *smallFile, file *fileservice.SmallFile, content []byte) (err error) {
	if !s.named && s.isFree(file.Name) {
		err = s.writeUnnamed(file, content)
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		s.named = true
	}
	f.receiver, err = s.receive(filepath.Join(s.local, file.Name), file.Version)
	if err != nil || len(content) == 0 {
		return err
	}
	return f.receiver.WriteBlock(0, content, f.sum)
}

// isFree reports whether neither a file of the name nor an unfinished one exists.
func (s *Small) isFree(name string) bool {
	if s.Empty {
		return !fileservice.IsReserved(name)
	}
	_, err := s.Dir.Lstat(name)
	return errors.Is(err, fs.ErrNotExist) && s.IsUnbegun(name)
}

// IsUnbegun reports whether no unfinished file of the name exists.
func (s *Small) IsUnbegun(name string) bool {
	names, err := UnfinishedNames(name)
	if err != nil || s.clean {
		return err == nil
	}
	_, part := s.Dir.Lstat(names.part)
	_, journal := s.Dir.Lstat(names.journal)
	return errors.Is(part, fs.ErrNotExist) && errors.Is(journal, fs.ErrNotExist)
}

func (s *Small) writeUnnamed(file *fileservice.SmallFile, content []byte) error {
	created, err := s.Dir.CreateUnnamed(cmp.Or(file.Permissions.Perm(), 0o600))
	if err != nil {
		return err
	}
	_, err = created.Write(content)
	if err == nil {
		err = created.SetModified(file.Version.ModTime())
	}
	if err != nil {
		return errors.Join(err, created.Close())
	}
	s.unnamed.Add(created, file.Name)
	return nil
}

// IsThere reports whether the directory has a copy of f, one of Files.
func (s *Small) IsThere(f *smallFile, version fileservice.Version) bool {
	info, err := s.Dir.Lstat(f.name)
	if err != nil || !fileservice.IsSame(info, version) {
		return false
	}
	content := make([]byte, version.Size)
	err = osfile.ReadSmall(s.Dir, f.name, fileservice.VersionOf(info), content)
	return err == nil && fileservice.SumFile(content) == f.sum
}

// Publish names all files and returns an error or nil for each. It calls closed when the files without names are
// closed.
func (s *Small) Publish(closed func()) []error {
	var finishing sync.WaitGroup
	for _, f := range s.Files {
		if f.receiver != nil {
			finishing.Go(func() {
				if f.err == nil {
					_, f.err = f.receiver.Finish(f.sum, f.permissions)
				}
				f.err = errors.Join(f.err, f.receiver.Close())
			})
		}
	}
	unnamed := s.unnamed.Publish(closed)
	finishing.Wait()
	errs := make([]error, len(s.Files))
	for i, f := range s.Files {
		errs[i] = f.err
		if f.err == nil && f.receiver == nil {
			errs[i], unnamed = unnamed[0], unnamed[1:]
		}
		if f.receiver == nil {
			errs[i] = ErrorAbout(errs[i], filepath.Join(s.local, f.name))
		}
	}
	s.Files = nil
	return errs
}

// Close closes the directory and drops files that were not published.
func (s *Small) Close() error {
	errs := []error{s.unnamed.Drop()}
	for _, f := range s.Files {
		if f.receiver != nil {
			errs = append(errs, f.receiver.Close())
		}
	}
	s.Files = nil
	return errors.Join(append(errs, s.Dir.Close())...)
}

// ErrorAbout returns err with its path replaced by name, the file of a call that it concerns.
func ErrorAbout(err error, name string) error {
	if path, is := errors.AsType[*fs.PathError](err); is {
		return &fs.PathError{Op: path.Op, Path: name, Err: path.Err}
	}
	return err
}
