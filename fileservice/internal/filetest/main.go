package filetest

import (
	"testing"

	"go.uber.org/goleak"

	"culvert/internal/testkit"
)

// Main runs the tests of a package, and fails if goroutines leak.
func Main(m *testing.M) {
	// Tests that run at the same time mostly wait, for as long as gRPC takes to find a connection that stalls.
	testkit.AtOnce(32)
	goleak.VerifyTestMain(m)
}
