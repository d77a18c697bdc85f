// Package keyfile makes, writes and reads key files.
//
// One secret serves both files and connections. It is stored in an age identity file, which every age tool reads, with
// comments by Culvert:
//
//	# created: 2026-02-03T09:30:00Z
//	# public key: age1xmwwc06ly3ee5rytxm9mflaz2u56jjj36s0mypdrwsvlul66mv4q47ryef
//	# recipient: age1xmwwc06ly3ee5rytxm9mflaz2u56jjj36s0mypdrwsvlul66mv4q47ryef
//	# fingerprint: o3yrhnomzr7jitk4wcyiozh6qtvjuemqperdi66n7hdcqkzv6hgq
//	AGE-SECRET-KEY-1…
//
// The "public key" comment is the one that age-keygen writes, for scripts; "recipient" is Culvert's word for the same
// key. A post-quantum identity is longer, and its recipient begins with age1pq1.
//
// # Connection key
//
// Connections are authenticated by an Ed25519 key that is derived from the identity:
//
//	seed        = HKDF-SHA-256(secret = identity, salt = "", info = "culvert/v1 connection key", 32 bytes)
//	fingerprint = base32(SHA-256(SubjectPublicKeyInfo of the Ed25519 public key))
//
// The identity is its canonical text, AGE-SECRET-KEY-…, in upper case and without a newline. Base32 is the encoding of
// RFC 4648, in lower case and without padding: 52 characters.
//
// # Job key
//
// Those who work on one export together share a secret. It is derived from an identity that all of them have:
//
//	secret = HKDF-SHA-256(secret = identity, salt = "", info = "culvert/v1 job key", 32 bytes)
//
// # Reading
//
// A [Reader] reads identity files and recipients as age does: native and post-quantum keys, ssh keys, plugins, and
// identity files that are encrypted with a passphrase. It limits the cost of passphrases: see [MaxWorkFactor].
package keyfile

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"time"

	"filippo.io/age"

	"culvert/internal/fingerprint"
)

// The labels separate the keys that are derived from an identity.
const (
	connectionLabel = "culvert/v1 connection key"
	jobLabel        = "culvert/v1 job key"
)

// Key is an age identity with its recipient and its connection key. It is safe for concurrent use.
type Key struct {
	identity   age.Identity
	recipient  age.Recipient
	secret     string
	public     string
	connection ed25519.PrivateKey
}

// Generate makes a new X25519 key.
func Generate() (*Key, error) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, fmt.Errorf("keyfile: %w", err)
	}
	return FromIdentity(identity)
}

// GeneratePostQuantum makes a new key that protects files against quantum computers: ML-KEM-768 with X25519. Its
// connection key is classical.
func GeneratePostQuantum() (*Key, error) {
	identity, err := age.GenerateHybridIdentity()
	if err != nil {
		return nil, fmt.Errorf("keyfile: %w", err)
	}
	return FromIdentity(identity)
}

// FromIdentity returns the key of a native age identity: an [*age.X25519Identity] or an [*age.HybridIdentity]. It
// returns an error for others, such as ssh keys and plugins, which do not reveal their secret.
func FromIdentity(identity age.Identity) (*Key, error) {
	key := &Key{identity: identity}
	switch id := identity.(type) {
	case *age.X25519Identity:
		key.recipient, key.public, key.secret = id.Recipient(), id.Recipient().String(), id.String()
	case *age.HybridIdentity:
		key.recipient, key.public, key.secret = id.Recipient(), id.Recipient().String(), id.String()
	default:
		return nil, fmt.Errorf("keyfile: no connection key can be derived from an identity of type %T", identity)
	}
	seed, err := hkdf.Key(sha256.New, []byte(key.secret), nil, connectionLabel, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("keyfile: deriving the connection key: %w", err)
	}
	key.connection = ed25519.NewKeyFromSeed(seed)
	return key, nil
}

// Identity returns the secret key, which decrypts files.
func (k *Key) Identity() age.Identity { return k.identity }

// Recipient returns the public key, to which others encrypt files.
func (k *Key) Recipient() age.Recipient { return k.recipient }

// RecipientString returns the recipient as text: age1….
func (k *Key) RecipientString() string { return k.public }

// ConnectionKey returns the private key that authenticates connections. The caller must not modify it.
func (k *Key) ConnectionKey() ed25519.PrivateKey { return k.connection }

// Fingerprint returns the fingerprint of the connection key, which peers pin.
func (k *Key) Fingerprint() string {
	return fingerprint.Of(k.connection.Public().(ed25519.PublicKey)).String()
}

// JobSecret returns the secret of those who work on one export together.
func (k *Key) JobSecret() []byte {
	const size = 32
	secret, err := hkdf.Key(sha256.New, []byte(k.secret), nil, jobLabel, size)
	if err != nil {
		panic(err) // the size is valid
	}
	return secret
}

// text returns the content of the key's file, including the secret.
func (k *Key) text(created time.Time) string {
	return fmt.Sprintf("# created: %s\n# public key: %s\n# recipient: %s\n# fingerprint: %s\n%s\n",
		created.Format(time.RFC3339), k.public, k.public, k.Fingerprint(), k.secret)
}
