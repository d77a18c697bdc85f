package queue_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culvert/internal/testkit/natsserver"
	"culvert/workers/internal/queue"
)

// A user's nkey, of these tests only.
const (
	nkeySeed   = "SUAPHBQ46QPL4FC7J6OWDOEVKQNAVVTXEOOEL3NDRMTO7XTDTPBWKPXOWM"
	nkeyPublic = "UCAYBJAWKKCEAWO25SP5GFWN4P76QRNDLXL2JZYURZKNSW3PS7DV3JCD"
)

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func refused(t *testing.T, what string, c queue.Config) {
	t.Helper()
	if q, err := queue.Open(t.Context(), c); err == nil {
		q.Close()
		t.Errorf("%s was accepted", what)
	}
}

// authority is a certificate authority of a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	path        string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.certificate = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	a.path, _ = a.issue(t, a.certificate)
	return a
}

// issue returns the paths of a certificate and its key. The first certificate is the authority's own.
func (a *authority) issue(t *testing.T, template *x509.Certificate) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if a.key == nil {
		a.key = private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &private.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "certificate.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		write(t, "key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

func leaf() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, IPAddresses: []net.IP{{127, 0, 0, 1}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ca, stranger := newAuthority(t), newAuthority(t)
	certificate, key := ca.issue(t, leaf())
	server := natsserver.New(t, fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }",
		certificate, key, ca.path))
	mine, myKey := ca.issue(t, leaf())
	other, otherKey := stranger.issue(t, leaf())
	url := strings.Replace(server.URL(), "nats:", "tls:", 1)
	job := create(t, open(t, queue.Config{URL: url, CA: ca.path, Certificate: mine, Key: myKey}), "job")
	put(t, job, 1)
	next(t, job)
	refused(t, "another server", queue.Config{URL: url, CA: stranger.path, Certificate: mine, Key: myKey})
	refused(t, "a server that no authority of the system knows", queue.Config{URL: url, Certificate: mine, Key: myKey})
	refused(t, "a client of another authority", queue.Config{URL: url, CA: ca.path, Certificate: other, Key: otherKey})
	refused(t, "a client without a certificate", queue.Config{URL: url, CA: ca.path})
}

func TestNkey(t *testing.T) {
	t.Parallel()
	server := natsserver.New(t, fmt.Sprintf("authorization { users: [ { nkey: %s } ] }", nkeyPublic))
	path := write(t, "seed", []byte(nkeySeed+"\n"))
	put(t, create(t, open(t, queue.Config{URL: server.URL(), Nkey: path}), "job"), 1)
	refused(t, "nobody", queue.Config{URL: server.URL()})
	refused(t, "a file without a seed", queue.Config{URL: server.URL(), Nkey: write(t, "seed", []byte("no seed"))})
}

// TestMaxPayload has a server that does not accept what a job may have to note.
func TestMaxPayload(t *testing.T) {
	url := natsserver.New(t, "max_payload: 65536").URL()
	q, err := queue.Open(t.Context(), queue.Config{URL: url})
	if err == nil {
		q.Close()
	}
	if !errors.Is(err, queue.ErrPayload) {
		t.Error(err)
	}
}
