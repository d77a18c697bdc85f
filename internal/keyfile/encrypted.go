package keyfile

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"filippo.io/age"
)

// MaxWorkFactor is the largest accepted work factor of a passphrase, as a base-2 logarithm. It takes 1 GiB of memory,
// 1 KiB times the factor, and some seconds. Each file chooses its own, and files may be hostile. age uses 18 and
// accepts 22.
const MaxWorkFactor = 20

// PassphraseIdentity decrypts files that are encrypted with a passphrase. It asks only if a file needs one.
type PassphraseIdentity struct {
	// Passphrase returns the passphrase. It is called at most once for each file.
	Passphrase func() (string, error)
}

// Unwrap implements [age.Identity]. It returns [ErrPassphrase] for a wrong passphrase. age's own identity cannot, since
// another identity may follow.
func (p *PassphraseIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	for _, s := range stanzas {
		if s.Type == "scrypt" && len(stanzas) != 1 {
			return nil, malformed(errors.New("a passphrase cannot be combined with other recipients"))
		}
	}
	if len(stanzas) != 1 || stanzas[0].Type != "scrypt" {
		return nil, age.ErrIncorrectIdentity
	}
	// Check before asking.
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

// workFactor returns the second argument of an scrypt stanza.
func workFactor(stanza *age.Stanza) string {
	if len(stanza.Args) != 2 {
		return ""
	}
	return stanza.Args[1]
}

// localIdentity is an identity without interaction, so its errors are about the stanzas.
type localIdentity struct{ age.Identity }

func (l localIdentity) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	fileKey, err := l.Identity.Unwrap(stanzas)
	if err != nil && !errors.Is(err, age.ErrIncorrectIdentity) {
		return nil, malformed(err)
	}
	return fileKey, err
}

func malformed(cause error) error { return fmt.Errorf("%w: %w", ErrMalformed, cause) }

// encryptedIdentity is an identity file that is an encrypted age file. It is decrypted on first use.
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

// identities decrypts the file on the first call. Concurrent callers wait for the passphrase.
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
