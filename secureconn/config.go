package secureconn

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"time"

	"culvert/internal/fingerprint"
)

// DefaultHandshakeTimeout is how long a handshake may take if [Config.HandshakeTimeout] is 0.
const DefaultHandshakeTimeout = 10 * time.Second

// Config has the key of this side and says which peers it accepts. Exactly one of Peers and Authorize must be set. A
// Config may be shared by any number of connections, and must not be changed or copied once it is in use.
type Config struct {
	// Key is the key of this side, as ed25519.GenerateKey makes it. It is required.
	Key ed25519.PrivateKey

	// Peers are the fingerprints of the peers that are accepted, as [Fingerprint] returns them.
	Peers []string

	// Authorize decides about a peer at each handshake, so that the decision may change while connections are made. Nil
	// accepts the peer; an error refuses it, and is the Err of the [PeerError] with which the handshake fails. The
	// fingerprint is in lower case. Connections that exist are not asked about again.
	//
	// The peer has not yet proved that it holds the key: Authorize should only decide. After the handshake, [Conn.Peer]
	// is proved. Authorize may be called concurrently, and should return quickly.
	Authorize func(fingerprint string) error

	// HandshakeTimeout is how long a handshake may take, from its first byte to its last; 0 means
	// DefaultHandshakeTimeout, and less than 0 is an error.
	HandshakeTimeout time.Duration

	once      sync.Once
	tls       *tls.Config
	authorize func(fingerprint.Fingerprint) error
	own       fingerprint.Fingerprint
	invalid   error
}

// prepare checks the Config, once, and builds what all handshakes need.
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
	var err error
	if c.authorize, err = c.decider(); err != nil {
		return err
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
		// There are no authorities. Instead VerifyConnection checks the fingerprint, on both sides. The handshake
		// fails if the peer does not hold the key.
		InsecureSkipVerify: true,
		VerifyConnection:   c.verify,
	}
	return nil
}

// decider returns the function that accepts a peer.
func (c *Config) decider() (func(fingerprint.Fingerprint) error, error) {
	switch {
	case c.Authorize != nil && c.Peers != nil:
		return nil, errors.New("secureconn: the Config has both Peers and Authorize")
	case c.Authorize != nil:
		return func(peer fingerprint.Fingerprint) error { return c.Authorize(peer.String()) }, nil
	case len(c.Peers) == 0:
		return nil, errors.New("secureconn: the Config has neither Peers nor Authorize, so no peer would be accepted")
	}
	listed := map[fingerprint.Fingerprint]bool{}
	for _, text := range c.Peers {
		peer, err := fingerprint.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("secureconn: %w", err)
		}
		listed[peer] = true
	}
	return func(peer fingerprint.Fingerprint) error {
		if !listed[peer] {
			return errNotListed
		}
		return nil
	}, nil
}

func (c *Config) timeout() time.Duration {
	if c.HandshakeTimeout == 0 {
		return DefaultHandshakeTimeout
	}
	return c.HandshakeTimeout
}

// verify accepts a connection that follows SPEC.md, with a peer that is authorized. TLS calls it before it
// shows the own certificate to a server, and reports a refusal to the peer.
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
	if err := c.authorize(peer); err != nil {
		return &PeerError{Fingerprint: peer.String(), Err: err}
	}
	return nil
}

// peerOf returns the fingerprint of the key in the peer's certificate.
func peerOf(state tls.ConnectionState) (fingerprint.Fingerprint, error) {
	if len(state.PeerCertificates) == 0 {
		return fingerprint.Fingerprint{}, errors.New("the peer has shown no key")
	}
	if state.PeerCertificates[0].PublicKeyAlgorithm != x509.Ed25519 {
		return fingerprint.Fingerprint{}, errors.New("the key of the peer is not one of Ed25519")
	}
	return sha256.Sum256(state.PeerCertificates[0].RawSubjectPublicKeyInfo), nil
}

// selfSigned wraps a key as TLS needs it. Only the key counts: the certificate has no name and does not expire.
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

// Fingerprint returns the fingerprint of a public key: the SHA-256 of its X.509 form (SubjectPublicKeyInfo) in base32
// (RFC 4648), in lower case and without padding. It has 52 characters. Fingerprint panics if the key has a wrong
// length.
func Fingerprint(public ed25519.PublicKey) string { return fingerprint.Of(public).String() }
