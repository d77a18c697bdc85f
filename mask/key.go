package mask

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// keySize is the number of bytes of a key. HMAC-SHA-256 gains nothing from longer ones.
const keySize = 32

// keyPrefix begins the text of a key, so that tools that look for secrets find it.
const keyPrefix = "CULVERT-MASK-KEY-1"

// Key is the secret on which masked values depend. Whoever has it can find out the value behind a masked one by trying
// all that are likely, and for permuted values directly. It is safe for concurrent use.
type Key struct{ secret [keySize]byte }

// GenerateKey returns a new random key.
func GenerateKey() *Key {
	k := new(Key)
	_, _ = rand.Read(k.secret[:]) // it never fails
	return k
}

// ParseKey reads the text of a key. Lines that begin with # are comments. The error does not show the text.
func ParseKey(text []byte) (*Key, error) {
	var found *Key
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		digits, is := bytes.CutPrefix(line, []byte(keyPrefix))
		k := new(Key)
		if n, err := hex.Decode(k.secret[:], boundedDigits(digits)); !is || err != nil || n != keySize || found != nil {
			return nil, errors.New("mask: it is not a mask key: write one by culvert keygen --mask")
		}
		found = k
	}
	if found == nil {
		return nil, errors.New("mask: the file has no mask key: write one by culvert keygen --mask")
	}
	return found, nil
}

// boundedDigits returns the digits of a key, or nothing if there are more or fewer than it has.
func boundedDigits(digits []byte) []byte {
	digits = bytes.TrimPrefix(digits, []byte("-"))
	if len(digits) != 2*keySize {
		return nil
	}
	return digits
}

// Text returns the text that ParseKey reads, a line. It is the secret itself.
func (k *Key) Text() string { return keyPrefix + "-" + hex.EncodeToString(k.secret[:]) + "\n" }

// String returns the fingerprint, so that no message shows the key.
func (k *Key) String() string { return k.Fingerprint() }

// GoString returns the fingerprint, as String does.
func (k *Key) GoString() string { return k.Fingerprint() }

// Fingerprint returns 16 hexadecimal digits that tell this key from others, and say nothing of it.
func (k *Key) Fingerprint() string {
	derived := k.derive("fingerprint")
	return hex.EncodeToString(derived[:8])
}

// derive returns a key of its own for a purpose. It is HMAC-SHA-256 of the purpose, the expansion of HKDF (RFC 5869)
// for one block. The number in it is another one whenever a rule makes other values than before, so that the
// fingerprint of a manifest or of a job is that of no key here.
func (k *Key) derive(purpose string) [sha256.Size]byte {
	mac := hmac.New(sha256.New, k.secret[:])
	mac.Write([]byte("culvert mask 2 " + purpose))
	mac.Write([]byte{1})
	return [sha256.Size]byte(mac.Sum(nil))
}
