// Package keyfile makes, writes and reads the files that keys live in.
//
// One secret serves for both jobs, files and connections. Its file is an age identity file, which every age tool reads;
// Culvert adds comments:
//
//	# created: 2026-02-03T09:30:00Z
//	# public key: age1xmwwc06ly3ee5rytxm9mflaz2u56jjj36s0mypdrwsvlul66mv4q47ryef
//	# recipient: age1xmwwc06ly3ee5rytxm9mflaz2u56jjj36s0mypdrwsvlul66mv4q47ryef
//	# fingerprint: o3yrhnomzr7jitk4wcyiozh6qtvjuemqperdi66n7hdcqkzv6hgq
//	AGE-SECRET-KEY-1…
//
// The public key is what age-keygen prints, for scripts that look for it; recipient is Culvert's own word for the same.
// A post-quantum identity is longer (its recipient begins with age1pq1) and otherwise alike.
//
// # Connection key
//
// Connections are authenticated by an Ed25519 key, which is derived so that no second secret needs a home:
//
//	seed        = HKDF-SHA-256(secret = identity, salt = "", info = "culvert/v1 connection key", 32 bytes)
//	fingerprint = base32(SHA-256(SubjectPublicKeyInfo of the Ed25519 public key))
//
// The identity is its canonical text, AGE-SECRET-KEY-…, in upper case and without a line end. Base32 is that of RFC
// 4648 in lower case and without padding: 52 characters.
//
// # Reading
//
// A [Reader] reads identity files and recipients as age does: native and post-quantum keys, ssh keys, plugins, and
// identity files that are themselves encrypted with a passphrase. Of passphrases it accepts less costly ones only: see
// [MaxWorkFactor].
package keyfile

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"filippo.io/age"
)

// connectionLabel separates the connection key from whatever else may one day be derived from an identity.
const connectionLabel = "culvert/v1 connection key"

// Key is an own key: an age identity and all that follows from it. It is safe for concurrent use.
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

// GeneratePostQuantum makes a new key whose files withstand a quantum computer too: ML-KEM-768 with X25519. Its
// connection key is a classical one.
func GeneratePostQuantum() (*Key, error) {
	identity, err := age.GenerateHybridIdentity()
	if err != nil {
		return nil, fmt.Errorf("keyfile: %w", err)
	}
	return FromIdentity(identity)
}

// FromIdentity gives the key of a native age identity: an [*age.X25519Identity] or an [*age.HybridIdentity]. Others,
// such as those of ssh and of plugins, do not show their secret, and are an error.
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

// Identity is the secret half, which decrypts.
func (k *Key) Identity() age.Identity { return k.identity }

// Recipient is the public half, which others encrypt to.
func (k *Key) Recipient() age.Recipient { return k.recipient }

// RecipientString is the recipient as text: age1….
func (k *Key) RecipientString() string { return k.public }

// ConnectionKey is the key that this side of a connection proves to hold. The caller must not change it.
func (k *Key) ConnectionKey() ed25519.PrivateKey { return k.connection }

// Fingerprint is the fingerprint of the connection key, which peers pin.
func (k *Key) Fingerprint() string {
	// An Ed25519 private key always holds an Ed25519 public key.
	fingerprint, err := Fingerprint(k.connection.Public().(ed25519.PublicKey))
	if err != nil {
		panic(err)
	}
	return fingerprint
}

// FingerprintLen is the number of characters of a fingerprint.
const FingerprintLen = 52

// Fingerprint is the SHA-256 of a public key in its X.509 form (SubjectPublicKeyInfo), in lower-case base32. It accepts
// the kinds of keys that [x509.MarshalPKIXPublicKey] does.
func Fingerprint(public any) (string, error) {
	spki, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", fmt.Errorf("keyfile: %w", err)
	}
	sum := sha256.Sum256(spki)
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])), nil
}

// text is the content of the key's file. It holds the secret.
func (k *Key) text(created time.Time) string {
	return fmt.Sprintf("# created: %s\n# public key: %s\n# recipient: %s\n# fingerprint: %s\n%s\n",
		created.Format(time.RFC3339), k.public, k.public, k.Fingerprint(), k.secret)
}
