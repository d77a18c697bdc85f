package bucket_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culvert/internal/testkit/stores"
	"culvert/place"
	"culvert/place/bucket"
	"culvert/place/placetest"
)

// throughGoogle opens the bucket of a server of its own through a proxy, and directly.
func throughGoogle(t *testing.T, config bucket.Config) (g *google, p *stores.Proxy, through, direct bucket.Place) {
	g = startGoogle(t)
	p = stores.NewProxy(t, &stores.Server{Address: g.address}, nil)
	return g, p, open(t, g.url(p.Address), config), open(t, g.url(g.address), config)
}

func (g *google) wantNoUploads(t *testing.T) {
	t.Helper()
	if left := g.uploads(); left > 0 {
		t.Errorf("there are %d unfinished uploads", left)
	}
}

// header returns a function that changes a header of an answer.
func header(name, value string) func(*http.Response) {
	return func(r *http.Response) { r.Header.Set(name, value) }
}

// What the requests to Google are for.

func isGoogleBegin(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Query().Get("uploadType") == "resumable"
}

func isGooglePart(r *http.Request) bool {
	return strings.HasSuffix(r.Header.Get("Content-Range"), "/*")
}

func isGoogleComplete(r *http.Request) bool {
	return r.Method == http.MethodPut && !isGooglePart(r)
}

func isGooglePut(r *http.Request) bool { return r.URL.Query().Get("uploadType") == "multipart" }

func TestGooglePlace(t *testing.T) {
	placetest.Run(t, func(t *testing.T) place.Place {
		g := startGoogle(t)
		return open(t, g.url(g.address), bucket.Config{})
	})
}

// TestGooglePartSizes writes parts that are no multiple of what the store takes, and of which it takes a part.
func TestGooglePartSizes(t *testing.T) {
	for _, half := range []bool{false, true} {
		g := startGoogle(t)
		g.half = half
		for _, partSize := range []int64{5 << 20, 5<<20 + 1} {
			b := open(t, g.url(g.address), bucket.Config{PartSize: partSize})
			for _, size := range []int{0, 1, 5 << 20, 5<<20 + 1, 10 << 20, len(large)} {
				mustWrite(t, b, "file", large[:size])
				wantContent(t, b, "file", large[:size])
				if err := b.Remove(t.Context(), "file"); err != nil {
					t.Fatal(err)
				}
			}
		}
		g.wantNoUploads(t)
	}
}

