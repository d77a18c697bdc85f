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

// TestBucketReadme runs the commands of the README, letter for letter.
func TestBucketReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	runBucketScripts(t, "testdata/bucketreadme", map[string]command{
		// readmebucket makes a script of sh of the commands of the README:
		//
		//	readmebucket FILE
		"readmebucket": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) != 1 {
				ts.Fatalf("usage: readmebucket FILE")
			}
			_, commands, _ := strings.Cut(string(readme), "\n### To a bucket\n")
			_, commands, _ = strings.Cut(commands, "\n```\n")
			commands, _, _ = strings.Cut(commands, "\n```\n")
			ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte("set -ex\n"+commands), 0o600))
		},
	})
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
			// endpoint makes the server the one of URLs without an endpoint.
			endpoint := func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 0 {
					ts.Fatalf("usage: endpoint")
				}
				ts.Setenv("AWS_ENDPOINT_URL", "http://"+server.Address)
			}
			commands := map[string]command{"prefix": prefix, "endpoint": endpoint}
			maps.Copy(commands, more)
			runScripts(t, dir, variables, commands)
		})
	}
}
