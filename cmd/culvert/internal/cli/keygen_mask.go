package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"culvert/cmd/culvert/internal/command"
	"culvert/internal/publish"
	"culvert/mask"
)

// maskKeygen writes a key for masks to a new file that only its owner can read.
func maskKeygen(a *command.App, r *keygenReport, path string) (err error) {
	if path == "" {
		return command.WithHint(command.Usagef("a mask key needs a file"), "culvert keygen --mask -o mask.key")
	}
	key := mask.GenerateKey()
	r.Path, r.Fingerprint = path, key.Fingerprint()
	if path == "-" {
		warnOfReadableOutput(a)
		return writeMaskKey(a.Stdout, key)
	}
	if _, err := os.Lstat(path); err == nil {
		return command.WithHint(fmt.Errorf("mask key file %q exists", path), "make another one elsewhere: -o FILE")
	}
	f, err := publish.Create(path, 0o600)
	if err != nil {
		return err
	}
	if err := writeMaskKey(f, key); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit(false)
}

func writeMaskKey(w io.Writer, key *mask.Key) error {
	_, err := fmt.Fprintf(w, "# created: %s\n# fingerprint: %s\n%s", time.Now().UTC().Format(time.RFC3339),
		key.Fingerprint(), key.Text())
	return err
}
