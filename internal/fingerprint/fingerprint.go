// Package fingerprint names a key by its hash.
//
// A fingerprint is the SHA-256 of a public key in X.509 form (SubjectPublicKeyInfo). Its text is base32 (RFC 4648) in
// lower case without padding, which has 52 characters.
package fingerprint

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base32"
	"fmt"
	"strings"
)

// Fingerprint is the fingerprint of a key.
type Fingerprint [sha256.Size]byte

var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Of returns the fingerprint of a public key. It panics if the key has a wrong length.
func Of(public ed25519.PublicKey) Fingerprint {
	if len(public) != ed25519.PublicKeySize {
		panic(fmt.Sprintf("fingerprint: a public key of %d bytes", len(public)))
	}
	spki, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		panic(err) // it knows Ed25519
	}
	return sha256.Sum256(spki)
}

// Parse reads the text of a fingerprint, in lower or upper case.
func Parse(text string) (f Fingerprint, err error) {
	text = strings.ToLower(text)
	raw, err := encoding.DecodeString(text)
	if err == nil && len(raw) == len(f) {
		f = Fingerprint(raw)
	}
	if f.String() != text { // some other texts decode to the same bytes
		return Fingerprint{}, fmt.Errorf("%q is no fingerprint, which has 52 characters from a to z and 2 to 7", text)
	}
	return f, nil
}

// String returns the text.
func (f Fingerprint) String() string { return encoding.EncodeToString(f[:]) }
