package manifest

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
)

// signing says what is signed: by Ed25519ph (RFC 8032, 5.1), since the text may be large, and for nothing but
// manifests, since the same key proves who one is on a connection.
var signing = &ed25519.Options{Hash: crypto.SHA512, Context: "culvert/v1 manifest"}

// Author returns the key that has signed the manifest that was read, or nil if it is not signed. [Read] has verified
// the signature. Everybody can sign with a key of their own, so the key says something only to those who know whose it
// is.
func (m *Manifest) Author() ed25519.PublicKey { return m.author }

// WriteSigned is WriteTo with a signature by the author.
func (m *Manifest) WriteSigned(w io.Writer, author ed25519.PrivateKey) (int64, error) {
	return m.write(w, author)
}

// sign signs a text, of which the hash is given.
func sign(author ed25519.PrivateKey, hash []byte) (signature []byte, err error) {
	return author.Sign(nil, hash, signing)
}

// signatureField is the end of a text that is signed.
func signatureField(signature []byte) []byte {
	return fmt.Appendf(nil, ",\n%s\"signature\": %q\n}\n", indent, base64.StdEncoding.EncodeToString(signature))
}

// verifyAuthor verifies the signature of a text, if it has one. Of a signed text, only what comes before the signature
// counts, so the signature must be the last field, as it is written.
func verifyAuthor(text, author, signature []byte) error {
	if author == nil && signature == nil {
		return nil
	}
	if len(author) != ed25519.PublicKeySize || len(signature) != ed25519.SignatureSize {
		return errors.New("its signature is not whole")
	}
	signed, is := bytes.CutSuffix(text, signatureField(signature))
	if !is {
		return errors.New("its signature is not at its end")
	}
	hash := sha512.Sum512(signed)
	if err := ed25519.VerifyWithOptions(author, hash[:], signature, signing); err != nil {
		return errors.New("its signature is wrong: it was changed after it was signed")
	}
	return nil
}