// TestGoogleOneFault does something to the first request of a kind. The file is written nevertheless.
func TestGoogleOneFault(t *testing.T) {
	for name, f := range map[string]stores.Fault{
		"500": {Status: 500}, "503": {Status: 503}, "429": {Status: 429}, "408": {Status: 408},
		"Cut": {CutRequest: 1}, "LostAnswer": {LoseAnswer: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, p, through, direct := throughGoogle(t, small)
			for name, kind := range map[string]func(*http.Request) bool{
				"begin": isGoogleBegin, "part": isGooglePart, "complete": isGoogleComplete,
			} {
				p.Set(stores.Once(kind, f))
				mustWrite(t, through, name, large)
				wantContent(t, direct, name, large)
			}
			p.Set(stores.Once(isGooglePut, f))
			mustWrite(t, through, "small", large[:100])
			wantContent(t, direct, "small", large[:100])
			p.Set(stores.Once(stores.Range.Of, f))
			wantContent(t, through, "part", large)
			p.Set(stores.Once(stores.Delete.Of, f))
			if err := through.Remove(t.Context(), "small"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestGoogleRefusedParts lets a write fail in its middle, and at its end.
func TestGoogleRefusedParts(t *testing.T) {
	for name, test := range map[string]struct {
		stores.Fault
		want error
	}{
		"Busy":   {stores.Fault{Status: 503, Body: "Service Unavailable"}, place.ErrUnreachable},
		"Denied": {stores.Fault{Status: 403, Body: `{"error":{"message":"no permission"}}`}, fs.ErrPermission},
		"Ended":  {stores.Fault{Status: 410}, place.ErrUnreachable},
		"Hangs":  {stores.Fault{Hang: true}, place.ErrUnreachable},
		"Cut":    {stores.Fault{CutRequest: 1}, place.ErrUnreachable},
		// Each of these is an answer that the protocol does not have there.
		"Nothing":  {stores.Fault{Status: 308}, place.ErrUnreachable},
		"TooEarly": {stores.Fault{Answer: func(r *http.Response) { r.StatusCode = 200 }}, place.ErrIntegrity},
		"NoNumber": {stores.Fault{Answer: header("Range", "bytes=0-x")}, place.ErrIntegrity},
		"TooMuch":  {stores.Fault{Answer: header("Range", "bytes=0-99999999")}, place.ErrIntegrity},
	} {
		t.Run(name, func(t *testing.T) {
			g, p, through, direct := throughGoogle(t, small)
			rush(p, through)
			p.Set(stores.Always(isGooglePart, test.Fault))
			wantError(t, write(t.Context(), through, "file", large), test.want, "file")
			wantNone(t, direct, "file")
			g.wantNoUploads(t)
		})
	}
}

// TestGoogleDamaged changes a byte on its way. The store verifies a large object only as a whole.
func TestGoogleDamaged(t *testing.T) {
	for _, careless := range []bool{false, true} {
		g, p, through, direct := throughGoogle(t, small)
		g.set(func() { g.careless = careless })
		p.Set(stores.Once(isGooglePart, stores.Fault{Corrupt: true}))
		wantError(t, write(t.Context(), through, "large", large), place.ErrIntegrity, "large")
		wantNone(t, direct, "large")
		g.wantNoUploads(t)

		hasData := func(r *http.Request) bool { return isGooglePut(r) && r.ContentLength > 10_000 }
		data := large[:100_000]
		p.Set(stores.Once(hasData, stores.Fault{Corrupt: true}))
		mustWrite(t, through, "small", data)
		wantContent(t, direct, "small", data)
		p.Set(stores.Always(hasData, stores.Fault{Corrupt: true}))
		wantError(t, write(t.Context(), through, "other", data), place.ErrIntegrity, "other")
		wantNone(t, direct, "other")
	}
}

// TestGoogleExists creates an object under the name of a file under construction, at several moments.
func TestGoogleExists(t *testing.T) {
	theirs := []byte("theirs")
	for name, data := range map[string][]byte{"Large": large, "Small": large[:100]} {
		t.Run(name, func(t *testing.T) {
			_, _, through, direct := throughGoogle(t, small)
			f, err := through.Create(t.Context(), "file")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write(data); err != nil {
				t.Fatal(err)
			}
			mustWrite(t, direct, "file", theirs)
			wantError(t, f.Commit(), fs.ErrExist, "file")
			wantContent(t, direct, "file", theirs)
		})
	}
	t.Run("BeforeTheFirstPart", func(t *testing.T) {
		g, _, through, direct := throughGoogle(t, small)
		f, err := through.Create(t.Context(), "file")
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(t, direct, "file", theirs)
		_, err = f.Write(large)
		wantError(t, err, fs.ErrExist, "file")
		if err := f.Discard(); err != nil {
			t.Error(err)
		}
		g.wantNoUploads(t)
		wantContent(t, direct, "file", theirs)
	})
}

// TestGoogleReads changes what the store answers to a read.
func TestGoogleReads(t *testing.T) {
	for name, test := range map[string]struct {
		stores.Fault
		want error
	}{
		"Whole":      {stores.Fault{Answer: header("Content-Range", "")}, place.ErrIntegrity},
		"Generation": {stores.Fault{Answer: header("X-Goog-Generation", "7")}, place.ErrChanged},
		"Removed":    {stores.Fault{Status: 404, Body: "No such object: backups/file"}, place.ErrChanged},
		"Denied":     {stores.Fault{Status: 401}, fs.ErrPermission},
		"Cut":        {stores.Fault{CutResponse: -1}, place.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			_, p, through, direct := throughGoogle(t, small)
			rush(p, through)
			mustWrite(t, direct, "file", large)
			p.Set(stores.Always(stores.Range.Of, test.Fault))
			_, err := fs.ReadFile(through, "file")
			wantError(t, err, test.want, "file")
		})
	}
	_, p, through, _ := throughGoogle(t, small)
	rush(p, through)
	p.Set(stores.Always(anything, stores.Fault{Status: 200, Body: "<html>"}))
	_, err := through.Stat("file")
	wantError(t, err, place.ErrIntegrity, "file")
}

// TestGoogleMissingFacts is of a store that leaves out what is not 0 because of that.
func TestGoogleMissingFacts(t *testing.T) {
	_, p, through, direct := throughGoogle(t, small)
	rush(p, through)
	mustWrite(t, direct, "dir/file", large[:100])
	without := func(name string) stores.Fault {
		return stores.Fault{Answer: func(r *http.Response) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			setBody(r, bytes.ReplaceAll(body, []byte(`"`+name+`":`), []byte(`"x":`)))
		}}
	}
	for _, name := range []string{"size", "updated"} {
		p.Set(stores.Always(anything, without(name)))
		_, err := through.Stat("dir/file")
		wantError(t, err, place.ErrIntegrity, "dir/file")
	}
	for _, name := range []string{"name", "size", "updated"} {
		p.Set(stores.Always(anything, without(name)))
		_, err := fs.ReadDir(through, "dir")
		wantError(t, err, place.ErrIntegrity, "dir")
	}
}

// TestGoogleMetadata reads metadata whose keys another program has written with capitals.
func TestGoogleMetadata(t *testing.T) {
	g, _, _, direct := throughGoogle(t, small)
	mustWrite(t, direct, "file", nil)
	modified := time.Unix(1_600_000_000, 0)
	g.set(func() {
		for _, object := range g.objects {
			clear(object.Metadata)
			object.Metadata["CulvertTime"] = modified.UTC().Format(time.RFC3339)
		}
	})
	wantSourceTime(t, direct, "file", modified)
}

// TestGoogleTail has a store that has not kept what completes an object: it is sent again.
func TestGoogleTail(t *testing.T) {
	_, p, through, direct := throughGoogle(t, small)
	p.Set(stores.Once(isGoogleComplete, stores.Fault{Status: http.StatusPermanentRedirect}))
	mustWrite(t, through, "file", large)
	wantContent(t, direct, "file", large)
}

func TestGoogleEmulator(t *testing.T) {
	g := startGoogle(t)
	t.Setenv("STORAGE_EMULATOR_HOST", g.address)
	b := open(t, "gs://"+stores.Bucket, small)
	mustWrite(t, b, "file", large)
	wantContent(t, open(t, "gs://"+stores.Bucket, small), "file", large)
	t.Setenv("STORAGE_EMULATOR_HOST", "ftp://a")
	if _, err := bucket.Open(t.Context(), "gs://"+stores.Bucket, small); err == nil ||
		!strings.Contains(err.Error(), "STORAGE_EMULATOR_HOST") {
		t.Errorf("the error is %v", err)
	}
}

// TestGoogleCredentials has the key of a service account, for which the test itself issues tokens.
func TestGoogleCredentials(t *testing.T) {
	g := startGoogle(t)
	server := httptest.NewTLSServer(g)
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	transport := http.DefaultTransport.(*http.Transport)
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	defer func() { transport.TLSClientConfig = nil }()

	status, answer := 200, `{"access_token":"hush","token_type":"Bearer","expires_in":3600}`
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer) // the client has gone away
	}))
	defer tokens.Close()

	file := filepath.Join(t.TempDir(), "key.json")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	url := "gs://" + stores.Bucket + "/?endpoint=" + server.URL
	_, err := bucket.Open(t.Context(), url, impatient)
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("without the file the error is %v", err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "test@example.com", "token_uri": tokens.URL,
		"private_key": string(pem.EncodeToMemory(&pem.Block{
			Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key),
		})),
	})
	if err := errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	b := openRushed(t, url)
	mustWrite(t, b, "file", large)
	wantContent(t, b, "file", large)
	g.set(func() {
		if got := g.header.Get("Authorization"); got != "Bearer hush" {
			t.Errorf("a request has the header %q", got)
		}
	})
	status, answer = 400, `{"error":"invalid_grant","error_description":"the account is disabled"}`
	_, err = openRushed(t, url).Open("file")
	wantError(t, err, fs.ErrPermission, "file")
	if err == nil || !strings.Contains(err.Error(), "the account is disabled") {
		t.Errorf("the error is %v", err)
	}
	status = 503
	_, err = openRushed(t, url).Open("file")
	wantError(t, err, place.ErrUnreachable, "file")
	tokens.Close()
	_, err = openRushed(t, url).Open("file")
	wantError(t, err, place.ErrUnreachable, "file")
}
