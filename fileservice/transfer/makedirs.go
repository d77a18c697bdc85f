package transfer

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"culvert/fileservice"
	"culvert/fileservice/internal/osfile"
	"culvert/fileservice/internal/receive"
	"culvert/internal/publish"
)

// inDir calls do, and again after it has made dir if that is missing.
func inDir(dir string, makeDirs func(string) error, do func() error) error {
	err := do()
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeDirs(dir); err != nil {
		return err
	}
	return do()
}

// makeDirs creates a directory and its missing parents, and makes their names durable.
func (p *pull) makeDirs(dir string) error {
	root := p.config.Root
	if info, err := root.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := p.makeDirs(parent); err != nil {
			return err
		}
	}
	permissions := fs.FileMode(0o777)
	if name, below := cutDir(p.config.Local, filepath.ToSlash(dir)); below {
		info, err := p.from.stat(path.Join(p.config.Remote, name))
		if err != nil {
			return reading(err)
		}
		permissions = info.Mode()
	}
	err := p.makeDir(dir, permissions)
	if err == nil {
		return publish.SyncDir(root, parent)
	}
	if info, err := root.Stat(dir); err == nil && info.IsDir() {
		return nil // created for another file meanwhile
	}
	if _, missing := root.Lstat(dir); missing == nil && errors.Is(err, fs.ErrExist) {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: fmt.Errorf("%w: it is not a directory", fs.ErrExist)}
	}
	return err
}

func (p *pull) makeDir(dir string, permissions fs.FileMode) error {
	if p.config.Origin != "" && filepath.ToSlash(dir) == p.config.Local {
		p.making.Lock()
		defer p.making.Unlock()
		return receive.MakeDir(p.config.Root, dir, permissions, p.config.Origin)
	}
	return p.config.Root.Mkdir(dir, osfile.DirPermissions(permissions))
}

// makeDirsIn creates the directories among entries. A failure shows when the directory is listed.
func (p *pull) makeDirsIn(name, local string, entries []fs.DirEntry) error {
	made := false
	for _, entry := range entries {
		if !entry.IsDir() || fileservice.IsReserved(entry.Name()) || p.config.excludes(path.Join(name, entry.Name())) {
			continue
		}
		permissions := osfile.DirPermissions(entry.(*fileservice.Info).Mode())
		made = p.config.Root.Mkdir(filepath.Join(local, entry.Name()), permissions) == nil || made
	}
	if !made {
		return nil
	}
	return publish.SyncDir(p.config.Root, local)
}

// makeDirs creates a directory of the server and its missing parents. Any other place makes them with their files.
func (p *push) makeDirs(remote string) error {
	if remote == "." || p.to.server == nil {
		return nil
	}
	permissions := fs.FileMode(0o777)
	if name, below := cutDir(p.config.Remote, remote); below {
		info, err := p.config.Root.Lstat(path.Join(p.config.Local, name))
		if err != nil {
			return reading(err)
		}
		permissions = info.Mode()
	}
	defer p.madeDir(remote)
	return inDir(path.Dir(remote), p.makeDirs, func() error { return p.to.server.MkdirIfMissing(remote, permissions) })
}

// cutDir returns name relative to dir, and whether it is below dir.
func cutDir(dir, name string) (below string, is bool) {
	switch dir {
	case ".":
		return name, true
	case name:
		return ".", true
	}
	return strings.CutPrefix(name, dir+"/")
}
