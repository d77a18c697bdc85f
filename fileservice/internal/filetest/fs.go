// Package filetest starts servers and clients for the tests of the packages of fileservice.
package filetest

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"culvert/fileservice/client"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

// ShortTimeout is the timeout for connections that a test stalls. Tests wait for its end, and a slow machine answers
// other calls within it.
const ShortTimeout = 2 * time.Second

// Serve serves a directory on the loopback interface, and returns a client of it.
func Serve(t testing.TB, dir string, change func(*server.Config)) *client.Client {
	t.Helper()
	address := Listen(t, dir, change)
	return Connect(t, client.Config{Dial: Dialer(address)})
}

// Listen serves a directory until the end of the test, and returns the address.
func Listen(t testing.TB, dir string, change func(*server.Config)) string {
	t.Helper()
	return ListenOn(t, testkit.ListenTCP(t), dir, change)
}

// StartServer serves on a listener. The test closes the server, and then receives the result of Serve.
func StartServer(t testing.TB, listener net.Listener, config server.Config) (srv *server.Server, served <-chan error) {
	t.Helper()
	srv, err := server.New(config)
	if err != nil {
		t.Fatal(err)
	}
	given := make(chan error, 1)
	go func() { given <- srv.Serve(listener) }()
	return srv, given
}

// ListenOn is like Listen, on a listener.
func ListenOn(t testing.TB, listener net.Listener, dir string, change func(*server.Config)) string {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	config := server.Config{Root: root}
	if change != nil {
		change(&config)
	}
	server, served := StartServer(t, listener, config)
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// Dialer returns a function that connects to address.
func Dialer(address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		return dial(ctx, address)
	}
}

// Connect returns a client until the end of the test.
func Connect(t testing.TB, config client.Config) *client.Client {
	t.Helper()
	client, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// Tree creates a directory with random files, given their sizes, and returns their names.
func Tree(t testing.TB, files map[string]int) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	random := rand.NewChaCha8([32]byte{1})
	for name, size := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o640)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.CopyN(file, random, int64(size)) // the largest exceeds memory
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := os.Mkdir(filepath.Join(dir, "void"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir, names
}
