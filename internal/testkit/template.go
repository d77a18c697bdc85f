package testkit

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// userCache is the user's cache directory. It is asked for when the process begins, since tests change HOME.
var userCache, errUserCache = os.UserCacheDir()

// fromTemplate makes the directory data with the files that a program creates there: the first time in a place that is
// kept, below the user's cache directory, and then by copying them. A copy takes a tenth of the time of initdb. The
// templates differ by what decides on their content: the version of the program, and the arguments of create.
func fromTemplate(data, program string, arguments []string, create func(data string) error) error {
	version, err := exec.Command(program, "--version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s --version: %w\n%s", program, err, version)
	}
	if errUserCache != nil {
		return errUserCache
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %q", program, version, arguments))
	template := filepath.Join(userCache, "culvert", "templates", fmt.Sprintf("%s-%x", filepath.Base(program), sum[:8]))
	if err := copyData(data, template); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := create(data); err != nil {
		return err
	}
	// Others may do the same at this moment: the first one wins.
	if err := os.MkdirAll(filepath.Dir(template), 0o700); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(template), "draft-")
	if err != nil {
		return err
	}
	err = os.CopyFS(filepath.Join(draft, "data"), os.DirFS(data))
	if err == nil {
		err = os.Rename(filepath.Join(draft, "data"), template)
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(draft))
}

// copyData copies the files of a template for the user of the servers, and for nobody else.
func copyData(to, from string) error {
	if _, err := os.Stat(from); err != nil {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		if err != nil {
			return err
		}
		return giveAway(path)
	})
}
