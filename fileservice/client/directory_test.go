package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	"culvert/fileservice/server"
)

// TestDirectoryAfterPause reads a directory in parts. Between them the listing is given up, names come and go, and the
// connection ends: each entry that stays is given once.
func TestDirectoryAfterPause(t *testing.T) {
	const count = 2000
	dir := t.TempDir()
	name := func(i int) string { return filepath.Join(dir, fmt.Sprintf("%04d", i)) }
	for i := range count {
		if err := os.WriteFile(name(i), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := server.New(server.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	client, err := New(Config{Connections: 1, Dial: func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(client.Close(), server.Close(), <-served); err != nil {
			t.Error(err)
		}
	}()
	opened, err := client.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(*directory)
	given := map[string]int{}
	for part := 0; ; part++ {
		entries, err := d.ReadDir(300)
		for _, entry := range entries {
			given[entry.Name()]++
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch part {
		case 0, 3:
			d.rest()
		case 1:
			client.control.drop(client.control.present())
		case 2:
			d.rest()
			for i := 0; i < count; i += 10 {
				if err := errors.Join(os.Remove(name(i)), os.WriteFile(name(count+i), nil, 0o644)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for i := range count {
		if n := given[filepath.Base(name(i))]; n > 1 || n == 0 && i%10 != 0 {
			t.Errorf("%04d was given %d times", i, n)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := d.ReadDir(1); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}
