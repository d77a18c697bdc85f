package bucket_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"culvert/internal/testkit/stores"
	"culvert/place"
	"culvert/place/bucket"
)

// hasSum reports whether a request has a checksum whose header contains the text.
func hasSum(text string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		for name, values := range r.Header {
			if r.Method != http.MethodHead && (strings.HasPrefix(name, "X-Amz-Checksum") ||
				strings.HasPrefix(name, "X-Amz-Sdk-Checksum")) {
				header := strings.ToLower(name + ": " + strings.Join(values, ", "))
				if strings.Contains(header, text) {
					return true
				}
			}
		}
		return false
	}
}

// refuseSums refuses requests as a store that does not know a header.
func refuseSums(which func(*http.Request) bool) func(*http.Request) *stores.Fault {
	return stores.Always(which, stores.Fault{Status: http.StatusNotImplemented, Body: noChecksum})
}

// mustReplace writes a file, and reports whether it is verified.
func mustReplace(t *testing.T, p place.Place, name string, data []byte) (verified bool) {
	t.Helper()
	f, err := p.Replace(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Commit()); err != nil {
		t.Fatalf("writing %s: %v", name, err)
	}
	return place.IsVerified(f)
}

// TestRefusedSums is of stores that refuse some checksums: the next one is sent, and each that is refused only once.
func TestRefusedSums(t *testing.T) {
	for name, test := range map[string]struct {
		refused  string
		requests int
		want     place.Algorithm
	}{
		"CRC64": {"crc64nvme", 1, place.SHA256},
		"Type":  {"full_object", 1, place.SHA256},
		"All":   {"", 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
				refused := 0
				p.Set(func(r *http.Request) *stores.Fault {
					f := refuseSums(hasSum(test.refused))(r)
					if f != nil {
						refused++
					}
					return f
				})
				parts := []int64{5 << 20, 5 << 20, 2<<20 + 5}
				for _, data := range [][]byte{large, large[:100]} {
					name := fmt.Sprint(len(data))
					if verified := mustReplace(t, through, name, data); verified != (test.want != "") {
						t.Errorf("%s bytes are verified: %v", name, verified)
					}
					wantContent(t, direct, name, data)
					if test.want != "" {
						wantSum(t, direct, name, test.want, parts, data)
					}
					parts = nil
				}
				if refused != test.requests {
					t.Errorf("%d requests were refused, want %d", refused, test.requests)
				}
			})
		})
	}
}

// TestRefusedTogether refuses the checksums of several requests that are under way at the same time.
func TestRefusedTogether(t *testing.T) {
	for _, kind := range []stores.Kind{stores.Put, stores.Begin} {
		t.Run(string(kind), func(t *testing.T) {
			throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
				const files = 4
				var arrived, written sync.WaitGroup
				arrived.Add(files)
				together := stores.Fault{Status: http.StatusNotImplemented, Body: noChecksum, Before: func() {
					arrived.Done()
					arrived.Wait()
				}}
				p.Set(func(r *http.Request) *stores.Fault {
					if kind.Of(r) && hasSum("crc64nvme")(r) {
						return &together
					}
					return refuseSums(hasSum(""))(r)
				})
				data := large[:100]
				if kind == stores.Begin {
					data = large
				}
				for i := range files {
					written.Go(func() {
						if err := write(t.Context(), through, fmt.Sprint(i), data); err != nil {
							t.Error(err)
						}
					})
				}
				written.Wait()
				for i := range files {
					wantContent(t, direct, fmt.Sprint(i), data)
				}
			})
		})
	}
}

// TestRefusedLater refuses a checksum after the upload has begun with it, as a store does that ignores what it does not
// know in one request and not in another. versitygw cannot stand for such a store when a part is refused: it wants the
// checksum of each part if an upload has begun with one.
func TestRefusedLater(t *testing.T) {
	for _, kind := range []stores.Kind{stores.Part, stores.Complete} {
		t.Run(string(kind), func(t *testing.T) {
			throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
				if kind == stores.Part && p.Store.Name == "versitygw" {
					return
				}
				p.Set(refuseSums(func(r *http.Request) bool { return kind.Of(r) && hasSum("crc64nvme")(r) }))
				if verified := mustReplace(t, through, "file", large); verified != (kind == stores.Complete) {
					t.Errorf("verified: %v", verified)
				}
				wantContent(t, direct, "file", large)
				if verified := mustReplace(t, through, "file", large); !verified {
					t.Error("the next file is not verified by the next checksum")
				}
				wantSum(t, direct, "file", place.SHA256, []int64{5 << 20, 5 << 20, 2<<20 + 5}, large)
			})
		})
	}
}

