package keyfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"filippo.io/age/plugin"
	"filippo.io/age/tag"
	"golang.org/x/crypto/ssh"
)

// Recipient parses a recipient: age1…, age1pq1…, a tagged one, one of a plugin (age1name1…), or an ssh public key.
func (r *Reader) Recipient(text string) (age.Recipient, error) {
	recipient, err := r.recipient(text)
	switch {
	case err != nil && (holdsSecret(text) || strings.HasPrefix(text, "AGE-")):
		return nil, errors.New("keyfile: this is an identity, not a recipient")
	case err != nil:
		return nil, fmt.Errorf("keyfile: %w", err)
	}
	return recipient, nil
}

// recipient quotes text in errors only if it begins like a public key.
func (r *Reader) recipient(text string) (age.Recipient, error) {
	switch {
	case strings.HasPrefix(text, "age1tag1"), strings.HasPrefix(text, "age1tagpq1"):
		return tag.ParseRecipient(text)
	case strings.HasPrefix(text, "age1pq1"):
		return age.ParseHybridRecipient(text)
	case strings.HasPrefix(text, "age1") && strings.Count(text, "1") > 1:
		if r.Plugin == nil {
			return nil, fmt.Errorf("recipient %q belongs to a plugin, and plugins are not available here", text)
		}
		return plugin.NewRecipient(text, r.Plugin)
	case strings.HasPrefix(text, "age1"):
		return age.ParseX25519Recipient(text)
	case strings.HasPrefix(text, "ssh-"):
		recipient, err := agessh.ParseRecipient(text)
		if err != nil {
			return nil, err
		}
		return sshRecipient{recipient, text}, nil
	}
	return nil, errors.New("unknown kind of recipient")
}

// sshRecipient is a public key that can be written as text, as other recipients can.
type sshRecipient struct {
	age.Recipient
	text string
}

func (r sshRecipient) String() string { return r.text }

// Recipients reads a file of recipients, one per line, with comments. It ignores ssh keys of types that age cannot
// encrypt to, which are common in authorized_keys files, with a warning.
func (r *Reader) Recipients(path string) ([]age.Recipient, error) {
	f, err := r.open(path)
	if err != nil {
		return nil, err
	}
	recipients, err := r.recipientLines(path, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, &fileError{"recipients", path, err}
	}
	return recipients, nil
}

// recipientLines never quotes a line in an error: the file may be a confidential one, named by mistake.
func (r *Reader) recipientLines(path string, src io.Reader) ([]age.Recipient, error) {
	var recipients []age.Recipient
	for line, err := range lines(src) {
		if err != nil {
			return nil, err
		}
		recipient, err := r.recipient(line.text)
		if err == nil {
			recipients = append(recipients, recipient)
			continue
		}
		kind, valid := sshKeyType(line.text)
		switch {
		case valid:
			r.warn(fmt.Sprintf("recipients file %s: line %d is ignored: age cannot encrypt to this %s key",
				path, line.number, kind))
		case strings.HasPrefix(line.text, "AGE-"):
			return nil, fmt.Errorf("line %d is an identity, not a recipient", line.number)
		default:
			return nil, fmt.Errorf("line %d is not a recipient", line.number)
		}
	}
	if len(recipients) == 0 {
		return nil, errors.New("no recipient found")
	}
	return recipients, nil
}

// sshKeyType returns the type of a well-formed ssh public key.
func sshKeyType(text string) (string, bool) {
	key, _, options, rest, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil || len(options) > 0 || len(bytes.TrimSpace(rest)) > 0 {
		return "", false
	}
	return key.Type(), true
}

// RecipientsOf returns the public keys of identities. It decrypts encrypted identity files.
func RecipientsOf(identities []age.Identity) ([]age.Recipient, error) {
	var recipients []age.Recipient
	for _, identity := range identities {
		switch id := identity.(type) {
		case *age.X25519Identity:
			recipients = append(recipients, id.Recipient())
		case *age.HybridIdentity:
			recipients = append(recipients, id.Recipient())
		case *plugin.Identity:
			recipients = append(recipients, id.Recipient())
		case *agessh.RSAIdentity:
			recipients = append(recipients, id.Recipient())
		case *agessh.Ed25519Identity:
			recipients = append(recipients, id.Recipient())
		case *agessh.EncryptedSSHIdentity:
			recipients = append(recipients, id.Recipient())
		case localIdentity:
			inner, err := RecipientsOf([]age.Identity{id.Identity})
			if err != nil {
				return nil, err
			}
			recipients = append(recipients, inner...)
		case *encryptedIdentity:
			decrypted, err := id.identities()
			if err != nil {
				return nil, err
			}
			inner, err := RecipientsOf(decrypted)
			if err != nil {
				return nil, err
			}
			recipients = append(recipients, inner...)
		default:
			return nil, fmt.Errorf("keyfile: an identity of type %T has no recipient", identity)
		}
	}
	return recipients, nil
}
