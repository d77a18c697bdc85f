package transfer_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/fileservice/transfer"
	"culvert/place/dir"
)

// exampleTrees makes two directories, serves the first one with a file in it, and gives a client.
func exampleTrees() (remote *client.Client, there, here *os.Root, end func()) {
	dir, err := os.MkdirTemp("", "transfer-")
	filetest.Must(err)
	filetest.Must(os.MkdirAll(filepath.Join(dir, "there", "logs"), 0o755))
	filetest.Must(os.Mkdir(filepath.Join(dir, "here"), 0o755))
	filetest.Must(os.WriteFile(filepath.Join(dir, "there", "logs", "today"), []byte("rain"), 0o644))
	there, err = os.OpenRoot(filepath.Join(dir, "there"))
	filetest.Must(err)
	here, err = os.OpenRoot(filepath.Join(dir, "here"))
	filetest.Must(err)
	server, err := server.New(server.Config{Root: there, Writable: true})
	filetest.Must(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	filetest.Must(err)
	go func() { filetest.Must(server.Serve(listener)) }()
	remote, err = client.New(client.Config{
		Dial: func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
		},
	})
	filetest.Must(err)
	return remote, there, here, func() {
		filetest.Must(remote.Close())
		filetest.Must(server.Close())
		filetest.Must(there.Close())
		filetest.Must(here.Close())
		filetest.Must(os.RemoveAll(dir))
	}
}

func ExamplePull_place() {
	_, there, here, end := exampleTrees()
	defer end()
	exports, err := dir.Open(there.Name()) // or a bucket
	filetest.Must(err)
	result, err := transfer.Pull(context.Background(), exports, transfer.Config{
		Remote: "logs", Root: here, Local: "copy",
	})
	fmt.Println(err, result.Files, "file,", result.Bytes, "bytes")
	content, err := here.ReadFile("copy/today")
	fmt.Println(string(content), err)
	filetest.Must(exports.Close())
	// Output:
	// <nil> 1 file, 4 bytes
	// rain <nil>
}

func ExamplePull() {
	client, _, here, end := exampleTrees()
	defer end()
	progress := &transfer.Progress{}
	result, err := transfer.Pull(context.Background(), client.Place(), transfer.Config{
		Remote: "logs", Root: here, Local: "logs", Progress: progress, Hash: true,
		Notify: func(e transfer.Event) { fmt.Printf("%s: %d bytes, BLAKE3 %.4s…\n", e.Name, e.Size, e.Hash) },
	})
	fmt.Println(err, result.Files, "file,", progress.Status().BytesDone, "bytes")
	content, err := here.ReadFile("logs/today")
	fmt.Println(string(content), err)
	// Output:
	// today: 4 bytes, BLAKE3 440d…
	// <nil> 1 file, 4 bytes
	// rain <nil>
}

func ExamplePush() {
	client, there, here, end := exampleTrees()
	defer end()
	filetest.Must(here.WriteFile("notes", []byte("sun"), 0o644))
	result, err := transfer.Push(context.Background(), client.Place(), transfer.Config{
		Remote: "logs/notes", Root: here, Local: "notes",
		Retry: func(error) bool { return true }, // until it is done, or the context ends
	})
	fmt.Println(err, result.Files, "file,", result.Bytes, "bytes")
	content, err := there.ReadFile("logs/notes")
	fmt.Println(string(content), err)
	// Output:
	// <nil> 1 file, 3 bytes
	// sun <nil>
}
