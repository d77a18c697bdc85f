package client_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"culvert/fileservice"
	"culvert/fileservice/internal/filetest"
)

// Several files of a directory come by one call, and what is wrong with one of them does not keep the others.
func ExampleClient_ReadFiles() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, false)
	defer stop()
	client := reach(address)
	defer client.Close()
	ctx := context.Background()

	var files []fileservice.SmallFile
	for info, err := range client.List(ctx, ".") {
		filetest.Must(err)
		if info.Mode().IsRegular() {
			files = append(files, fileservice.SmallFile{Name: info.Name(), Version: info.Version()})
		}
	}
	filetest.Must(os.WriteFile(filepath.Join(dir, files[0].Name), []byte("another version"), 0o600))
	err := client.ReadFiles(ctx, ".", files, func(i int, content []byte, _ fileservice.Sum, err error) error {
		fmt.Printf("%d bytes, %v\n", len(content), err)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 0 bytes, read readme: fileservice: the file has changed
	// <nil>
}

// Several files go into a directory by one call. When it ends they are there, and durable.
func ExampleClient_WriteFiles() {
	dir := sampleDir()
	defer remove(dir)
	address, stop := start(dir, true)
	defer stop()
	client := reach(address)
	defer client.Close()

	contents := []string{"first", "second"}
	var files []fileservice.SmallFile
	for i, content := range contents {
		version := fileservice.Version{Size: int64(len(content)), ModifiedUnixNano: 1_700_000_000_000_000_000}
		files = append(files, fileservice.SmallFile{Name: fmt.Sprint("file", i), Version: version})
	}
	errs, err := client.WriteFiles(context.Background(), ".", files, false, func(i int, p []byte) error {
		copy(p, contents[i])
		return nil
	})
	fmt.Println(errs, err)
	content, err := client.ReadFile("file1")
	fmt.Println(string(content), err)
	// Output:
	// [<nil> <nil>] <nil>
	// second <nil>
}
