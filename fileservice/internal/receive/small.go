package receive

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"culvert/fileservice"
	"culvert/internal/publish"
)

// Small receives small files of one directory, each whole. One that replaces nothing has no name until it is
// complete and durable, where the file system has that; any other gets a receiver of its own.
//
//	add       file without a name ◀── bytes, time
//	publish   sync of all ──▶ names ──▶ sync of the directory
type Small struct {
	Dir     *publish.Dir
	local   string // path of the directory
	receive func(local string, version fileservice.Version) (*File, error)
	unnamed *publish.Unnamed
	named   bool // there are no files without names
	Empty   bool // there was nothing in the directory
	clean   bool // no earlier transfer has left anything in it
	Files   []*smallFile
}

// firstNames is how many names of a directory are read to be spared three questions for each file. It bounds what
// directories with many files cost, into which many calls go.
const firstNames = 256

// NewSmall begins to receive files into an open directory, which is its own from then on. What receive opens is
// for a file that cannot be without a name.
func NewSmall(
	dir *publish.Dir, local string, publisher *publish.Publisher, receive func(string, fileservice.Version) (*File, error),
) *Small {
	s := &Small{Dir: dir, local: local, receive: receive, unnamed: publisher.NewUnnamed(dir)}
	names, err := dir.FirstNames(firstNames)
	if err == nil && len(names) < firstNames {
		s.Empty, s.clean = len(names) == 0, !slices.ContainsFunc(names, fileservice.IsReserved)
	}
	return s
}

// receivedSmall is one of them. It has no name, or a receiver, or an error.
type smallFile struct {
	name        string
	receiver    *File
	sum         fileservice.Sum
	permissions fs.FileMode
	err         error
}

// Add takes a file that has been compared with its hash. Publish tells what is wrong with it.
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

// isFree reports whether there is neither a file of the name nor what an earlier transfer has left of one.
func (s *Small) isFree(name string) bool {
	if s.Empty {
		return !fileservice.IsReserved(name)
	}
	_, err := s.Dir.Lstat(name)
	return errors.Is(err, fs.ErrNotExist) && s.IsUnbegun(name)
}

// IsUnbegun reports whether an earlier transfer has left nothing of a file.
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
	permissions := file.Permissions.Perm()
	if permissions == 0 {
		permissions = 0o600
	}
	created, err := s.Dir.CreateUnnamed(permissions)
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

// Publish gives all files their names. It tells what has come of each, and before that, by closed, that there are no
// more descriptors of those without names.
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

// Close closes the directory, and gives up files that were not published.
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

// ErrorAbout gives an error of a whole call the name of one of its files.
func ErrorAbout(err error, name string) error {
	if path, is := errors.AsType[*fs.PathError](err); is {
		return &fs.PathError{Op: path.Op, Path: name, Err: path.Err}
	}
	return err
}
