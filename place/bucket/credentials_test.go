package bucket_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"culvert/internal/testkit/stores"
	"culvert/place"
	"culvert/place/bucket"
)

// credentialServer issues credentials to the role of an instance. They have expired when they arrive, so that each
// request needs new ones.
type credentialServer struct {
	*httptest.Server
	mu      sync.Mutex
	answer  string
	refuses int // so many requests
	silent  bool
}

const always = 1 << 30

func startCredentialServer(t *testing.T, answer string) *credentialServer {
	s := &credentialServer{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.silent {
			s.mu.Unlock()
			<-r.Context().Done()
			s.mu.Lock()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if s.refuses > 0 {
			s.refuses--
			w.WriteHeader(http.StatusBadRequest) // which libraries do not repeat
			_, _ = io.WriteString(w, "{}")       // the client has gone away
			return
		}
		_, _ = io.WriteString(w, s.answer) // the client has gone away
	}))
	t.Cleanup(s.Close)
	return s
}

// moveCredentials moves the credentials for S3 from the environment to a server, which calls them expired each time.
func moveCredentials(t *testing.T) *credentialServer {
	s := startCredentialServer(t, fmt.Sprintf(
		`{"AccessKeyId":%q,"SecretAccessKey":%q,"Expiration":"2026-01-01T00:00:00Z"}`,
		os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")))
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", s.URL)
	return s
}

func (s *credentialServer) refuse(requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = requests
}

func (s *credentialServer) setSilent(silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = silent
}

// wantRenewal opens places that get their credentials from a server.
func wantRenewal(t *testing.T, s *credentialServer, url, advice string) {
	t.Helper()
	s.refuse(always)
	_, err := openRushed(t, url).Stat("file")
	wantError(t, err, fs.ErrPermission, "file")
	if !errors.Is(err, place.ErrRefused) || !strings.Contains(err.Error(), "no credentials") ||
		!strings.Contains(err.Error(), advice) {
		t.Errorf("without credentials the error is %v", err)
	}
	s.refuse(0)
	b := openRushed(t, url)
	for _, failures := range []int{0, 1, 0, 2} {
		s.refuse(failures)
		if _, err := b.Stat("file"); err != nil {
			t.Errorf("after %d failures to renew the credentials: %v", failures, err)
		}
	}
	s.refuse(always)
	_, err = b.Stat("file")
	wantError(t, err, place.ErrUnreachable, "file")
	if err == nil || !strings.Contains(err.Error(), "credentials") {
		t.Errorf("the error is %v", err)
	}
}

func TestRenewedCredentialsS3(t *testing.T) {
	for _, store := range stores.S3(t) {
		t.Run(store.Name, func(t *testing.T) {
			url := store.URL(t)
			mustWrite(t, open(t, url, small), "file", nil)
			s := moveCredentials(t)
			wantRenewal(t, s, url, "AWS_ACCESS_KEY_ID")
		})
	}
}

func TestSilentCredentialServer(t *testing.T) {
	// The library tries again after pauses of its own, and the store may not answer soon.
	wait := func(b bucket.Place) {
		for err := fs.ErrInvalid; err != nil; {
			_, err = b.Stat("file")
		}
	}
	for _, store := range stores.S3(t) {
		t.Run(store.Name, func(t *testing.T) {
			url := store.URL(t)
			mustWrite(t, open(t, url, small), "file", nil)
			s := moveCredentials(t)
			b := open(t, url, impatient)
			wait(b)
			s.setSilent(true)
			_, err := b.Stat("file")
			wantError(t, err, place.ErrUnreachable, "file")
			fresh := open(t, url, impatient)
			_, err = fresh.Stat("file")
			wantError(t, err, fs.ErrPermission, "file")

			s.setSilent(false)
			wait(b)
			wait(fresh)
		})
	}
}

func TestRenewedCredentialsAzure(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		now := time.Now().UTC().Format(http.TimeFormat)
		for name, value := range map[string]string{
			"ETag": `"1"`, "Last-Modified": now, "X-Ms-Creation-Time": now, "X-Ms-Blob-Type": "BlockBlob",
			"Content-Type": "text/plain", "Content-Length": "0",
		} {
			w.Header().Set(name, value)
		}
	}))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	transport := http.DefaultTransport.(*http.Transport)
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	defer func() { transport.TLSClientConfig = nil }()

	s := startCredentialServer(t, `{"access_token":"hush","token_type":"Bearer","resource":"a","expires_on":"1"}`)
	for _, name := range []string{"CONNECTION_STRING", "KEY", "SAS_TOKEN"} {
		t.Setenv("AZURE_STORAGE_"+name, "")
	}
	t.Setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
	t.Setenv("IDENTITY_ENDPOINT", s.URL)
	t.Setenv("IDENTITY_HEADER", "header")
	url := "azblob://" + stores.Bucket + "/?account=account&endpoint=" + server.URL
	wantRenewal(t, s, url, "AZURE_STORAGE_KEY")
}
