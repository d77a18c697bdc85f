package fileservice_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"culvert/fileservice"
)

// shortTimeout is for connections on which nothing comes any more: tests wait for its end, and a slow machine answers
// within it what is not held up.
const shortTimeout = 2 * time.Second

// serve serves a directory on the loopback interface and gives a client of it.
func serve(t testing.TB, dir string, change func(*fileservice.ServerConfig)) *fileservice.Client {
	t.Helper()
	address := listen(t, dir, change)
	return connect(t, fileservice.ClientConfig{Dial: dialer(address)})
}

func listen(t testing.TB, dir string, change func(*fileservice.ServerConfig)) string {
	t.Helper()
	return listenOn(t, listenLocally(t), dir, change)
}

func listenLocally(t testing.TB) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// startServer serves on a listener. The test ends that, and then takes what Serve has given.
func startServer(
	t testing.TB, listener net.Listener, config fileservice.ServerConfig,
) (server *fileservice.Server, served <-chan error) {
	t.Helper()
	server, err := fileservice.NewServer(config)
	if err != nil {
		t.Fatal(err)
	}
	given := make(chan error, 1)
	go func() { given <- server.Serve(listener) }()
	return server, given
}

func openAll(t testing.TB, client *fileservice.Client, names ...string) map[string]fs.File {
	t.Helper()
	files := map[string]fs.File{}
	for _, name := range names {
		file, err := client.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
	}
	return files
}

// listenOn serves a directory until the end of the test.
func listenOn(t testing.TB, listener net.Listener, dir string, change func(*fileservice.ServerConfig)) string {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	config := fileservice.ServerConfig{Root: root}
	if change != nil {
		change(&config)
	}
	server, served := startServer(t, listener, config)
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

func dialer(address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
}

func connect(t testing.TB, config fileservice.ClientConfig) *fileservice.Client {
	t.Helper()
	client, err := fileservice.NewClient(config)
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

// tree makes a directory with some files and gives their names.
func tree(t testing.TB, files map[string]int) (dir string, names []string) {
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
		_, err = io.CopyN(file, random, int64(size)) // the largest is too much for memory
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

func TestFS(t *testing.T) {
	// The suite reads each file byte by byte.
	dir, names := tree(t, map[string]int{"empty": 0, "one": 1, "sub/deep/small": 700, "two words ü": 40})
	if err := fstest.TestFS(serve(t, dir, nil), append(names, "void", "sub")...); err != nil {
		t.Fatal(err)
	}
}

func TestReadAll(t *testing.T) {
	dir, names := tree(t, map[string]int{
		"empty": 0, "one": 1, "sub/small": 4 << 10, "sub/deep/large": 9<<20 + 7, "block": fileservice.BlockSize,
	})
	client := serve(t, dir, nil)
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		file, err := client.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want)+1)
		if n, err := file.(io.ReaderAt).ReadAt(got, 0); n != len(want) || err != io.EOF {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		if !bytes.Equal(got[:len(want)], want) {
			t.Errorf("%s: not what was written", name)
		}
		info, err := client.Lookup(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		var tree fileservice.Tree
		count := fileservice.Blocks(info.Size())
		err = client.ReadBlocks(t.Context(), name, info.Version(), 0, count, make([]byte, fileservice.BlockSize),
			func(block int64, data []byte, sum fileservice.Sum) error {
				start := block * fileservice.BlockSize
				if !bytes.Equal(data, want[start:start+int64(len(data))]) {
					t.Errorf("%s: block %d is not what was written", name, block)
				}
				tree.Append(sum)
				return nil
			})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var again fileservice.Tree
		err = client.Hashes(t.Context(), name, info.Version(), 0, count, func(_ int64, sum fileservice.Sum) error {
			again.Append(sum)
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if tree.Root() != again.Root() {
			t.Errorf("%s: two roots", name)
		}
	}
	if _, err := fs.Stat(client, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
