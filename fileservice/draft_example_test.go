package fileservice_test

import (
	"fmt"
	"io"
	"os"
	"time"

	"culvert/fileservice"
)

// What is written is seen when it is published, and not before.
func ExampleClient_OpenFile() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, true)
	defer stop()
	client := reach(address)
	opened, err := client.OpenFile("readme", os.O_RDWR|os.O_TRUNC, 0o644)
	must(err)
	file := opened.(*fileservice.WritableFile)
	_, err = file.WriteAt([]byte("world"), 6)
	must(err)
	_, err = file.WriteAt([]byte("hello "), 0)
	must(err)
	before, err := client.ReadFile("readme")
	must(err)
	must(file.Publish("greeting", false))
	must(file.Close())
	after, err := client.ReadFile("greeting")
	fmt.Printf("%d bytes before, %q after, %v\n", len(before), after, err)
	must(client.Close())
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
	must(err)
	p := make([]byte, 3)
	_, err = file.(io.ReaderAt).ReadAt(p, 2)
	must(err)
	must(file.Close())
	total, free, available, err := client.Space(".")
	fmt.Printf("%q, and room: %v, %v\n", p, total >= free && free >= available, err)
	must(client.Close())
	// Output: "llo", and room: true, <nil>
}

func ExampleClient_Rename() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, true)
	defer stop()
	client := reach(address)
	must(client.Mkdir("old", 0o755))
	must(client.RenameNew("readme", "old/readme"))
	must(client.Chmod("old/readme", 0o600))
	must(client.Chtimes("old/readme", time.Time{}, time.Unix(1_000_000_000, 0)))
	must(client.SyncDir("old"))
	info, err := client.Lstat("old/readme")
	fmt.Println(info.Mode(), info.ModTime().UTC(), err)
	must(client.Remove("old/readme"))
	must(client.Close())
	// Output: -rw------- 2001-09-09 01:46:40 +0000 UTC <nil>
}
