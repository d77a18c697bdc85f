package keyfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"filippo.io/age/armor"
	"filippo.io/age/plugin"
	"golang.org/x/crypto/ssh"
)

// Limits on what is read into memory, as in the age command.
const (
	fileLimit    = 16 << 20 // a file of identities or recipients
	sshKeyLimit  = 16 << 10 // an ssh private key
	lineLimit    = 8 << 10  // one recipient, as in sshd
	armorLeadMax = 1024     // white space before an armored file
)

// ErrPassphrase reports a wrong passphrase.
var ErrPassphrase = errors.New("keyfile: incorrect passphrase")

// ErrMalformed reports an invalid stanza: the file to be decrypted is damaged. Native age identities outside encrypted
// files return errors of their own.
var ErrMalformed = errors.New("keyfile: malformed stanza in the header")

// fileError names the key file that caused an error. Its text has the package prefix only once.
type fileError struct {
	kind, path string
	cause      error
}

func (e *fileError) Error() string {
	return fmt.Sprintf("keyfile: %s file %s: %s", e.kind, e.path, strings.TrimPrefix(e.cause.Error(), "keyfile: "))
}

func (e *fileError) Unwrap() error { return e.cause }

// Reader reads identities and recipients. The zero value reads everything that needs no interaction. A Reader must be
// used by one goroutine at a time.
type Reader struct {
	// Stdin opens standard input for the path "-". It may return an error, for example if standard input is used for
	// something else. A nil Stdin always fails.
	Stdin func() (io.Reader, error)

	// Passphrase asks for a passphrase with the given prompt. A nil Passphrase always fails.
	Passphrase func(prompt string) (string, error)

	// Plugin lets age plugins interact with the user. If it is nil, plugins' identities and recipients are errors.
	Plugin *plugin.ClientUI

	// Warn receives warnings, such as an identity file that others can read. It may be nil.
	Warn func(message string)
}

// Identities reads an identity file: age identities, one per line, with comments; an ssh private key; or such a list
// encrypted with a passphrase as an age file, armored or not. It asks for a passphrase when the identity is first used,
// and for an age file only once, even if several goroutines use the identity.
func (r *Reader) Identities(path string) ([]age.Identity, error) {
	f, err := r.open(path)
	if err != nil {
		return nil, err
	}
	identities, err := r.parseIdentities(path, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, &fileError{"identity", path, err}
	}
	return identities, nil
}

func (r *Reader) parseIdentities(path string, f io.Reader) ([]age.Identity, error) {
	b := bufio.NewReaderSize(f, 4<<10)
	// The file may be shorter.
	start, err := b.Peek(armorLeadMax + len(armor.Header))
	if err != nil && err != io.EOF {
		return nil, err
	}
	trimmed := bytes.TrimSpace(start)
	switch {
	case bytes.HasPrefix(trimmed, []byte(armor.Header)):
		return r.encryptedIdentities(path, NewArmorReader(b))
	case bytes.HasPrefix(start, []byte("age-encryption.org/")):
		return r.encryptedIdentities(path, b)
	case bytes.HasPrefix(trimmed, []byte("-----BEGIN")):
		key, err := readAll(b, sshKeyLimit)
		if err != nil {
			return nil, err
		}
		return r.sshIdentity(path, key)
	}
	identities, err := r.identityLines(b)
	if err != nil {
		return nil, err
	}
	if f, ok := f.(*os.File); ok && OthersCanRead(f) {
		r.warn(fmt.Sprintf("identity file %s can be read by other users; consider chmod 600", path))
	}
	return identities, nil
}

// identityLines is age.ParseIdentities with plugins. Errors never quote a line, since it may be a secret.
func (r *Reader) identityLines(src io.Reader) ([]age.Identity, error) {
	var identities []age.Identity
	for line, err := range lines(src) {
		if err != nil {
			return nil, err
		}
		identity, err := r.identity(line.text)
		switch {
		case err != nil && strings.HasPrefix(line.text, "age1"):
			return nil, fmt.Errorf("line %d is a recipient, not an identity", line.number)
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", line.number, err)
		}
		identities = append(identities, identity)
	}
	if len(identities) == 0 {
		return nil, errors.New("no identity found")
	}
	return identities, nil
}

