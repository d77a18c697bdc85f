package secureconn

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base32"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"time"
)

// DefaultHandshakeTimeout is how long a handshake may take if [Config.HandshakeTimeout] is 0.
const DefaultHandshakeTimeout = 10 * time.Second

// Config says who one side is and whom it speaks with. It may be shared by any number of connections and must not be
// changed or copied once it is in use.
type Config struct {
	// Key is the own key, as ed25519.GenerateKey makes it. It is required.
	Key ed25519.PrivateKey

	// Peers are the fingerprints of those that are accepted, as [Fingerprint] gives them. At least one is required: no
	// connection is made with a peer that is not known.
	Peers []string

	// HandshakeTimeout is how long a handshake may take, from its first byte to its last; 0 means
	// DefaultHandshakeTimeout, and less than 0 is an error.
	HandshakeTimeout time.Duration

	once    sync.Once
	tls     *tls.Config
	peers   map[fingerprint]bool
	own     fingerprint
	invalid error
}

// prepare does once what all handshakes need.
func (c *Config) prepare() error {
	if c == nil {
		return errors.New("secureconn: no Config")
	}
	c.once.Do(func() { c.invalid = c.build() })
	return c.invalid
}

func (c *Config) build() error {
	if len(c.Key) != ed25519.PrivateKeySize {
		return fmt.Errorf("secureconn: the Key of the Config has %d bytes, not %d", len(c.Key), ed25519.PrivateKeySize)
	}
	if c.HandshakeTimeout < 0 {
		return errors.New("secureconn: the HandshakeTimeout of the Config is negative")
	}
	if len(c.Peers) == 0 {
		return errors.New("secureconn: the Config has no Peers, so that nobody can be connected with")
	}
	c.peers = map[fingerprint]bool{}
	for _, text := range c.Peers {
		f, err := parseFingerprint(text)
		if err != nil {
			return err
		}
		c.peers[f] = true
	}
	certificate, err := selfSigned(c.Key)
	if err != nil {
		return fmt.Errorf("secureconn: making the certificate: %w", err)
	}
	c.own = sha256.Sum256(certificate.Leaf.RawSubjectPublicKeyInfo)
	c.tls = &tls.Config{
		Certificates:           []tls.Certificate{*certificate},
		NextProtos:             []string{protocol},
		MinVersion:             tls.VersionTLS13,
		CurvePreferences:       []tls.CurveID{tls.X25519MLKEM768},
		SessionTicketsDisabled: true,
		ClientAuth:             tls.RequireAnyClientCert,
		// There is no authority to ask. VerifyConnection compares the fingerprint instead, on both sides, and the
		// handshake fails if the peer does not hold the key.
		InsecureSkipVerify: true,
		VerifyConnection:   c.verify,
	}
	return nil
}

func (c *Config) timeout() time.Duration {
	if c.HandshakeTimeout == 0 {
		return DefaultHandshakeTimeout
	}
	return c.HandshakeTimeout
}

// verify accepts a connection that is as the package comment says, with a peer whose fingerprint is listed. TLS asks
// before it shows the own certificate to a server, and tells the peer of a refusal.
func (c *Config) verify(state tls.ConnectionState) error {
	if state.NegotiatedProtocol != protocol {
		return errors.New("the peer does not speak " + protocol)
	}
	if state.Version != tls.VersionTLS13 || state.CurveID != tls.X25519MLKEM768 || state.DidResume {
		return errors.New("the peer has agreed on something else")
	}
	peer, err := peerOf(state)
	if err != nil {
		return err
	}
	if !c.peers[peer] {
		return &PeerError{Fingerprint: peer.String()}
	}
	return nil
}

// peerOf gives the fingerprint of the key that the peer has shown.
func peerOf(state tls.ConnectionState) (fingerprint, error) {
	if len(state.PeerCertificates) == 0 {
		return fingerprint{}, errors.New("the peer has shown no key")
	}
	if state.PeerCertificates[0].PublicKeyAlgorithm != x509.Ed25519 {
		return fingerprint{}, errors.New("the key of the peer is not one of Ed25519")
	}
	return sha256.Sum256(state.PeerCertificates[0].RawSubjectPublicKeyInfo), nil
}

// selfSigned wraps a key as TLS wants it. Only the key counts, so the certificate has no name and no term.
func selfSigned(key ed25519.PrivateKey) (*tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC), // no end (RFC 5280, section 4.1.2.5)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}

// fingerprint is the SHA-256 of a SubjectPublicKeyInfo.
type fingerprint [sha256.Size]byte

var fingerprintEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

func (f fingerprint) String() string { return fingerprintEncoding.EncodeToString(f[:]) }

func parseFingerprint(text string) (f fingerprint, err error) {
	text = strings.ToLower(text)
	raw, err := fingerprintEncoding.DecodeString(text)
	if err == nil && len(raw) == len(f) {
		f = fingerprint(raw)
	}
	if f.String() != text {
		return f, fmt.Errorf("secureconn: %q is no fingerprint, which has 52 characters from a to z and 2 to 7", text)
	}
	return f, nil
}

// Fingerprint gives the fingerprint of a public key: the SHA-256 of its X.509 form (SubjectPublicKeyInfo) in base32,
// RFC 4648, in lower case and without padding. It has 52 characters. It panics if the key has a wrong length.
func Fingerprint(public ed25519.PublicKey) string {
	if len(public) != ed25519.PublicKeySize {
		panic("secureconn.Fingerprint: wrong length of the key")
	}
	spki, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		panic(err) // it knows Ed25519
	}
	return fingerprint(sha256.Sum256(spki)).String()
}
