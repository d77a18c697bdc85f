package keyfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"culvert/internal/publish"
)

// PathVariable is the environment variable that names the user's identity file.
const PathVariable = "CULVERT_IDENTITY"

// DefaultPath returns the path of the user's identity file: the value of [PathVariable], or culvert/identity.txt in the
// user's configuration directory.
func DefaultPath() (string, error) {
	if path := os.Getenv(PathVariable); path != "" {
		return path, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("keyfile: no default path for the identity: %w", err)
	}
	return filepath.Join(dir, "culvert", "identity.txt"), nil
}

// Write writes the content of the key's file, including the secret.
func (k *Key) Write(w io.Writer, created time.Time) error {
	_, err := io.WriteString(w, k.text(created))
	return err
}

// Create writes the key to a new file that only its owner can read, and creates missing directories. The file appears
// when it is complete, and is on the disk when Create returns. If the path exists, the error is [os.ErrExist]: Create
// never overwrites an identity. After other errors no file is left, unless the error says that the file is complete but
// may not survive a crash.
func (k *Key) Create(path string, created time.Time) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keyfile: %w", err)
	}
	// Check first, to avoid writing a secret in vain.
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("keyfile: %s: %w", path, os.ErrExist)
	}
	f, err := publish.Create(path, 0o600)
	if err != nil {
		return fmt.Errorf("keyfile: %w", err)
	}
	if err := k.Write(f, created); err != nil {
		return errors.Join(fmt.Errorf("keyfile: %w", err), f.Discard())
	}
	if err := f.Commit(false); err != nil {
		return fmt.Errorf("keyfile: %w", err)
	}
	return nil
}
