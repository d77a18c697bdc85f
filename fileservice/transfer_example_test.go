package fileservice_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"culvert/fileservice"
)

// exampleTrees makes two directories, serves the first one with a file in it, and gives a client.
func exampleTrees() (client *fileservice.Client, there, here *os.Root, end func()) {
	dir, err := os.MkdirTemp("", "transfer-")
	must(err)
	must(os.MkdirAll(filepath.Join(dir, "there", "logs"), 0o755))
	must(os.Mkdir(filepath.Join(dir, "here"), 0o755))
	must(os.WriteFile(filepath.Join(dir, "there", "logs", "today"), []byte("rain"), 0o644))
	there, err = os.OpenRoot(filepath.Join(dir, "there"))
	must(err)
	here, err = os.OpenRoot(filepath.Join(dir, "here"))
	must(err)
	server, err := fileservice.NewServer(fileservice.ServerConfig{Root: there, Writable: true})
	must(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	go func() { must(server.Serve(listener)) }()
	client, err = fileservice.NewClient(fileservice.ClientConfig{
		Dial: func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
		},
	})
	must(err)
	return client, there, here, func() {
		must(client.Close())
		must(server.Close())
		must(there.Close())
		must(here.Close())
		must(os.RemoveAll(dir))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func ExamplePull() {
	client, _, here, end := exampleTrees()
	defer end()
	progress := &fileservice.Progress{}
	result, err := fileservice.Pull(context.Background(), client, fileservice.TransferConfig{
		Remote: "logs", Root: here, Local: "logs", Progress: progress,
		Notify: func(e fileservice.Event) { fmt.Println(e.Name, e.Size, "bytes") },
	})
	fmt.Println(err, result.Files, "file,", progress.Status().BytesDone, "bytes")
	content, err := here.ReadFile("logs/today")
	fmt.Println(string(content), err)
	// Output:
	// today 4 bytes
	// <nil> 1 file, 4 bytes
	// rain <nil>
}

func ExamplePush() {
	client, there, here, end := exampleTrees()
	defer end()
	must(here.WriteFile("notes", []byte("sun"), 0o644))
	result, err := fileservice.Push(context.Background(), client, fileservice.TransferConfig{
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
