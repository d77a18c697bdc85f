package client_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
)

func openAll(t testing.TB, client *client.Client, names ...string) map[string]fs.File {
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

func TestFS(t *testing.T) {
	// The suite reads each file byte by byte.
	dir, names := filetest.Tree(t, map[string]int{"empty": 0, "one": 1, "sub/deep/small": 700, "two words ü": 40})
	if err := fstest.TestFS(filetest.Serve(t, dir, nil), append(names, "void", "sub")...); err != nil {
		t.Fatal(err)
	}
}

func TestReadAll(t *testing.T) {
	dir, names := filetest.Tree(t, map[string]int{
		"empty": 0, "one": 1, "sub/small": 4 << 10, "sub/deep/large": 9<<20 + 7, "block": fileservice.BlockSize,
	})
	client := filetest.Serve(t, dir, nil)
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
		info, err := client.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		var sums fileservice.FileSum
		count := fileservice.Blocks(info.Size())
		err = client.ReadBlocks(t.Context(), name, fileservice.VersionOf(info), 0, count,
			func(block int64, data []byte, sum fileservice.Sum) error {
				start := block * fileservice.BlockSize
				if !bytes.Equal(data, want[start:start+int64(len(data))]) {
					t.Errorf("%s: block %d is not what was written", name, block)
				}
				sums.Append(sum)
				return nil
			})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var again fileservice.FileSum
		for block := range count {
			data := want[block*fileservice.BlockSize : min((block+1)*fileservice.BlockSize, info.Size())]
			again.Append(fileservice.SumBlock(data, block))
		}
		if sums.Sum() != again.Sum() {
			t.Errorf("%s: two sums", name)
		}
	}
	if _, err := fs.Stat(client, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
