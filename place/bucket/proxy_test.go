package bucket_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"culvert/internal/testkit/stores"
)

// fault is what a proxy does to one request.
type fault struct {
	status int    // answers this instead of the store
	body   string // of that answer
	region string // in its header

	cutRequest  int64 // cuts the connection after so many bytes of the request, if positive
	cutResponse int64 // the same of the answer, if positive; after its header, if negative
	corrupt     bool  // changes a byte of the request
	loseAnswer  bool  // cuts the connection when the store has answered
	hang        bool  // waits until the client goes away
	answer      func(*http.Response)
}

// proxy stands between a place and a store.
type proxy struct {
	address string
	store   *stores.Server

	mu   sync.Mutex
	next func(*http.Request) *fault
}

// newProxy starts a proxy, which calls faults for each request, never concurrently.
func newProxy(t *testing.T, store *stores.Server, faults func(*http.Request) *fault) *proxy {
	p := &proxy{next: faults}
	target := &url.URL{Scheme: "http", Host: store.Address}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := p.fault(r)
		switch {
		case f == nil:
			f = &fault{}
		case f.hang:
			_, _ = io.Copy(io.Discard, r.Body) // the server notices the end of the connection only after the body
			<-r.Context().Done()
			return
		case f.status != 0:
			_, _ = io.Copy(io.Discard, r.Body) // the client reads the answer after that
			w.Header().Set("Content-Type", "application/xml")
			if f.region != "" {
				w.Header().Set("X-Amz-Bucket-Region", f.region)
			}
			w.WriteHeader(f.status)
			_, _ = io.WriteString(w, f.body)
			return
		case f.cutRequest > 0:
			_, _ = io.CopyN(io.Discard, r.Body, f.cutRequest)
			panic(http.ErrAbortHandler)
		case f.corrupt:
			data, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			data[len(data)/2] ^= 1
			r.Body = io.NopCloser(bytes.NewReader(data))
		}
		(&httputil.ReverseProxy{
			Transport: transport,
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				r.Out.Host = r.In.Host // it is signed
			},
			ModifyResponse: func(r *http.Response) error {
				switch {
				case f.loseAnswer:
					panic(http.ErrAbortHandler)
				case f.cutResponse != 0:
					r.Body = &cutBody{r.Body, max(0, f.cutResponse)}
				case f.answer != nil:
					f.answer(r)
				}
				return nil
			},
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
			ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, 0),
		}).ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	p.address = strings.TrimPrefix(server.URL, "http://")
	return p
}

func (p *proxy) fault(r *http.Request) *fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		return nil
	}
	return p.next(r)
}

// set replaces the function that chooses faults.
func (p *proxy) set(faults func(*http.Request) *fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = faults
}

// cutBody ends with an error after n bytes.
type cutBody struct {
	io.ReadCloser
	n int64
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.n == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.n)])
	b.n -= int64(n)
	return n, err
}

// What the requests of S3 are for.

func isPart(r *http.Request) bool {
	return r.Method == http.MethodPut && r.URL.Query().Has("partNumber")
}

func isPut(r *http.Request) bool {
	return r.Method == http.MethodPut && !r.URL.Query().Has("partNumber")
}

func isComplete(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
}

func isRange(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Range") != ""
}

// once returns a fault for the first request of a kind.
func once(kind func(*http.Request) bool, f fault) func(*http.Request) *fault {
	done := false
	return func(r *http.Request) *fault {
		if done || !kind(r) {
			return nil
		}
		done = true
		return &f
	}
}

// always returns a fault for each request of a kind.
func always(kind func(*http.Request) bool, f fault) func(*http.Request) *fault {
	return func(r *http.Request) *fault {
		if !kind(r) {
			return nil
		}
		return &f
	}
}
