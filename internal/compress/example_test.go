package compress_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"culvert/internal/compress"
)

// Frames can be made by several goroutines, and are written in order.
func Example() {
	var file bytes.Buffer
	encoder := compress.NewEncoder(compress.Zstd, 0)
	trailer := compress.NewTrailer(compress.Zstd)
	for _, rows := range []string{"id,title\n1,water\n", "2,stone\n"} {
		frame := encoder.AppendFrame(nil, []byte(rows))
		file.Write(frame)
		trailer.Add(int64(len(frame)), int64(len(rows)))
	}
	if _, err := trailer.WriteTo(&file); err != nil {
		fmt.Println(err)
	}

	r, err := compress.NewReader(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	if _, err := io.Copy(os.Stdout, r); err != nil {
		fmt.Println(err)
	}
	fmt.Println(r.Codec(), r.Sealed())
	// Output:
	// id,title
	// 1,water
	// 2,stone
	// zstd true
}

// A stream without frames is valid: it is the trailer alone.
func ExampleTrailer() {
	for _, codec := range []compress.Codec{compress.Zstd, compress.Gzip, compress.None} {
		var file bytes.Buffer
		n, err := compress.NewTrailer(codec).WriteTo(&file)
		fmt.Println("rows.csv"+codec.Extension(), n, err)
	}
	// Output:
	// rows.csv.zst 17 <nil>
	// rows.csv.gz 20 <nil>
	// rows.csv 0 <nil>
}

// The seek table locates each frame, so any part of the text can be read alone.
func ExampleReadSeekTable() {
	var file []byte
	encoder, trailer := compress.NewEncoder(compress.Zstd, 1), compress.NewTrailer(compress.Zstd)
	for _, rows := range []string{"1,water\n", "2,stone\n", "3,light\n"} {
		before := len(file)
		file = encoder.AppendFrame(file, []byte(rows))
		trailer.Add(int64(len(file)-before), int64(len(rows)))
	}
	out := bytes.NewBuffer(file)
	if _, err := trailer.WriteTo(out); err != nil {
		fmt.Println(err)
	}

	table, err := compress.ReadSeekTable(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	for f := range table.All() {
		r, err := compress.NewReader(bytes.NewReader(out.Bytes()[f.Offset : f.Offset+f.Size]))
		if err != nil {
			fmt.Println(err)
			return
		}
		text, err := io.ReadAll(r)
		fmt.Printf("%d: %q %v\n", f.TextOffset, text, errors.Join(err, r.Close()))
	}
	// Output:
	// 0: "1,water\n" <nil>
	// 8: "2,stone\n" <nil>
	// 16: "3,light\n" <nil>
}

// A frame is decoded without the frames before it.
func ExampleFrameDecoder() {
	first := compress.NewEncoder(compress.Zstd, 1).AppendFrame(nil, []byte("1,water\n"))
	decoder := compress.NewFrameDecoder(1)
	text, err := decoder.Decode(make([]byte, 0, compress.FrameBuffer(8)), first, 8)
	fmt.Printf("%q %v\n", text, err)
	// Output: "1,water\n" <nil>
}
