package filetest

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a package, and fails if goroutines leak.
func Main(m *testing.M) {
	// Tests that run at the same time mostly wait, for as long as gRPC takes to find a connection that stalls.
	if err := flag.Set("test.parallel", "32"); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
