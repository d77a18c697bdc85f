package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"filippo.io/age"
	"filippo.io/age/plugin"
	"github.com/spf13/cobra"

	"culvert/internal/keyfile"
	"culvert/internal/ui"
)

// keyReader reads keys, and asks on the terminal for what they need. If the flags give a passphrase, it is taken
// instead of asking.
func (a *app) keyReader(ctx context.Context, passphrase *passphraseFlags) *keyfile.Reader {
	return &keyfile.Reader{
		Stdin: func() (io.Reader, error) { return a.claimStdin("a file of keys") },
		Passphrase: func(prompt string) (string, error) {
			if passphrase.given() {
				return passphrase.read(ctx, a)
			}
			return a.askPassphrase(ctx, prompt)
		},
		Plugin: plugin.NewTerminalUI(
			func(format string, args ...any) { a.console.Print("culvert: " + fmt.Sprintf(format, args...)) },
			func(format string, args ...any) { a.console.Warn(fmt.Sprintf(format, args...)) },
		),
		Warn: a.console.Warn,
	}
}

func (a *app) askPassphrase(ctx context.Context, prompt string) (string, error) {
	passphrase, err := a.console.AskPassphrase(ctx, prompt)
	a.secrets.add(passphrase)
	return passphrase, withPassphraseHint(err)
}

func withPassphraseHint(err error) error {
	if !errors.Is(err, ui.ErrNoTerminal) {
		return err
	}
	return withHint(err, "without a terminal, use --passphrase-file, --passphrase-fd or --passphrase-command")
}

// ownIdentity reads the own identity file, if there is one.
func ownIdentity(reader *keyfile.Reader) (identities []age.Identity, path string, err error) {
	if path, err = keyfile.DefaultPath(); err != nil {
		return nil, "", err
	}
	identities, err = reader.Identities(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, path, nil
	}
	return identities, path, err
}

// recipientFlags say whom to encrypt to.
type recipientFlags struct {
	recipients []string
	files      []string
	passphraseFlags
}

func (f *recipientFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.recipients, "recipient", "r", nil, "encrypt to `RECIPIENT`; repeatable")
	flags.StringArrayVarP(&f.files, "recipients-file", "R", nil, "encrypt to those in `FILE`; repeatable")
	flags.BoolVarP(&f.prompt, "passphrase", "p", false, "ask for a passphrase to encrypt with")
	f.passphraseFlags.add(cmd)
}

// inputs are the files that the flags name.
func (f *recipientFlags) inputs() []string { return append(f.passphraseFlags.inputs(), f.files...) }

// named reports whether anyone is named, by the flags, to encrypt to.
func (f *recipientFlags) named() bool { return len(f.recipients)+len(f.files) > 0 }

// read returns those to encrypt to: a passphrase, or those named, or else oneself. The identities are further ones to
// encrypt to.
func (f *recipientFlags) read(ctx context.Context, a *app, identities *identityFlags) ([]age.Recipient, error) {
	withPassphrase := f.prompt || f.passphraseFlags.given()
	named := f.named() || identities.given()
	switch {
	case f.prompt && f.passphraseFlags.given():
		return nil, usagef("-p cannot be combined with another passphrase flag")
	case withPassphrase && named && !identities.given():
		return nil, usagef("a passphrase cannot be combined with recipients")
	case f.prompt && named:
		return nil, usagef("a passphrase cannot be combined with identities")
	case withPassphrase && !named:
		return f.readPassphrase(ctx, a)
	}
	reader := a.keyReader(ctx, &f.passphraseFlags)
	if !named {
		return ownRecipients(reader)
	}
	recipients, err := f.readNamed(a, reader)
	if err != nil {
		return nil, err
	}
	own, err := identities.readKeys(reader)
	if err != nil {
		return nil, err
	}
	ownRecipients, err := keyfile.RecipientsOf(own)
	return append(recipients, ownRecipients...), err
}

func (f *recipientFlags) readPassphrase(ctx context.Context, a *app) ([]age.Recipient, error) {
	var passphrase string
	var err error
	if f.prompt {
		passphrase, err = a.console.AskNewPassphrase(ctx)
		a.secrets.add(passphrase)
		err = withPassphraseHint(err)
	} else {
		passphrase, err = f.passphraseFlags.read(ctx, a)
	}
	if err != nil {
		return nil, err
	}
	recipient, err := age.NewScryptRecipient(passphrase)
	return []age.Recipient{recipient}, err
}

func (f *recipientFlags) readNamed(a *app, reader *keyfile.Reader) ([]age.Recipient, error) {
	var recipients []age.Recipient
	for i, text := range f.recipients {
		if slices.Contains(f.recipients[:i], text) {
			a.console.Warn("duplicate recipient " + text)
			continue
		}
		recipient, err := reader.Recipient(text)
		if err != nil {
			return nil, withHint(usagef("-r: %s", plain(err)), hintOfRecipient(text))
		}
		recipients = append(recipients, recipient)
	}
	for i, path := range f.files {
		if slices.Contains(f.files[:i], path) {
			a.console.Warn("duplicate recipients file " + path)
			continue
		}
		more, err := reader.Recipients(path)
		if err != nil {
			return nil, err
		}
		recipients = append(recipients, more...)
	}
	return recipients, nil
}

