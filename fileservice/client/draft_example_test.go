package client_test

import (
	"fmt"
	"io"
	"os"
	"time"

	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
)

// What is written is seen when it is published, and not before.
func ExampleClient_OpenFile() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, true)
	defer stop()
	remote := reach(address)
	opened, err := remote.OpenFile("readme", os.O_RDWR|os.O_TRUNC, 0o644)
	filetest.Must(err)
	file := opened.(*client.WritableFile)
	_, err = file.WriteAt([]byte("world"), 6)
	filetest.Must(err)
	_, err = file.WriteAt([]byte("hello "), 0)
	filetest.Must(err)
	before, err := remote.ReadFile("readme")
	filetest.Must(err)
	filetest.Must(file.Publish("greeting", false))
	filetest.Must(file.Close())
	after, err := remote.ReadFile("greeting")
	fmt.Printf("%d bytes before, %q after, %v\n", len(before), after, err)
	filetest.Must(remote.Close())
	// Output: 6 bytes before, "hello world" after, <nil>
}

// A small file comes along when it is opened.
func ExampleClient_Space() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, false)
	defer stop()
	client := reach(address)
	file, err := client.Open("readme")
	filetest.Must(err)
	p := make([]byte, 3)
	_, err = file.(io.ReaderAt).ReadAt(p, 2)
	filetest.Must(err)
	filetest.Must(file.Close())
	total, free, available, err := client.Space(".")
	fmt.Printf("%q, and room: %v, %v\n", p, total >= free && free >= available, err)
	filetest.Must(client.Close())
	// Output: "llo", and room: true, <nil>
}

func ExampleClient_Rename() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, true)
	defer stop()
	client := reach(address)
	filetest.Must(client.Mkdir("old", 0o755))
	filetest.Must(client.RenameNew("readme", "old/readme"))
	filetest.Must(client.Chmod("old/readme", 0o600))
	filetest.Must(client.Chtimes("old/readme", time.Time{}, time.Unix(1_000_000_000, 0)))
	filetest.Must(client.SyncDir("old"))
	info, err := client.Lstat("old/readme")
	fmt.Println(info.Mode(), info.ModTime().UTC(), err)
	filetest.Must(client.Remove("old/readme"))
	filetest.Must(client.Close())
	// Output: -rw------- 2001-09-09 01:46:40 +0000 UTC <nil>
}
