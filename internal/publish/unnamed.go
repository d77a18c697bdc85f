package publish

import "errors"

// Unnamed is a group of files of [Dir.CreateUnnamed] that are published together. They do not replace other files.
type Unnamed struct {
	publisher *Publisher
	dir       *Dir
	files     []*unnamedFile
	expected  bool
}

type unnamedFile struct {
	*DirFile
	name string
	err  error
}

// NewUnnamed starts a group in a directory. Other callers that publish wait for it briefly, to share their syncs.
func (p *Publisher) NewUnnamed(dir *Dir) *Unnamed {
	p.expect(1)
	return &Unnamed{publisher: p, dir: dir, expected: true}
}

// Add adds a file with the name that it will get. The group then owns the file.
func (u *Unnamed) Add(file *DirFile, name string) {
	u.files = append(u.files, &unnamedFile{file, name, nil})
}

// Publish is [Publisher.Publish] for all files. It returns an error for each file, in the order of Add. If closed is
// not nil, Publish calls it when the files are closed, before their names are durable.
func (u *Unnamed) Publish(closed func()) []error {
	p := u.publisher
	shares := len(u.files) > 0 && p.shares(u.files[0]) // all are on one file system
	if shares {
		u.expected = false
		u.all(p.sync(len(u.files), 1, u.syncEach))
	} else {
		u.arrive()
		u.all(u.syncEach())
	}
	if shares {
		u.each(func(f *unnamedFile) error { return writebackError(f) })
	}
	named := u.each(func(f *unnamedFile) error { return u.dir.Link(f.DirFile, f.name) })
	for _, f := range u.files {
		if err := f.Close(); f.err == nil {
			f.err = err
		}
	}
	if closed != nil {
		closed()
	}
	if named > 0 {
		u.all(p.syncOf(named, shares, u.dir.Sync))
	}
	errs := make([]error, len(u.files))
	for i, f := range u.files {
		errs[i] = f.err
	}
	u.files = nil
	return errs
}

// Drop closes files that were not published, which removes them. After Publish it does nothing.
func (u *Unnamed) Drop() error {
	u.arrive()
	var errs []error
	for _, f := range u.files {
		errs = append(errs, f.Close())
	}
	u.files = nil
	return errors.Join(errs...)
}

func (u *Unnamed) syncEach() error {
	u.each(func(f *unnamedFile) error { return f.syncAll() })
	return nil
}

func (u *Unnamed) arrive() {
	if u.expected {
		u.expected = false
		u.publisher.expect(-1)
	}
}

// each calls do for the files that have no error yet, and returns how many have none afterwards.
func (u *Unnamed) each(do func(*unnamedFile) error) (left int) {
	for _, f := range u.files {
		if f.err == nil {
			f.err = do(f)
		}
		if f.err == nil {
			left++
		}
	}
	return left
}

func (u *Unnamed) all(err error) { u.each(func(*unnamedFile) error { return err }) }
