package wire

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
)

// The values of ssl-mode, as in MySQL.
const (
	sslDisabled       = "DISABLED"
	sslPreferred      = "PREFERRED"
	sslRequired       = "REQUIRED"
	sslVerifyCA       = "VERIFY_CA"
	sslVerifyIdentity = "VERIFY_IDENTITY"
)

var sslModes = []string{sslDisabled, sslPreferred, sslRequired, sslVerifyCA, sslVerifyIdentity}

// tlsOptions are the TLS options. MariaDB has ssl and ssl-verify-server-cert in place of ssl-mode.
type tlsOptions struct {
	mode          string // "" if not set
	ssl, verify   toggle
	ca, cert, key string
	versions      []uint16 // nil if not set
}

// toggle is an option that is on, off, or not set.
type toggle uint8

const (
	untouched toggle = iota
	on
	off
)

// finalMode returns the strictest mode that the options ask for, whatever their order.
func (o *tlsOptions) finalMode(network string) (string, error) {
	disabled := o.mode == sslDisabled || o.mode == "" && o.ssl == off
	switch {
	case disabled && (o.ssl == on || o.verify == on), !disabled && o.ssl == off:
		return "", errors.New("mysql: the options ssl-mode, ssl and ssl-verify-server-cert contradict each other: " +
			"one asks for TLS, and another one for no TLS")
	case disabled:
		return sslDisabled, nil
	case o.verify == on:
		return sslVerifyIdentity, nil
	case o.mode == sslPreferred && o.ssl == on:
		return sslRequired, nil
	case o.mode != "":
		return o.mode, nil
	case o.ca != "":
		return sslVerifyCA, nil
	case o.ssl == on:
		return sslRequired, nil
	case network == "unix":
		return sslDisabled, nil // nothing leaves the machine
	}
	return sslPreferred, nil
}

// tlsVersions are the values of tls-version; 0 stands for versions that are not supported.
var tlsVersions = map[string]uint16{"TLSV1": 0, "TLSV1.1": 0, "TLSV1.2": tls.VersionTLS12, "TLSV1.3": tls.VersionTLS13}

func (s *Settings) setTLSVersion(value string) error {
	s.tls.versions = []uint16{}
	for name := range strings.SplitSeq(value, ",") {
		version, known := tlsVersions[strings.ToUpper(strings.TrimSpace(name))]
		if !known {
			return errValue
		}
		if version > 0 {
			s.tls.versions = append(s.tls.versions, version)
		}
	}
	if len(s.tls.versions) == 0 {
		return errors.New("it allows only insecure versions")
	}
	return nil
}

// TLS returns the TLS configuration, nil for no TLS, and whether to fall back to plain text if the server has no TLS.
func (s *Settings) TLS() (config *tls.Config, plainWillDo bool, err error) {
	network, _ := s.Server()
	mode, err := s.tls.finalMode(network)
	if err != nil || mode == sslDisabled {
		return nil, false, err
	}
	config = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.host}
	if network == "unix" {
		config.ServerName = cmp.Or(s.host, "localhost")
	}
	for i, version := range s.tls.versions {
		if i == 0 {
			config.MinVersion, config.MaxVersion = version, version
		}
		config.MinVersion, config.MaxVersion = min(config.MinVersion, version), max(config.MaxVersion, version)
	}
	if s.tls.ca != "" {
		if config.RootCAs, err = readCertificates(s.tls.ca); err != nil {
			return nil, false, fmt.Errorf("mysql: ssl-ca: %w", err)
		}
	}
	if s.tls.cert != "" || s.tls.key != "" {
		// As for the programs of MySQL, one file may hold both.
		pair, err := tls.LoadX509KeyPair(cmp.Or(s.tls.cert, s.tls.key), cmp.Or(s.tls.key, s.tls.cert))
		if err != nil {
			return nil, false, fmt.Errorf("mysql: ssl-cert and ssl-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if mode != sslVerifyIdentity {
		config.InsecureSkipVerify = true // PREFERRED and REQUIRED protect only against eavesdropping
	}
	if mode == sslVerifyCA {
		config.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, config.RootCAs) }
	}
	return config, mode == sslPreferred, nil
}

// verifyChain checks the signatures of the server's certificate, but not its name.
func verifyChain(state tls.ConnectionState, roots *x509.CertPool) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the server has no certificate")
	}
	intermediates := x509.NewCertPool()
	for _, certificate := range state.PeerCertificates[1:] {
		intermediates.AddCert(certificate)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates})
	return err
}

func readCertificates(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return pool, nil
}
