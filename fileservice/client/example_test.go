package client_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
)

// start serves a directory, and gives what ends that. The examples do without errors, and without encryption: a program
// would listen and dial with package secureconn.
func start(dir string, writable bool) (address string, stop func()) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		panic(err)
	}
	server, err := server.New(server.Config{Root: root, Writable: writable})
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	served := make(chan error)
	go func() { served <- server.Serve(listener) }()
	return listener.Addr().String(), func() {
		_ = server.Shutdown(context.Background())
		if err := <-served; err != nil {
			panic(err)
		}
		_ = root.Close()
	}
}

// reach gives a client of an address.
func reach(address string) *client.Client {
	client, err := client.New(client.Config{
		Dial: func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		},
	})
	if err != nil {
		panic(err)
	}
	return client
}

// A directory of some files.
func sampleDir() string {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	_ = os.Mkdir(filepath.Join(dir, "logs"), 0o755)
	_ = os.WriteFile(filepath.Join(dir, "logs", "monday"), []byte("all is well\n"), 0o644)
	_ = os.WriteFile(filepath.Join(dir, "readme"), []byte("hello\n"), 0o644)
	return dir
}

func remove(dir string) {
	if err := os.RemoveAll(dir); err != nil {
		panic(err)
	}
}

func Example() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, false)
	defer stop()

	client := reach(address)
	defer client.Close()
	_ = fs.WalkDir(client, ".", func(name string, entry fs.DirEntry, err error) error {
		fmt.Println(name, err)
		return err
	})
	content, err := fs.ReadFile(client, "logs/monday")
	fmt.Printf("%s%v\n", content, err)
	// Output:
	// . <nil>
	// logs <nil>
	// logs/monday <nil>
	// readme <nil>
	// all is well
	// <nil>
}

func ExampleServer() {
	dir := sampleDir()
	defer remove(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		panic(err)
	}
	defer root.Close()
	server, err := server.New(server.Config{
		Root: root,
		Observer: server.Observer{Called: func(c server.Call) {
			fmt.Println(c.Method, c.Path, c.BytesRead, "bytes")
		}},
	})
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	served := make(chan error)
	go func() { served <- server.Serve(listener) }()

	client := reach(listener.Addr().String())
	_, err = client.ReadFile("readme")
	_ = client.Close()
	// What is under way comes to its end, but a context may cut that short.
	fmt.Println(err, server.Shutdown(context.Background()), <-served)
	// Output:
	// Get readme 6 bytes
	// <nil> <nil> <nil>
}

func ExampleClient_Open() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, false)
	defer stop()
	client := reach(address)
	defer client.Close()

	file, err := client.Open("logs/monday")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	word := make([]byte, 4)
	_, err = file.(io.ReaderAt).ReadAt(word, 7)
	fmt.Printf("%s %v\n", word, err)
	// Output: well <nil>
}

func ExampleClient_List() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, false)
	defer stop()
	client := reach(address)
	defer client.Close()

	for info, err := range client.List(context.Background(), "logs") {
		if err != nil {
			panic(err)
		}
		fmt.Println(info.Mode(), info.Size(), info.Name())
	}
	// Output: -rw-r--r-- 12 monday
}

func ExampleClient_ReadBlocks() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, false)
	defer stop()
	client := reach(address)
	defer client.Close()

	ctx := context.Background()
	info, err := client.Stat("readme")
	if err != nil {
		panic(err)
	}
	var file fileservice.FileSum
	count := fileservice.Blocks(info.Size())
	err = client.ReadBlocks(ctx, "readme", fileservice.VersionOf(info), 0, count,
		func(block int64, data []byte, sum fileservice.Sum) error {
			file.Append(sum)
			fmt.Printf("block %d: %s", block, data)
			return nil
		})
	fmt.Println(file.Sum(), err)
	// Output:
	// block 0: hello
	// 6bba86c7e069f56d5a10b435f1c8e49c <nil>
}

