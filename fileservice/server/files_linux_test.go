package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culvert/fileservice/internal/exchange"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
)

// TestCloseClosesFiles closes servers while they read. No file is open afterwards.
func TestCloseClosesFiles(t *testing.T) {
	const files, rounds = 50, 30
	sizes := map[string]int{}
	for i := range files {
		sizes[fmt.Sprint("file", i)] = 2
	}
	dir, names := filetest.Tree(t, sizes)
	root := filetest.OpenRoot(t, dir)
	for range rounds {
		listener := testkit.ListenTCP(t)
		server, served := filetest.StartServer(t, listener, server.Config{Root: root})
		conn := filetest.DialData(t, listener.Addr().String())
		var gets []byte
		for i, name := range names {
			get := filetest.DataMessage{
				ID: uint32(i + 1), Kind: byte(exchange.Get), Length: 1,
				Head: filetest.RequestHead(0, stat(t, dir, name), noSum, name),
			}
			gets = append(gets, get.Bytes()...)
		}
		if _, err := conn.Write(gets); err != nil {
			t.Fatal(err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		const descriptors = "/proc/self/fd"
		open, err := os.ReadDir(descriptors)
		if err != nil {
			t.Fatal(err)
		}
		for _, descriptor := range open {
			name, err := os.Readlink(filepath.Join(descriptors, descriptor.Name()))
			if err == nil && strings.HasPrefix(name, filepath.Join(dir, "file")) {
				t.Fatalf("%s is open", name)
			}
		}
	}
}
