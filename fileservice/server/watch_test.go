package server_test

import (
	"errors"
	"os"
	"testing"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

// TestShutdownEndsWatches shuts down a server whose health is watched by clients that never end the watch.
func TestShutdownEndsWatches(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	listener := testkit.ListenTCP(t)
	srv, served := filetest.StartServer(t, listener, server.Config{Root: root})
	client := healthpb.NewHealthClient(filetest.RawConn(t, listener.Addr().String()))
	for _, service := range []string{"", "unknown"} {
		watch, err := client.Watch(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err == nil {
			_, err = watch.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// The test hangs if the watches do not end.
	if err := errors.Join(srv.Shutdown(t.Context()), <-served, root.Close()); err != nil {
		t.Error(err)
	}
}
