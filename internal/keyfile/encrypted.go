package keyfile

import (
	"bytes"
	"errors"
	"fmt"

	"filippo.io/age"
)

// PassphraseIdentity decrypts files that were encrypted with a passphrase. It asks only when it meets one.
type PassphraseIdentity struct {
	// Passphrase gives the passphrase; it is called at most once for each file.
	Passphrase func() (string, error)
}

// Unwrap implements [age.Identity]. Unlike age's own identity, which cannot know whether others are to follow, it
// reports a wrong passphrase as [ErrPassphrase].
func (p *PassphraseIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	for _, s := range stanzas {
		if s.Type == "scrypt" && len(stanzas) != 1 {
			return nil, errors.New("a file with a passphrase must not have other recipients")
		}
	}
	if len(stanzas) != 1 || stanzas[0].Type != "scrypt" {
		return nil, age.ErrIncorrectIdentity
	}
	passphrase, err := p.Passphrase()
	if err != nil {
		return nil, fmt.Errorf("could not read the passphrase: %w", err)
	}
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, err
	}
	fileKey, err := identity.Unwrap(stanzas)
	if errors.Is(err, age.ErrIncorrectIdentity) {
		return nil, ErrPassphrase
	}
	return fileKey, err
}

// encryptedIdentity is an identity file that is itself an age file. It is decrypted at the first use.
type encryptedIdentity struct {
	reader *Reader
	path   string
	file   []byte

	identities []age.Identity
}

func (e *encryptedIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	if err := e.decrypt(); err != nil {
		return nil, err
	}
	for _, identity := range e.identities {
		fileKey, err := identity.Unwrap(stanzas)
		if !errors.Is(err, age.ErrIncorrectIdentity) {
			return fileKey, err
		}
	}
	return nil, age.ErrIncorrectIdentity
}

func (e *encryptedIdentity) decrypt() error {
	if e.identities != nil {
		return nil
	}
	passphrase := &PassphraseIdentity{Passphrase: func() (string, error) {
		return e.reader.passphrase(fmt.Sprintf("Enter passphrase for identity file %q:", e.path))
	}}
	src, err := age.Decrypt(bytes.NewReader(e.file), passphrase)
	if errors.As(err, new(*age.NoIdentityMatchError)) {
		return fmt.Errorf("identity file %s is encrypted, but not with a passphrase", e.path)
	}
	if err == nil {
		e.identities, err = e.reader.identityLines(src)
	}
	if err != nil {
		return fmt.Errorf("identity file %s: %w", e.path, err)
	}
	return nil
}
