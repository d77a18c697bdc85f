package keyfile

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"filippo.io/age"
)

// MaxWorkFactor is the largest work factor of a passphrase that is accepted, as the logarithm to base 2. It takes 1 GiB
// of memory, at 1 KiB times the factor, and some seconds. Files decide on it by themselves, also hostile ones; age
// makes them with 18, and accepts 22.
const MaxWorkFactor = 20

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
			return nil, malformed(errors.New("a file with a passphrase must not have other recipients"))
		}
	}
	if len(stanzas) != 1 || stanzas[0].Type != "scrypt" {
		return nil, age.ErrIncorrectIdentity
	}
	// To look first spares a question.
	if log, err := strconv.Atoi(workFactor(stanzas[0])); err == nil && log > MaxWorkFactor {
		return nil, malformed(fmt.Errorf("the passphrase has a work factor of %d, and %d is the most that is accepted",
			log, MaxWorkFactor))
	}
	passphrase, err := p.Passphrase()
	if err != nil {
		return nil, fmt.Errorf("keyfile: could not read the passphrase: %w", err)
	}
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return nil, fmt.Errorf("keyfile: %w", err)
	}
	identity.SetMaxWorkFactor(MaxWorkFactor)
	fileKey, err := localIdentity{identity}.Unwrap(stanzas)
	if errors.Is(err, age.ErrIncorrectIdentity) {
		return nil, ErrPassphrase
	}
	return fileKey, err
}

// workFactor is the second argument of a stanza of the type scrypt.
func workFactor(stanza *age.Stanza) string {
	if len(stanza.Args) != 2 {
		return ""
	}
	return stanza.Args[1]
}

// localIdentity is an identity that asks nobody. What it complains of is in the stanzas.
type localIdentity struct{ age.Identity }

func (l localIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	fileKey, err := l.Identity.Unwrap(stanzas)
	if err != nil && !errors.Is(err, age.ErrIncorrectIdentity) {
		return nil, malformed(err)
	}
	return fileKey, err
}

func malformed(cause error) error { return fmt.Errorf("%w: %w", ErrMalformed, cause) }

// encryptedIdentity is an identity file that is itself an age file. It is decrypted at the first use.
type encryptedIdentity struct {
	reader *Reader
	path   string
	file   []byte

	mu        sync.Mutex
	decrypted []age.Identity
}

func (e *encryptedIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	identities, err := e.identities()
	if err != nil {
		return nil, err
	}
	for _, identity := range identities {
		fileKey, err := identity.Unwrap(stanzas)
		if !errors.Is(err, age.ErrIncorrectIdentity) {
			return fileKey, err
		}
	}
	return nil, age.ErrIncorrectIdentity
}

// identities decrypts the file if that has not been done. Those who need it at the same time wait for the passphrase.
func (e *encryptedIdentity) identities() ([]age.Identity, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.decrypted != nil {
		return e.decrypted, nil
	}
	passphrase := &PassphraseIdentity{Passphrase: func() (string, error) {
		return e.reader.passphrase(fmt.Sprintf("Enter passphrase for identity file %q:", e.path))
	}}
	src, err := age.Decrypt(bytes.NewReader(e.file), passphrase)
	if errors.As(err, new(*age.NoIdentityMatchError)) {
		err = errors.New("it is encrypted, but not with a passphrase")
	}
	var identities []age.Identity
	if err == nil {
		identities, err = e.reader.identityLines(src)
	}
	if err != nil {
		return nil, &fileError{"identity", e.path, err}
	}
	for _, identity := range identities {
		switch identity.(type) {
		case *age.X25519Identity, *age.HybridIdentity:
			identity = localIdentity{identity}
		}
		e.decrypted = append(e.decrypted, identity)
	}
	return e.decrypted, nil
}
