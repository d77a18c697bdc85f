package keyfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"culvert/internal/durable"
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

// Create writes the key to a new file that only its owner can read, and makes the directories on the way. The file
// appears when it is complete, and is on the disk when Create returns. It fails with an error that is [os.ErrExist] if
// the name is taken: no identity is ever overwritten. On any other error no file is left, unless the error says that
// the file is complete but may not survive a crash.
func (k *Key) Create(path string, created time.Time) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keyfile: %w", err)
	}
	// To look first spares a secret that nobody wants.
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("keyfile: %s: %w", path, os.ErrExist)
	}
	part := durable.PartName(path)
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("keyfile: %w", err)
	}
	err = k.Write(f, created)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = durable.RenameNew(part, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keyfile: writing %s: %w", path, err), os.Remove(part))
	}
	if err := durable.SyncDir(dir); err != nil {
		return fmt.Errorf("keyfile: %s is complete, but it may not survive a crash of the system: %w", path, err)
	}
	return nil
}