func ExampleClient_ReadRange() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, false)
	defer stop()
	client := reach(address)
	defer client.Close()

	ctx := context.Background()
	info, err := client.Stat("readme")
	if err != nil {
		panic(err)
	}
	p := make([]byte, 4)
	fmt.Println(client.ReadRange(ctx, "readme", fileservice.VersionOf(info), p, 1), string(p))

	// A version that is no longer there cannot be read.
	_ = os.WriteFile(filepath.Join(dir, "readme"), []byte("goodbye\n"), 0o644)
	fmt.Println(client.ReadRange(ctx, "readme", fileservice.VersionOf(info), p, 1))
	// Output:
	// <nil> ello
	// read readme: fileservice: the file has changed
}

func ExampleClient_WriteBlocks() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, true)
	defer stop()
	client := reach(address)
	defer client.Close()

	ctx := context.Background()
	content := "what I know\n"
	version := fileservice.Version{Size: int64(len(content)), ModifiedUnixNano: 1e18}
	committed, err := client.QueryWrite(ctx, "logs/tuesday", version, false)
	fmt.Println(committed, err)

	var file fileservice.FileSum
	err = client.WriteBlocks(ctx, "logs/tuesday", version, 0, 1, strings.NewReader(content),
		func(_ int64, _ []byte, sum fileservice.Sum) { file.Append(sum) })
	fmt.Println(err)
	info, err := client.FinishWrite(ctx, "logs/tuesday", version, file.Sum(), 0o600, false)
	fmt.Println(info.Mode(), info.Size(), info.ModTime().UTC(), err)
	// Output:
	// [] <nil>
	// <nil>
	// -rw------- 12 2001-09-09 01:46:40 +0000 UTC <nil>
}

func ExampleClient_Mkdir() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, true)
	defer stop()
	client := reach(address)
	defer client.Close()

	fmt.Println(client.Mkdir("archive", 0o755))
	fmt.Println(client.Mkdir("../archive", 0o755))
	// Output:
	// <nil>
	// mkdir ../archive: invalid argument: not a path within the tree
}

func ExampleVersionOf() {
	dir := sampleDir()
	defer remove(dir)
	info, err := os.Stat(filepath.Join(dir, "readme"))
	if err != nil {
		panic(err)
	}
	before := fileservice.VersionOf(info)
	_ = os.WriteFile(filepath.Join(dir, "readme"), []byte("longer than it was\n"), 0o644)
	if info, err = os.Stat(filepath.Join(dir, "readme")); err != nil {
		panic(err)
	}
	fmt.Println(before.Size, fileservice.VersionOf(info) == before)
	// Output: 6 false
}

func ExampleFileSum() {
	content := bytes.Repeat([]byte("0123456789"), 250_000)
	var file fileservice.FileSum
	number := int64(0)
	for block := range slices.Chunk(content, fileservice.BlockSize) {
		file.Append(fileservice.SumBlock(block, number))
		number++
	}
	fmt.Println(file.Sum())
	// Output: 9ae642c8b59a2f562495961d01bdc366
}

// The time is set when nothing changes the directory any more.
func ExampleClient_Chtimes() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, true)
	defer stop()
	client := reach(address)
	filetest.Must(client.Mkdir("archive", 0o755))
	filetest.Must(client.Chtimes("archive", time.Time{}, time.Unix(1_000_000_000, 0)))
	info, err := client.Stat("archive")
	fmt.Println(info.ModTime().UTC(), err)
	filetest.Must(client.Close())
	// Output: 2001-09-09 01:46:40 +0000 UTC <nil>
}

// A part of the tree, over the same connections.
func ExampleClient_Sub() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, false)
	defer stop()
	client := reach(address)
	defer client.Close()

	logs, err := client.Sub("logs")
	filetest.Must(err)
	content, err := logs.ReadFile("monday")
	fmt.Printf("%q %v\n", content, err)
	// Output: "all is well\n" <nil>
}

// A file that appears when it is complete.
func ExampleClient_Create() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, true)
	defer stop()
	client := reach(address)
	defer client.Close()

	file, err := client.Create(context.Background(), "archive/monday")
	filetest.Must(err)
	defer func() { filetest.Must(file.Discard()) }() // does nothing after Commit
	_, err = io.WriteString(file, "all is well\n")
	filetest.Must(err)
	fmt.Println(file.Commit())
	content, err := client.ReadFile("archive/monday")
	fmt.Printf("%q %v\n", content, err)
	// Output:
	// <nil>
	// "all is well\n" <nil>
}
