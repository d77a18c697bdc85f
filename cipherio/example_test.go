package cipherio_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"io"
	"strings"

	"culvert/cipherio"
)

// A stream that many small writes go through. The key and the IV must never be used again for another stream.
func ExampleStreamWriter() {
	block, err := aes.NewCipher([]byte("take 32 bytes from crypto/rand !"))
	if err != nil {
		fmt.Println(err)
		return
	}
	iv := make([]byte, aes.BlockSize) // as good as any, if the key is for this stream alone

	var file bytes.Buffer
	w := cipherio.StreamWriter{S: cipher.NewCTR(block, iv), W: &file}
	for i := range 3 {
		if _, err := fmt.Fprintf(w, "line %d\n", i); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Closes what is below, had it a Close. Nothing is left to be flushed.
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%x\n", file.Bytes())
	// Output: 7510bad2c32387e047cca1042592dec3669fa65e09
}

// Anyone who can change the bytes of a file can change its text, without the key and without an error.
func ExampleStreamReader() {
	block, err := aes.NewCipher([]byte("take 32 bytes from crypto/rand !"))
	if err != nil {
		fmt.Println(err)
		return
	}
	iv := make([]byte, aes.BlockSize)
	var file bytes.Buffer
	w := cipherio.StreamWriter{S: cipher.NewCTR(block, iv), W: &file}
	if _, err := io.Copy(w, strings.NewReader("pay 100 to Ann\n")); err != nil {
		fmt.Println(err)
		return
	}

	file.Bytes()[4] ^= '1' ^ '9'

	r := cipherio.StreamReader{S: cipher.NewCTR(block, iv), R: &file}
	text, err := io.ReadAll(r)
	fmt.Printf("%s%v\n", text, err)
	// Output:
	// pay 900 to Ann
	// <nil>
}
