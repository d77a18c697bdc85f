package keyfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"filippo.io/age"

	"culvert/internal/fingerprint"
)

// ErrNoConnectionKey reports that no identity can be used for connections.
var ErrNoConnectionKey = errors.New("keyfile: no connection key can be derived: it takes an identity as " +
	"culvert keygen and age-keygen make it")

// KeyOf returns the key of the first identity that has one, as [FromIdentity] does. It decrypts encrypted identity
// files.
func KeyOf(identities []age.Identity) (*Key, error) {
	for _, identity := range identities {
		key, err := keyOf(identity)
		if key != nil || err != nil && err != ErrNoConnectionKey {
			return key, err
		}
	}
	return nil, ErrNoConnectionKey
}

// FingerprintsOf returns the fingerprints of the identities that have a connection key. It decrypts encrypted identity
// files.
func FingerprintsOf(identities []age.Identity) ([]string, error) {
	var all []string
	for _, identity := range identities {
		key, err := keyOf(identity)
		switch {
		case err == nil:
			all = append(all, key.Fingerprint())
		case err != ErrNoConnectionKey:
			return nil, err
		}
	}
	return all, nil
}

func keyOf(identity age.Identity) (*Key, error) {
	switch id := identity.(type) {
	case *encryptedIdentity:
		decrypted, err := id.identities()
		if err != nil {
			return nil, err
		}
		return KeyOf(decrypted)
	case localIdentity:
		return keyOf(id.Identity)
	case *age.X25519Identity, *age.HybridIdentity:
		return FromIdentity(identity)
	}
	return nil, ErrNoConnectionKey
}

// Fingerprints reads a file of fingerprints. Each line begins with a fingerprint, in upper or lower case; the rest of
// the line, such as a name, is ignored. So are comments and empty lines. The result is in lower case.
func (r *Reader) Fingerprints(path string) ([]string, error) {
	f, err := r.open(path)
	if err != nil {
		return nil, err
	}
	var fingerprints []string
	for line, lineErr := range lines(f) {
		if err = lineErr; err != nil {
			break
		}
		fields := strings.Fields(line.text)
		if len(fields) == 0 {
			continue
		}
		parsed, parseErr := fingerprint.Parse(fields[0])
		if parseErr != nil {
			// The line is not quoted: the file may be a confidential one, named by mistake.
			err = fmt.Errorf("line %d does not begin with a fingerprint", line.number)
			break
		}
		if text := parsed.String(); !slices.Contains(fingerprints, text) {
			fingerprints = append(fingerprints, text)
		}
	}
	if err == nil && len(fingerprints) == 0 {
		err = errors.New("no fingerprint found")
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, &fileError{"fingerprints", path, err}
	}
	return fingerprints, nil
}
