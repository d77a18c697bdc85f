package agefile

import (
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"
)

// x25519Recipient makes the same stanza as an [*age.X25519Recipient], which computes the public key of the ephemeral
// one twice, and multiplies four times instead of two. Of a small file, that is most of the time.
type x25519Recipient struct{ public *ecdh.PublicKey }

// newX25519Recipient takes the public key from the text of a recipient, in Bech32, since age does not reveal it in
// another way. Nobody has typed that text, so its checksum is right.
func newX25519Recipient(r *age.X25519Recipient) (*x25519Recipient, error) {
	const alphabet, checksum = "qpzry9x8gf2tvdw0s3jn54khce6mua7l", 6 // letters of 5 bits
	letters := strings.TrimPrefix(r.String(), "age1")
	var key []byte
	bits, n := 0, 0
	for _, letter := range letters[:max(0, len(letters)-checksum)] {
		bits, n = (bits<<5|strings.IndexRune(alphabet, letter))&0xfff, n+5
		if n >= 8 {
			n -= 8
			key = append(key, byte(bits>>n))
		}
	}
	public, err := ecdh.X25519().NewPublicKey(key)
	return &x25519Recipient{public}, err
}

func (r *x25519Recipient) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	ephemeral, err := ecdh.X25519().GenerateKey(rand.Reader) // another one for each file
	if err != nil {
		return nil, err
	}
	shared, err := ephemeral.ECDH(r.public)
	if err != nil {
		return nil, err
	}
	share := ephemeral.PublicKey().Bytes()
	salt := slices.Concat(share, r.public.Bytes())
	key, err := hkdf.Key(sha256.New, shared, salt, "age-encryption.org/v1/X25519", chacha20poly1305.KeySize)
	if err != nil {
		return nil, err
	}
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, err
	}
	body := aead.Seal(nil, make([]byte, chacha20poly1305.NonceSize), fileKey, nil) // the key seals nothing else
	return []*age.Stanza{{Type: "X25519", Args: []string{base64.RawStdEncoding.EncodeToString(share)}, Body: body}}, nil
}