// TestOtherSum changes the checksum of the object in the answer of the store.
func TestOtherSum(t *testing.T) {
	other := func(r *http.Response) {
		if r.Header.Get("X-Amz-Checksum-Crc64nvme") != "" {
			r.Header.Set("X-Amz-Checksum-Crc64nvme", "AAAAAAAAAAA=")
		}
		text, err := io.ReadAll(r.Body)
		const begin, end = "<ChecksumCRC64NVME>", "</ChecksumCRC64NVME>"
		if head, rest, found := strings.Cut(string(text), begin); found && err == nil {
			_, tail, _ := strings.Cut(rest, end)
			text = []byte(head + begin + "AAAAAAAAAAA=" + end + tail)
		}
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(text))), int64(len(text))
		r.Header.Set("Content-Length", fmt.Sprint(len(text)))
	}
	for kind, data := range map[stores.Kind][]byte{
		stores.Put: large[:100], stores.Part: large, stores.Complete: large,
	} {
		t.Run(string(kind), func(t *testing.T) {
			throughProxy(t, small, func(t *testing.T, p *stores.Proxy, through, direct bucket.Place) {
				p.Set(stores.Always(kind.Of, stores.Fault{Answer: other}))
				wantError(t, write(t.Context(), through, "file", data), place.ErrIntegrity, "file")
				wantNone(t, direct, "file")
				wantNoUploads(t, p.Store)
				p.Set(func(r *http.Request) *stores.Fault {
					if stores.Delete.Of(r) {
						return &stores.Fault{Status: http.StatusForbidden, Body: accessDenied}
					}
					return stores.Always(kind.Of, stores.Fault{Answer: other})(r)
				})
				wantError(t, write(t.Context(), through, "file", data), place.ErrIntegrity, "file")
			})
		})
	}
}

// TestUnsigned writes over TLS: the data is not hashed for the signature if a checksum is sent.
func TestUnsigned(t *testing.T) {
	for _, store := range stores.S3(t) {
		t.Run(store.Name, func(t *testing.T) {
			var mu sync.Mutex
			seen := map[string]int{}
			refused := false
			target := &url.URL{Scheme: "http", Host: store.Address}
			proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				r.Out.Host = r.In.Host // it is signed
			}}
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if refused && hasSum("")(r) {
					w.WriteHeader(http.StatusNotImplemented)
					_, _ = io.WriteString(w, noChecksum) // to a client that waits for it
					return
				}
				if r.Method == http.MethodPut {
					seen[r.Header.Get("X-Amz-Content-Sha256")]++
				}
				proxy.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			bundle := filepath.Join(t.TempDir(), "ca.pem")
			text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			if err := os.WriteFile(bundle, text, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("AWS_CA_BUNDLE", bundle)
			address := strings.Replace(store.URLThrough(t, server.Listener.Addr().String()), "http:", "https:", 1)
			b := open(t, address, small)
			for _, data := range [][]byte{large, large[:100]} {
				if !mustReplace(t, b, "file", data) {
					t.Error("the file is not verified")
				}
				wantContent(t, b, "file", data)
			}
			if len(seen) != 1 || seen["UNSIGNED-PAYLOAD"] != 4 {
				t.Errorf("the requests had the hashes %v", seen)
			}
			clear(seen)
			refused = true
			for _, data := range [][]byte{large, large[:100]} {
				mustReplace(t, b, "file", data)
				wantContent(t, b, "file", data)
			}
			if len(seen) != 4 || seen["UNSIGNED-PAYLOAD"] != 0 {
				t.Errorf("without a checksum, the requests had the hashes %v", seen)
			}
		})
	}
}