func hintOfRecipient(text string) string {
	if _, err := os.Stat(text); err == nil {
		return "to read recipients from a file: -R " + forShell(text)
	}
	return "a recipient is age1…, or an ssh public key in quotes; culvert keygen prints one's own"
}

func ownRecipients(reader *keyfile.Reader) ([]age.Recipient, error) {
	identities, path, err := ownIdentity(reader)
	if err != nil {
		return nil, err
	}
	if len(identities) == 0 {
		return nil, withHint(fmt.Errorf("%w to encrypt to: %s does not exist", errNoIdentity, path),
			"make one: culvert keygen", "or name a recipient: -r age1…")
	}
	return keyfile.RecipientsOf(identities)
}

// identityFlag is one -i or -j.
type identityFlag struct {
	plugin bool
	value  string
}

// identityFlags say with which identities to decrypt, in the order of the command line.
type identityFlags []identityFlag

func (f *identityFlags) add(cmd *cobra.Command, does string) {
	flags := cmd.Flags()
	flags.FuncP("identity", "i", does+" the identities in `FILE`; repeatable", func(value string) error {
		*f = append(*f, identityFlag{value: value})
		return nil
	})
	flags.FuncP("plugin", "j", does+" the plugin `NAME`; repeatable", func(value string) error {
		*f = append(*f, identityFlag{plugin: true, value: value})
		return nil
	})
}

func (f *identityFlags) given() bool { return f != nil && len(*f) > 0 }

// files returns the paths of the identity files.
func (f *identityFlags) files() []string {
	var paths []string
	for _, flag := range *f {
		if !flag.plugin {
			paths = append(paths, flag.value)
		}
	}
	return paths
}

func (f *identityFlags) readKeys(reader *keyfile.Reader) ([]age.Identity, error) {
	var identities []age.Identity
	if f == nil {
		return nil, nil
	}
	for _, flag := range *f {
		if flag.plugin {
			identity, err := plugin.NewIdentityWithoutData(flag.value, reader.Plugin)
			if err != nil {
				return nil, usagef("-j: %s", plain(err))
			}
			identities = append(identities, identity)
			continue
		}
		more, err := reader.Identities(flag.value)
		if err != nil {
			return nil, err
		}
		identities = append(identities, more...)
	}
	return identities, nil
}

// decryptFlags say how to open an encrypted file.
type decryptFlags struct {
	identities identityFlags
	passphraseFlags
}

func (f *decryptFlags) add(cmd *cobra.Command) {
	f.identities.add(cmd, "decrypt with")
	f.passphraseFlags.add(cmd)
}

// read returns the identities to decrypt with: those named, or else one's own and, for a file that needs it, a
// passphrase.
func (f *decryptFlags) read(ctx context.Context, a *app) ([]age.Identity, error) {
	reader := a.keyReader(ctx, &f.passphraseFlags)
	// Of several files all are asked for at once.
	byPassphrase := &keyfile.PassphraseIdentity{Passphrase: sync.OnceValues(func() (string, error) {
		if f.passphraseFlags.given() {
			return f.passphraseFlags.read(ctx, a)
		}
		return a.askPassphrase(ctx, "Enter passphrase:")
	})}
	if f.identities.given() {
		identities, err := f.identities.readKeys(reader)
		if !f.passphraseFlags.given() {
			return append(identities, refusePassphrase{}), err
		}
		return append(identities, byPassphrase), err
	}
	identities, path, err := ownIdentity(reader)
	if err != nil {
		return nil, err
	}
	if len(identities) == 0 {
		return []age.Identity{byPassphrase, missingIdentity{path}}, nil
	}
	return append(identities, byPassphrase), nil
}

// whenNeeded is read for a file that may not be encrypted: the identities are read when the first file needs one.
func (f *decryptFlags) whenNeeded(ctx context.Context, a *app) []age.Identity {
	return []age.Identity{lazyIdentity(sync.OnceValues(func() ([]age.Identity, error) { return f.read(ctx, a) }))}
}

// lazyIdentity stands for the identities that it returns.
type lazyIdentity func() ([]age.Identity, error)

// Unwrap implements [age.Identity].
func (l lazyIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	identities, err := l()
	if err != nil {
		return nil, &keyError{err}
	}
	for _, identity := range identities {
		if key, err := identity.Unwrap(stanzas); !errors.Is(err, age.ErrIncorrectIdentity) {
			return key, err
		}
	}
	return nil, age.ErrIncorrectIdentity
}

// keyError is an error of reading identities, which is not about the file that they were to open.
type keyError struct{ error }

func (e *keyError) Unwrap() error { return e.error }

// refusePassphrase explains why identities do not open a file that was encrypted with a passphrase.
type refusePassphrase struct{}

func (refusePassphrase) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	if len(stanzas) == 1 && stanzas[0].Type == "scrypt" {
		return nil, withHint(fmt.Errorf("%w matches: the file is encrypted with a passphrase", errNoIdentity),
			"leave out -i and -j to be asked for it, or add --passphrase-file FILE")
	}
	return nil, age.ErrIncorrectIdentity
}

// missingIdentity explains that there is no identity to open a file with.
type missingIdentity struct{ path string }

func (m missingIdentity) Unwrap([]*age.Stanza) ([]byte, error) {
	return nil, withHint(fmt.Errorf("%w to decrypt with: %s does not exist", errNoIdentity, m.path),
		"give the identity that the file is encrypted to: -i FILE")
}
