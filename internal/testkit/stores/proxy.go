package stores

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
	"time"
)

// Fault is what a [Proxy] does to one request.
type Fault struct {
	Status int       // answers this instead of the store
	Body   string    // of that answer
	Region string    // in its header
	Date   time.Time // in its header, unless it is zero

	CutRequest  int64 // cuts the connection after so many bytes of the request, if positive
	CutResponse int64 // the same of the answer, if positive; after its header, if negative
	Stall       bool  // lets nothing more pass instead of cutting the connection
	Corrupt     bool  // changes a byte of the request
	LoseAnswer  bool  // cuts the connection when the store has answered
	Hang        bool  // waits until the client goes away

	Before func()               // is called when the request has come, perhaps concurrently
	Late   time.Duration        // waits before the store gets the request
	Answer func(*http.Response) // changes the answer of the store
}

// Proxy stands between a client and a store.
type Proxy struct {
	Address string
	Store   *Server

	mu    sync.Mutex
	next  func(*http.Request) *Fault
	held  func(client string)
	ended chan struct{} // closed with the test
}

// NewProxy starts a proxy, which calls faults for each request, never concurrently. It ends with the test.
func NewProxy(tb testing.TB, store *Server, faults func(*http.Request) *Fault) *Proxy {
	p := &Proxy{Store: store, next: faults, ended: make(chan struct{})}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := p.fault(r)
		if f == nil {
			f = &Fault{}
		}
		if !p.answers(f, w, r) {
			p.forward(f, w, r, transport)
		}
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	tb.Cleanup(func() {
		close(p.ended)
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	p.Address = strings.TrimPrefix(server.URL, "http://")
	return p
}

// answers does what happens before the store gets the request. It reports whether the store does not get it at all.
func (p *Proxy) answers(f *Fault, w http.ResponseWriter, r *http.Request) bool {
	if f.Before != nil {
		f.Before()
	}
	switch {
	case f.Hang:
		_, _ = io.Copy(io.Discard, r.Body) // the server notices the end of the connection only after the body
		p.hold(r)
		return true
	case f.Status != 0:
		_, _ = io.Copy(io.Discard, r.Body) // the client reads the answer after that
		w.Header().Set("Content-Type", "application/xml")
		if f.Region != "" {
			w.Header().Set("X-Amz-Bucket-Region", f.Region)
		}
		if !f.Date.IsZero() {
			w.Header().Set("Date", f.Date.UTC().Format(http.TimeFormat))
		}
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.Body)
		return true
	case f.CutRequest > 0:
		_, _ = io.CopyN(io.Discard, r.Body, f.CutRequest)
		if f.Stall {
			p.hold(r)
		}
		panic(http.ErrAbortHandler)
	case f.Late > 0:
		timer := time.NewTimer(f.Late)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return true
		case <-p.ended:
			return true
		}
	case f.Corrupt:
		data, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		data[len(data)/2] ^= 1
		r.Body = io.NopCloser(bytes.NewReader(data))
	}
	return false
}

// SetHeld has a function be called with the address of a client whenever nothing more will pass on its connection,
// because of a fault that hangs or stalls.
func (p *Proxy) SetHeld(held func(client string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = held
}

// hold waits until the client is gone, as far as that shows, or the test has ended.
func (p *Proxy) hold(r *http.Request) {
	p.mu.Lock()
	held := p.held
	p.mu.Unlock()
	if held != nil {
		held(r.RemoteAddr)
	}
	select {
	case <-r.Context().Done():
	case <-p.ended:
	}
}

func (p *Proxy) forward(f *Fault, w http.ResponseWriter, r *http.Request, transport http.RoundTripper) {
	(&httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: p.Store.Address})
			r.Out.Host = r.In.Host // it is signed
		},
		ModifyResponse: func(response *http.Response) error {
			switch {
			case f.LoseAnswer:
				panic(http.ErrAbortHandler)
			case f.CutResponse != 0:
				response.Body = &cutBody{response.Body, max(0, f.CutResponse), func() {
					_ = http.NewResponseController(w).Flush() // of a client that is perhaps gone
					if f.Stall {
						p.hold(r)
					}
				}}
			case f.Answer != nil:
				f.Answer(response)
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, 0),
	}).ServeHTTP(w, r)
}

func (p *Proxy) fault(r *http.Request) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		return nil
	}
	return p.next(r)
}

// Set replaces the function that chooses faults.
func (p *Proxy) Set(faults func(*http.Request) *Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = faults
}

// cutBody ends with an error after n bytes.
type cutBody struct {
	io.ReadCloser
	n     int64
	atEnd func() // called before the error
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.n == 0 {
		b.atEnd()
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.n)])
	b.n -= int64(n)
	return n, err
}

// Kind is what a request of S3 is for.
type Kind string

// The kinds.
const (
	Head     Kind = "head"
	List     Kind = "list"
	Range    Kind = "range"
	Put      Kind = "put" // a whole object
	Delete   Kind = "delete"
	Begin    Kind = "begin" // an upload of several parts
	Part     Kind = "part"
	Complete Kind = "complete"
	Abort    Kind = "abort"
	Uploads  Kind = "uploads" // a list of those that are not finished
	Parts    Kind = "parts"   // a list of those of an upload
)

// Of reports whether a request is of the kind.
func (k Kind) Of(r *http.Request) bool { return kindOf(r) == k }

func kindOf(r *http.Request) Kind {
	query := r.URL.Query()
	ofUpload := query.Has("uploadId")
	switch {
	case r.Method == http.MethodHead:
		return Head
	case r.Method == http.MethodPut && ofUpload:
		return Part
	case r.Method == http.MethodPut:
		return Put
	case r.Method == http.MethodPost && ofUpload:
		return Complete
	case r.Method == http.MethodPost:
		return Begin
	case r.Method == http.MethodDelete && ofUpload:
		return Abort
	case r.Method == http.MethodDelete:
		return Delete
	case query.Has("uploads"):
		return Uploads
	case ofUpload:
		return Parts
	case r.Header.Get("Range") != "":
		return Range
	}
	return List
}

// Once returns a fault for the first request of a kind.
func Once(kind func(*http.Request) bool, f Fault) func(*http.Request) *Fault {
	done := false
	return func(r *http.Request) *Fault {
		if done || !kind(r) {
			return nil
		}
		done = true
		return &f
	}
}

// Always returns a fault for each request of a kind.
func Always(kind func(*http.Request) bool, f Fault) func(*http.Request) *Fault {
	return func(r *http.Request) *Fault {
		if !kind(r) {
			return nil
		}
		return &f
	}
}
