package main

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"culvert/internal/testkit/stores"
)

// TestBuckets runs the scripts of buckets with each S3 server.
func TestBuckets(t *testing.T) {
	t.Parallel()
	runBucketScripts(t, "testdata/bucket", nil)
}

func runBucketScripts(t *testing.T, dir string, more map[string]command) {
	t.Helper()
	for _, server := range stores.S3(t) {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			var variables []string
			for _, variable := range os.Environ() {
				if strings.HasPrefix(variable, "AWS_") {
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
			commands := map[string]command{"prefix": prefix}
			maps.Copy(commands, more)
			runScripts(t, dir, variables, commands)
		})
	}
}
