package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
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

// tlsConfig says how to speak TLS, or nil for not at all, and whether plain text will do if the server has no TLS.
func (s *settings) tlsConfig() (config *tls.Config, plainWillDo bool, err error) {
	network, _ := s.place()
	mode := s.sslMode
	switch {
	case mode != "":
	case s.sslCA != "":
		mode = sslVerifyCA
	case network == "unix":
		mode = sslDisabled // nothing leaves the machine
	default:
		mode = sslPreferred
	}
	if mode == sslDisabled {
		return nil, false, nil
	}
	config = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.host}
	if s.sslCA != "" {
		if config.RootCAs, err = readCertificates(s.sslCA); err != nil {
			return nil, false, fmt.Errorf("mysql: ssl-ca: %w", err)
		}
	}
	if s.sslCert != "" || s.sslKey != "" {
		pair, err := tls.LoadX509KeyPair(s.sslCert, s.sslKey)
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
