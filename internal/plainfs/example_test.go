package plainfs_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"testing/fstest"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/internal/compress"
	"culvert/internal/plainfs"
)

// A file as culvert export makes it is shown as the text in it, which can be read from anywhere.
func Example() {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	sealed, err := agefile.NewWriter(&file, identity.Recipient())
	if err != nil {
		fmt.Println(err)
		return
	}
	encoder, trailer := compress.NewEncoder(compress.Zstd, 0), compress.NewTrailer(compress.Zstd)
	for _, rows := range []string{"id,title\n1,water\n", "2,stone\n"} {
		frame := encoder.AppendFrame(nil, []byte(rows))
		trailer.Add(int64(len(frame)), int64(len(rows)))
		if _, err := sealed.Write(frame); err != nil {
			fmt.Println(err)
		}
	}
	if _, err := trailer.WriteTo(sealed); err != nil {
		fmt.Println(err)
	}
	if err := sealed.Close(); err != nil {
		fmt.Println(err)
	}

	view, err := plainfs.New(plainfs.Config{
		FS:         fstest.MapFS{"orders.csv.zst.age": {Data: file.Bytes(), Mode: 0o400}},
		Identities: []age.Identity{identity},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	entries, err := fs.ReadDir(view, ".")
	if err != nil {
		fmt.Println(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		fmt.Println(entry.Name(), info.Size(), err)
	}
	orders, err := view.Open("orders.csv")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orders.Close()
	row := make([]byte, 8)
	n, err := orders.(io.ReaderAt).ReadAt(row, 17)
	fmt.Printf("%q %v\n", row[:n], err)
	// Output:
	// orders.csv 25 <nil>
	// "2,stone\n" <nil>
}
