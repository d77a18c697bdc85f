package cipherio_test

import (
	"bytes"
	"compress/gzip"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"io"

	"culvert/cipherio"
)

// writeEnvelope writes RSA-OAEP-SHA256(key) || IV || AES-256-CTR(gzip(CSV)).
func writeEnvelope(dst io.Writer, owner *rsa.PublicKey, rows [][]string) error {
	// A new key for each file. With it any IV would do, but the format has one.
	key, iv := make([]byte, 32), make([]byte, aes.BlockSize)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	if _, err := rand.Read(iv); err != nil {
		return err
	}
	wrapped, err := rsa.EncryptOAEP(sha256.New(), rand.Reader, owner, key, nil)
	if err != nil {
		return err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	if _, err := dst.Write(append(wrapped, iv...)); err != nil {
		return err
	}

	compressed := gzip.NewWriter(cipherio.StreamWriter{S: cipher.NewCTR(block, iv), W: dst})
	if err := csv.NewWriter(compressed).WriteAll(rows); err != nil { // also flushes
		return err
	}
	return compressed.Close()
}

// readEnvelope returns the rows of an envelope.
func readEnvelope(src io.Reader, owner *rsa.PrivateKey) ([][]string, error) {
	wrapped, iv := make([]byte, owner.Size()), make([]byte, aes.BlockSize)
	if _, err := io.ReadFull(src, wrapped); err != nil {
		return nil, fmt.Errorf("wrapped key: %w", err)
	}
	if _, err := io.ReadFull(src, iv); err != nil {
		return nil, fmt.Errorf("IV: %w", err)
	}
	key, err := rsa.DecryptOAEP(sha256.New(), nil, owner, wrapped, nil)
	if err != nil {
		return nil, fmt.Errorf("wrapped key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}

	decompressed, err := gzip.NewReader(cipherio.StreamReader{S: cipher.NewCTR(block, iv), R: src})
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(decompressed).ReadAll()
	if err != nil {
		return nil, err // a file that was cut ends with io.ErrUnexpectedEOF of gzip
	}
	return rows, decompressed.Close()
}

// The whole way into an envelope as the package comment draws it, and back: the key, wrapped for the owner of an RSA
// key; the IV; and rows as CSV, compressed and encrypted.
func Example_envelope() {
	owner, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		fmt.Println(err)
		return
	}

	var file bytes.Buffer
	rows := [][]string{{"id", "name"}, {"1", "Zoë"}, {"2", `Ann "Nan" Lee`}}
	if err := writeEnvelope(&file, &owner.PublicKey, rows); err != nil {
		fmt.Println(err)
		return
	}

	opened, err := readEnvelope(&file, owner)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range opened {
		fmt.Printf("%q\n", row)
	}
	// Output:
	// ["id" "name"]
	// ["1" "Zoë"]
	// ["2" "Ann \"Nan\" Lee"]
}
