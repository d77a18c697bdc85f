package command

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

	"culvert/cmd/culvert/internal/ui"
	"culvert/internal/keyfile"
)

// KeyReader reads keys, and asks on the terminal for what they need. If the flags give a passphrase, it is taken
// instead of asking.
func (a *App) KeyReader(ctx context.Context, passphrase *PassphraseFlags) *keyfile.Reader {
	return &keyfile.Reader{
		Stdin: func() (io.Reader, error) { return a.ClaimStdin("a file of keys") },
		Passphrase: func(prompt string) (string, error) {
			if passphrase.Given() {
				return passphrase.read(ctx, a)
			}
			return a.askPassphrase(ctx, prompt)
		},
		Plugin: plugin.NewTerminalUI(
			func(format string, args ...any) { a.Console.Print("culvert: " + fmt.Sprintf(format, args...)) },
			func(format string, args ...any) { a.Console.Warn(fmt.Sprintf(format, args...)) },
		),
		Warn: a.Console.Warn,
	}
}

func (a *App) askPassphrase(ctx context.Context, prompt string) (string, error) {
	passphrase, err := a.Console.AskPassphrase(ctx, prompt)
	a.Secrets.Add(passphrase)
	return passphrase, withPassphraseHint(err)
}

func withPassphraseHint(err error) error {
	if !errors.Is(err, ui.ErrNoTerminal) {
		return err
	}
	return WithHint(err, "without a terminal, use --passphrase-file, --passphrase-fd or --passphrase-command")
}

// OwnIdentity reads the own identity file, if there is one.
func OwnIdentity(reader *keyfile.Reader) (identities []age.Identity, path string, err error) {
	if path, err = keyfile.DefaultPath(); err != nil {
		return nil, "", err
	}
	identities, err = reader.Identities(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, path, nil
	}
	return identities, path, err
}

// ownIdentity is OwnIdentity for a run of the program, which reads the file once and so asks for a passphrase once.
func (a *App) ownIdentity(reader *keyfile.Reader) (identities []age.Identity, path string, err error) {
	if a.own == nil {
		identities, path, err := OwnIdentity(reader)
		if err != nil {
			return nil, path, err
		}
		a.own = &ownIdentity{identities, path}
	}
	return a.own.identities, a.own.path, nil
}

type ownIdentity struct {
	identities []age.Identity
	path       string
}

// NamedRecipients are recipients that flags name.
type NamedRecipients struct {
	recipients []string
	files      []string
}

// Add adds the flags to a command; does is what it does with them, such as "encrypt to".
func (f *NamedRecipients) Add(cmd *cobra.Command, does string) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.recipients, "recipient", "r", nil, does+" `RECIPIENT`; repeatable")
	flags.StringArrayVarP(&f.files, "recipients-file", "R", nil, does+" those in `FILE`; repeatable")
}

// Named reports whether any are named.
func (f *NamedRecipients) Named() bool { return len(f.recipients)+len(f.files) > 0 }

// RecipientFlags say whom to encrypt to.
type RecipientFlags struct {
	NamedRecipients
	PassphraseFlags
}

// Add adds the flags to a command.
func (f *RecipientFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.NamedRecipients.Add(cmd, "encrypt to")
	flags.BoolVarP(&f.Prompt, "passphrase", "p", false, "ask for a passphrase to encrypt with")
	f.PassphraseFlags.Add(cmd)
}

// Inputs are the files that the flags name.
func (f *RecipientFlags) Inputs() []string { return append(f.PassphraseFlags.Inputs(), f.files...) }

