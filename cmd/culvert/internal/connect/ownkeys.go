package connect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"culvert/cmd/culvert/internal/ui"
	"culvert/internal/keyfile"
)

// keyFile is a file of one's own keys, which others must not have.
type keyFile struct {
	path string
	info fs.FileInfo
}

// KeyFiles returns those that are in use, and the own identity, as far as they are files.
func (f *KeyFlags) KeyFiles() []keyFile {
	paths := append(f.Inputs(), string(f.Identity))
	if own, err := keyfile.DefaultPath(); err == nil && own != string(f.Identity) {
		paths = append(paths, own)
	}
	var files []keyFile
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, keyFile{path, info})
		}
	}
	return files
}

// Withhold keeps files of keys out of a directory that is pushed.
func Withhold(keys []keyFile) func(fs.FileInfo) error {
	return func(info fs.FileInfo) error {
		for _, key := range keys {
			if os.SameFile(info, key.info) {
				return errors.New("it is a file of a key in use, which stays here")
			}
		}
		return nil
	}
}

// WarnOfKeys tells of files of keys in a directory that is served.
func WarnOfKeys(console *ui.Console, dir string, keys []keyFile) {
	tree, err := realPath(dir)
	if err != nil {
		return // serving it will say why
	}
	for _, key := range keys {
		path, err := realPath(key.path)
		if err != nil {
			continue
		}
		if below, err := filepath.Rel(tree, path); err == nil && filepath.IsLocal(below) {
			console.Warn(fmt.Sprintf("%s is a file of a key in use, and whoever may connect can read it", key.path))
		}
	}
}

func realPath(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}
