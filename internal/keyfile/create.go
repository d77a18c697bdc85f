package keyfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// PathVariable is the environment variable that names the own identity file.
const PathVariable = "CULVERT_IDENTITY"

// DefaultPath is where the own identity lives: the file that [PathVariable] names, or else culvert/identity.txt in the
// user's configuration directory.
func DefaultPath() (string, error) {
	if path := os.Getenv(PathVariable); path != "" {
		return path, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("keyfile: no place for an identity: %w", err)
	}
	return filepath.Join(dir, "culvert", "identity.txt"), nil
}

// Write writes the content of the key's file, secret included.
func (k *Key) Write(w io.Writer, created time.Time) error {
	_, err := io.WriteString(w, k.text(created))
	return err
}

// Create writes the key to a new file that only its owner can read, and makes the directories on the way. It fails with
// an error that is [os.ErrExist] if the file is there: no identity is ever overwritten. On any other error no file is
// left.
func (k *Key) Create(path string, created time.Time) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keyfile: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("keyfile: %w", err)
	}
	err = k.Write(f, created)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("keyfile: writing %s: %w", path, err), os.Remove(path))
	}
	return nil
}
