package main

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"culvert/internal/testkit/stores"
)

// TestBuckets runs the scripts of buckets with each server.
func TestBuckets(t *testing.T) {
	t.Parallel()
	runBucketScripts(t, stores.All(t), "testdata/bucket", nil)
}

// TestBucketCredentials runs those of what only S3 has.
func TestBucketCredentials(t *testing.T) {
	t.Parallel()
	runBucketScripts(t, stores.S3(t), "testdata/buckets3", nil)
}

// TestBucketPages runs the commands of the documentation, letter for letter except the place.
func TestBucketPages(t *testing.T) {
	t.Parallel()
	runBucketScripts(t, stores.S3(t), "testdata/bucketpages", nil)
}

func runBucketScripts(t *testing.T, servers []*stores.Server, dir string, more map[string]command) {
	t.Helper()
	for _, server := range servers {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			var variables []string
			for _, variable := range os.Environ() {
				if strings.HasPrefix(variable, "AWS_") || strings.HasPrefix(variable, "AZURE_") {
					variables = append(variables, variable)
				}
			}
			// prefix gives the URL of an empty prefix, in two parts:
			//
			//	prefix VARIABLE-OF-THE-PATH VARIABLE-OF-THE-QUERY
			prefix := func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: prefix VARIABLE VARIABLE")
				}
				url, query, _ := strings.Cut(server.URL(t), "?")
				ts.Setenv(args[0], strings.TrimSuffix(url, "/"))
				ts.Setenv(args[1], "?"+query)
			}
			// endpoint makes the server the one of URLs without an endpoint.
			endpoint := func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 0 {
					ts.Fatalf("usage: endpoint")
				}
				ts.Setenv("AWS_ENDPOINT_URL", "http://"+server.Address)
			}
			// faulty gives the query of URLs through a proxy that removes the checksums of answers, or damages data, or
			// lets nothing be removed:
			//
			//	faulty plain|damaged|kept VARIABLE
			faulty := func(ts *testscript.TestScript, neg bool, args []string) {
				all := func(*http.Request) bool { return true }
				faults := map[string]func(*http.Request) *stores.Fault{
					"plain":   stores.Always(all, stores.Fault{Answer: removeChecksums}),
					"damaged": stores.Always(all, stores.Fault{Answer: damage}),
					"kept":    stores.Always(stores.Delete.Of, stores.Fault{Status: http.StatusForbidden}),
				}
				if neg || len(args) != 2 || faults[args[0]] == nil {
					ts.Fatalf("usage: faulty plain|damaged|kept VARIABLE")
				}
				proxy := stores.NewProxy(t, server, faults[args[0]])
				_, query, _ := strings.Cut(server.At("", proxy.Address), "?")
				ts.Setenv(args[1], "?"+query)
			}
			commands := map[string]command{"prefix": prefix, "endpoint": endpoint, "faulty": faulty}
			maps.Copy(commands, more)
			runScripts(t, dir, variables, commands)
		})
	}
}

func removeChecksums(r *http.Response) {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Amz-Checksum") {
			r.Header.Del(name)
		}
	}
}

// damage changes a byte of the data of a file.
func damage(r *http.Response) {
	if r.Request.Method != http.MethodGet || r.Header.Get("Content-Range") == "" {
		return
	}
	data, err := io.ReadAll(r.Body)
	if err == nil && len(data) > 0 {
		data[len(data)/2] ^= 1
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
}