func (r *Reader) identity(line string) (age.Identity, error) {
	switch {
	case strings.HasPrefix(line, "AGE-PLUGIN-") && r.Plugin != nil:
		return plugin.NewIdentity(line, r.Plugin)
	case strings.HasPrefix(line, "AGE-SECRET-KEY-PQ-1"):
		return age.ParseHybridIdentity(line)
	case strings.HasPrefix(line, "AGE-SECRET-KEY-1"):
		return age.ParseX25519Identity(line)
	}
	return nil, errors.New("unknown kind of identity")
}

func (r *Reader) sshIdentity(path string, pem []byte) ([]age.Identity, error) {
	identity, err := agessh.ParseIdentity(pem)
	if missing := new(ssh.PassphraseMissingError); errors.As(err, &missing) {
		public := missing.PublicKey
		if public == nil {
			if public, err = readPublicKey(path); err != nil {
				return nil, err
			}
		}
		identity, err = agessh.NewEncryptedSSHIdentity(public, pem, func() ([]byte, error) {
			passphrase, err := r.passphrase(fmt.Sprintf("Enter passphrase for ssh key %q:", path))
			return []byte(passphrase), err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("ssh key: %w", err)
	}
	if _, asks := identity.(*agessh.EncryptedSSHIdentity); !asks {
		identity = localIdentity{identity}
	}
	return []age.Identity{identity}, nil
}

// readPublicKey reads the public key of an encrypted ssh key in an old format, which does not include it.
func readPublicKey(path string) (ssh.PublicKey, error) {
	f, err := os.Open(path + ".pub")
	if err != nil {
		return nil, fmt.Errorf("an encrypted ssh key in this format needs its public key beside it: %w", err)
	}
	text, err := readAll(f, sshKeyLimit)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s.pub: %w", path, err)
	}
	return public, nil
}

func (r *Reader) encryptedIdentities(path string, src io.Reader) ([]age.Identity, error) {
	file, err := readAll(src, fileLimit)
	if err != nil {
		return nil, err
	}
	return []age.Identity{&encryptedIdentity{reader: r, path: path, file: file}}, nil
}

func (r *Reader) passphrase(prompt string) (string, error) {
	if r.Passphrase == nil {
		return "", errors.New("keyfile: a passphrase is needed, but there is no way to ask for it")
	}
	return r.Passphrase(prompt)
}

func (r *Reader) warn(message string) {
	if r.Warn != nil {
		r.Warn(message)
	}
}

func (r *Reader) open(path string) (io.ReadCloser, error) {
	if path == "-" {
		if r.Stdin == nil {
			return nil, errors.New("keyfile: standard input is not available here")
		}
		stdin, err := r.Stdin()
		if err != nil {
			return nil, fmt.Errorf("keyfile: %w", err)
		}
		return io.NopCloser(stdin), nil
	}
	f, err := os.Open(path)
	switch {
	case err != nil && holdsSecret(path):
		return nil, errors.New("keyfile: this is a secret key, not the name of its file")
	case err != nil:
		return nil, fmt.Errorf("keyfile: %w", err)
	}
	return f, nil
}

// holdsSecret reports whether text looks like a secret key or its file, given by mistake. Errors must not quote it.
func holdsSecret(text string) bool {
	text = strings.ToUpper(text)
	return strings.Contains(text, "AGE-SECRET-KEY-") || strings.Contains(text, "PRIVATE KEY-----")
}

// readAll reads src, which may have up to limit bytes.
func readAll(src io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(src, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("the file is larger than %d bytes", limit)
	}
	return data, err
}

type line struct {
	number int
	text   string
}

// lines yields the lines that are neither empty nor comments. It stops after the first error.
func lines(src io.Reader) func(yield func(line, error) bool) {
	return func(yield func(line, error) bool) {
		data, err := readAll(src, fileLimit)
		if err != nil {
			yield(line{}, err)
			return
		}
		number := 0
		for text := range strings.Lines(string(data)) {
			number++
			text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
			switch {
			case text == "" || strings.HasPrefix(text, "#"):
			case !utf8.ValidString(text):
				yield(line{}, fmt.Errorf("line %d is not UTF-8 text", number))
				return
			case len(text) > lineLimit:
				yield(line{}, fmt.Errorf("line %d is longer than %d bytes", number, lineLimit))
				return
			default:
				if !yield(line{number, text}, nil) {
					return
				}
			}
		}
	}
}
