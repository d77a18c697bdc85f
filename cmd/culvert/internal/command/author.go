package command

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"culvert/cmd/culvert/internal/ui"
	"culvert/internal/keyfile"
)

// ErrAuthor marks the error of an export that is not by one of those whom the user trusts.
var ErrAuthor = errors.New("it is not by an author that is trusted")

// Author reads the key that signs an export: that of the own identity. It is nil if there is none, or none that can
// sign. If it cannot be read, or needs a passphrase that nobody can be asked for, a warning says that the export is not
// signed.
func (a *App) Author(ctx context.Context) (*keyfile.Key, error) {
	if _, err := keyfile.DefaultPath(); err != nil {
		return nil, nil // as for a service without a home
	}
	identities, path, err := a.ownIdentity(a.KeyReader(ctx, &PassphraseFlags{}))
	if errors.Is(err, fs.ErrPermission) {
		a.Console.Warn("the export is not signed: " + Plain(err))
		return nil, nil
	}
	if err != nil || len(identities) == 0 {
		return nil, err
	}
	key, err := keyfile.KeyOf(identities)
	switch {
	case errors.Is(err, keyfile.ErrNoConnectionKey):
		return nil, nil
	case errors.Is(err, ui.ErrNoTerminal):
		a.Console.Warn("the export is not signed: " + path + " needs a passphrase, and there is no terminal to ask")
		return nil, nil
	case err != nil:
		return nil, About(path, err)
	}
	return key, nil
}

// IsOwn reports whether a fingerprint is that of an identity that was used to decrypt, or of one's own.
func (f *DecryptFlags) IsOwn(ctx context.Context, a *App, fingerprint string) (bool, error) {
	named, err := keyfile.FingerprintsOf(f.named)
	if err != nil || slices.Contains(named, fingerprint) {
		return err == nil, err
	}
	identities, _, err := a.ownIdentity(a.KeyReader(ctx, &f.PassphraseFlags))
	if err != nil {
		return false, err
	}
	own, err := keyfile.FingerprintsOf(identities)
	return slices.Contains(own, fingerprint), err
}
