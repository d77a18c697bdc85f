package mysql

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

// tlsOptions are what options say of TLS. MariaDB has ssl and ssl-verify-server-cert in place of ssl-mode.
type tlsOptions struct {
	mode          string // "" if nothing is said
	ssl, verify   toggle
	ca, cert, key string
	versions      []uint16 // nil if nothing is said
}

// toggle is a switch that may not have been touched.
type toggle uint8

const (
	untouched toggle = iota
	on
	off
)

// finalMode puts together what the options say, whatever their order: the strictest of them counts.
func (o *tlsOptions) finalMode(network string) (string, error) {
	disabled := o.mode == sslDisabled || o.mode == "" && o.ssl == off
	switch {
	case disabled && (o.ssl == on || o.verify == on), !disabled && o.ssl == off:
		return "", errors.New("mysql: of the options ssl-mode, ssl and ssl-verify-server-cert, one wants TLS, and " +
			"another one does not")
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

// tlsVersions are those that are spoken, of the names that tls-version may have.
var tlsVersions = map[string]uint16{"TLSV1": 0, "TLSV1.1": 0, "TLSV1.2": tls.VersionTLS12, "TLSV1.3": tls.VersionTLS13}

func (s *settings) setTLSVersion(value string) error {
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
		return errors.New("it leaves only versions that are not secure")
	}
	return nil
}

// tlsConfig says how to speak TLS, or nil for not at all, and whether plain text will do if the server has no TLS.
func (s *settings) tlsConfig() (config *tls.Config, plainWillDo bool, err error) {
	network, _ := s.place()
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
		config.InsecureSkipVerify = true // PREFERRED and REQUIRED keep out those who only listen
	}
	if mode == sslVerifyCA {
		config.VerifyConnection = func(state tls.ConnectionState) error { return verifyChain(state, config.RootCAs) }
	}
	return config, mode == sslPreferred, nil
}

// verifyChain checks who has signed the certificate of the server, but not whose name it is in.
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
