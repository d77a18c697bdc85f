package exports

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
)

// requestCounter forwards requests to a store, and counts them, and the parts of tables that they create.
type requestCounter struct {
	net.Listener
	requests, parts atomic.Int64
	pieces          atomic.Int64 // of large files, which are uploaded in several requests
}

func newRequestCounter(to string) (*requestCounter, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &requestCounter{Listener: listener}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: to})
		r.Out.Host = r.In.Host // it is signed
	}}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.requests.Add(1)
		isWhole := r.Method == http.MethodPut && !r.URL.Query().Has("uploadId")
		isLast := r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
		if r.Method == http.MethodPut && r.URL.Query().Has("partNumber") {
			c.pieces.Add(1)
		}
		if (isWhole || isLast) && strings.Contains(r.URL.Path, "/orders/") {
			c.parts.Add(1)
		}
		proxy.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(listener) }() // until it is closed
	return c, nil
}