// Read returns those to encrypt to: a passphrase, or those named, or else oneself. The identities are further ones to
// encrypt to.
func (f *RecipientFlags) Read(ctx context.Context, a *App, identities *IdentityFlags) ([]age.Recipient, error) {
	withPassphrase := f.Prompt || f.PassphraseFlags.Given()
	named := f.Named() || identities.Given()
	switch {
	case f.Prompt && f.PassphraseFlags.Given():
		return nil, Usagef("-p cannot be combined with another passphrase flag")
	case withPassphrase && named && !identities.Given():
		return nil, Usagef("a passphrase cannot be combined with recipients")
	case f.Prompt && named:
		return nil, Usagef("a passphrase cannot be combined with identities")
	case withPassphrase && !named:
		return f.readPassphrase(ctx, a)
	}
	reader := a.KeyReader(ctx, &f.PassphraseFlags)
	if !named {
		return a.ownRecipients(reader)
	}
	recipients, err := f.NamedRecipients.Read(a, reader)
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

func (f *RecipientFlags) readPassphrase(ctx context.Context, a *App) ([]age.Recipient, error) {
	var passphrase string
	var err error
	if f.Prompt {
		passphrase, err = a.Console.AskNewPassphrase(ctx)
		a.Secrets.Add(passphrase)
		err = withPassphraseHint(err)
	} else {
		passphrase, err = f.PassphraseFlags.read(ctx, a)
	}
	if err != nil {
		return nil, err
	}
	recipient, err := age.NewScryptRecipient(passphrase)
	if err == nil && TestWorkFactor > 0 {
		recipient.SetWorkFactor(TestWorkFactor)
	}
	return []age.Recipient{recipient}, err
}

// TestWorkFactor is the work factor of new passphrases, as a base-2 logarithm, in tests that use many. 0 stands for
// age's own factor, with which a passphrase takes a second and 256 MiB.
var TestWorkFactor int

// Read returns those that are named.
func (f *NamedRecipients) Read(a *App, reader *keyfile.Reader) ([]age.Recipient, error) {
	var recipients []age.Recipient
	for i, text := range f.recipients {
		if slices.Contains(f.recipients[:i], text) {
			a.Console.Warn("duplicate recipient " + text)
			continue
		}
		recipient, err := reader.Recipient(text)
		if err != nil {
			return nil, WithHint(Usagef("-r: %s", Plain(err)), hintOfRecipient(text))
		}
		recipients = append(recipients, recipient)
	}
	for i, path := range f.files {
		if slices.Contains(f.files[:i], path) {
			a.Console.Warn("duplicate recipients file " + path)
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
		return "to read recipients from a file: -R " + ForShell(text)
	}
	return "a recipient is age1…, or an ssh public key in quotes; culvert keygen prints one's own"
}

func (a *App) ownRecipients(reader *keyfile.Reader) ([]age.Recipient, error) {
	identities, path, err := a.ownIdentity(reader)
	if err != nil {
		return nil, err
	}
	if len(identities) == 0 {
		return nil, WithHint(fmt.Errorf("%w to encrypt to: %s does not exist", ErrNoIdentity, path),
			"make one: culvert keygen", "or name a recipient: -r age1…")
	}
	return keyfile.RecipientsOf(identities)
}

// identityFlag is one -i or -j.
type identityFlag struct {
	plugin bool
	value  string
}

// IdentityFlags say with which identities to decrypt, in the order of the command line.
type IdentityFlags []identityFlag

// Add adds the flags to a command; does is what it does with the identities. The letter of --plugin is that of age,
// unless the command already has it for another flag.
func (f *IdentityFlags) Add(cmd *cobra.Command, does string) {
	flags := cmd.Flags()
	letter := "j"
	if flags.ShorthandLookup(letter) != nil {
		letter = ""
	}
	flags.FuncP("identity", "i", does+" the identities in `FILE`; repeatable", func(value string) error {
		*f = append(*f, identityFlag{value: value})
		return nil
	})
	flags.FuncP("plugin", letter, does+" the plugin `NAME`; repeatable", func(value string) error {
		*f = append(*f, identityFlag{plugin: true, value: value})
		return nil
	})
}

// Given reports whether any identity is named.
func (f *IdentityFlags) Given() bool { return f != nil && len(*f) > 0 }

// Files returns the paths of the identity files.
func (f *IdentityFlags) Files() []string {
	var paths []string
	for _, flag := range *f {
		if !flag.plugin {
			paths = append(paths, flag.value)
		}
	}
	return paths
}

func (f *IdentityFlags) readKeys(reader *keyfile.Reader) ([]age.Identity, error) {
	var identities []age.Identity
	if f == nil {
		return nil, nil
	}
	for _, flag := range *f {
		if flag.plugin {
			identity, err := plugin.NewIdentityWithoutData(flag.value, reader.Plugin)
			if err != nil {
				return nil, Usagef("--plugin: %s", Plain(err))
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

// DecryptFlags say how to open an encrypted file.
type DecryptFlags struct {
	Identities IdentityFlags
	PassphraseFlags

	named []age.Identity // that were read
}

// Add adds the flags to a command.
func (f *DecryptFlags) Add(cmd *cobra.Command) {
	f.Identities.Add(cmd, "decrypt with")
	f.PassphraseFlags.Add(cmd)
}

// Read returns the identities to decrypt with: those named, or else one's own and, for a file that needs it, a
// passphrase.
func (f *DecryptFlags) Read(ctx context.Context, a *App) ([]age.Identity, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	reader := a.KeyReader(ctx, &f.PassphraseFlags)
	// Of several files all are asked for at once.
	byPassphrase := &keyfile.PassphraseIdentity{Passphrase: sync.OnceValues(func() (string, error) {
		if f.PassphraseFlags.Given() {
			return f.PassphraseFlags.read(ctx, a)
		}
		return a.askPassphrase(ctx, "Enter passphrase:")
	})}
	if f.Identities.Given() {
		identities, err := f.Identities.readKeys(reader)
		f.named = identities
		if !f.PassphraseFlags.Given() {
			return append(identities, refusePassphrase{}), err
		}
		return append(identities, byPassphrase), err
	}
	identities, path, err := a.ownIdentity(reader)
	if err != nil {
		return nil, err
	}
	if len(identities) == 0 {
		return []age.Identity{byPassphrase, missingIdentity{path}}, nil
	}
	return append(identities, byPassphrase), nil
}

// WhenNeeded is Read for a file that may not be encrypted: the identities are read when the first file needs one. Files
// that cannot be read are an error at once, since whoever names them relies on them.
func (f *DecryptFlags) WhenNeeded(ctx context.Context, a *App) ([]age.Identity, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return WhenNeeded(func() ([]age.Identity, error) { return f.Read(ctx, a) }), nil
}

// check fails if a file that the flags name cannot be read, whether it will be needed or not.
func (f *DecryptFlags) check() error {
	for _, path := range f.Identities.Files() {
		if err := Readable(path); err != nil {
			return err
		}
	}
	for _, path := range f.PassphraseFlags.Inputs() {
		if err := Readable(path); err != nil {
			return About("reading the passphrase", err)
		}
	}
	return nil
}

// Readable returns an error if a file of keys cannot be read, as far as that is known before it is.
func Readable(path string) error {
	if path == "-" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil // to open another one, such as a pipe, may wait
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// WhenNeeded stands for the identities that read returns. It is called once, for the first file that needs one.
func WhenNeeded(read func() ([]age.Identity, error)) []age.Identity {
	return []age.Identity{lazyIdentity(sync.OnceValues(read))}
}

// lazyIdentity stands for the identities that it returns.
type lazyIdentity func() ([]age.Identity, error)

// Unwrap implements [age.Identity].
func (l lazyIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	identities, err := l()
	if err != nil {
		return nil, &KeyError{err}
	}
	for _, identity := range identities {
		if key, err := identity.Unwrap(stanzas); !errors.Is(err, age.ErrIncorrectIdentity) {
			return key, err
		}
	}
	return nil, age.ErrIncorrectIdentity
}

// KeyError is an error of reading identities, which is not about the file that they were to open.
type KeyError struct{ error }

func (e *KeyError) Unwrap() error { return e.error }

// refusePassphrase explains why identities do not open a file that was encrypted with a passphrase.
type refusePassphrase struct{}

func (refusePassphrase) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	if len(stanzas) == 1 && stanzas[0].Type == "scrypt" {
		return nil, WithHint(fmt.Errorf("%w matches: the file is encrypted with a passphrase", ErrNoIdentity),
			"leave out -i and -j to be asked for it, or add --passphrase-file FILE")
	}
	return nil, age.ErrIncorrectIdentity
}

// missingIdentity explains that there is no identity to open a file with.
type missingIdentity struct{ path string }

func (m missingIdentity) Unwrap([]*age.Stanza) ([]byte, error) {
	return nil, WithHint(fmt.Errorf("%w to decrypt with: %s does not exist", ErrNoIdentity, m.path),
		"give the identity that the file is encrypted to: -i FILE")
}
