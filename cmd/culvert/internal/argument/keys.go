package argument

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/internal/keyfile"
)

// KeyFlags say who one is on a connection.
type KeyFlags struct {
	Identity command.NotEmpty
	command.PassphraseFlags
}

// Add adds the flags to a command.
func (f *KeyFlags) Add(cmd *cobra.Command) {
	cmd.Flags().VarP(&f.Identity, "identity", "i", "be the identity in `FILE` (default: your own)")
	f.PassphraseFlags.Add(cmd)
}

// Key reads the key that one proves to hold.
func (f *KeyFlags) Key(ctx context.Context, a *command.App) (*keyfile.Key, error) {
	key, _, err := f.read(ctx, a)
	return key, err
}

// Identities returns all that is in the file of the identity.
func (f *KeyFlags) Identities(ctx context.Context, a *command.App) ([]age.Identity, error) {
	_, identities, err := f.read(ctx, a)
	return identities, err
}

// WhenNeeded stands for Identities, which are read for the first file that is encrypted. If the flags name a file that
// cannot be read, that is an error at once.
func (f *KeyFlags) WhenNeeded(ctx context.Context, a *command.App) ([]age.Identity, error) {
	if f.Identity != "" {
		if err := command.Readable(string(f.Identity)); err != nil {
			return nil, err
		}
	}
	return command.WhenNeeded(func() ([]age.Identity, error) { return f.Identities(ctx, a) }), nil
}

// read reads the key, and all that is in the file of the identity.
func (f *KeyFlags) read(ctx context.Context, a *command.App) (*keyfile.Key, []age.Identity, error) {
	path := string(f.Identity)
	if path == "" {
		var err error
		if path, err = keyfile.DefaultPath(); err != nil {
			return nil, nil, err
		}
	}
	identities, err := a.KeyReader(ctx, &f.PassphraseFlags).Identities(path)
	if errors.Is(err, os.ErrNotExist) && f.Identity == "" {
		return nil, nil, command.WithHint(fmt.Errorf("%w to connect with: %s does not exist", command.ErrNoIdentity,
			path),
			"make one: culvert keygen")
	}
	if err != nil {
		return nil, nil, err
	}
	key, err := keyfile.KeyOf(identities)
	if err != nil {
		return nil, nil, command.About(path, err)
	}
	return key, identities, nil
}

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
