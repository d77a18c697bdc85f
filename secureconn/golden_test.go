package secureconn_test

import (
	"bytes"
	"crypto/tls"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"testing"

	"culvert/secureconn"
)

var update = flag.Bool("update", false, "write the golden files with what the second implementation makes")

// TestGolden holds both implementations to records that were written down, so that the format stays what it is.
func TestGolden(t *testing.T) {
	secret := bytes.Repeat([]byte{0x5e}, 32)
	plaintexts := [][]byte{[]byte("a"), []byte("the second record"), []byte("the third, under a new key"), {0}}
	var lines bytes.Buffer
	for _, suite := range []uint16{tls.TLS_AES_128_GCM_SHA256, tls.TLS_CHACHA20_POLY1305_SHA256} {
		stream, err := secureconn.Seal(suite, bytes.Clone(secret), plaintexts, map[int]bool{2: true})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "# suite of TLS %#04x, first secret %x\n", suite, secret)
		other := newChain(bytes.Clone(secret), suite == tls.TLS_CHACHA20_POLY1305_SHA256)
		var want []byte
		record := func(kind byte, plaintext []byte) {
			sealed := other.seal(kind, plaintext)
			want = append(want, sealed...)
			fmt.Fprintf(&lines, "%d %q %s\n", kind, plaintext, hex.EncodeToString(sealed))
		}
		for i, plaintext := range plaintexts {
			if i == 2 {
				record(2, nil)
			}
			record(1, plaintext)
		}
		record(3, nil)
		if !bytes.Equal(stream, want) {
			t.Errorf("suite %#04x: the implementations seal differently", suite)
		}
	}
	const name = "testdata/records.txt"
	if *update {
		if err := os.WriteFile(name, lines.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(golden, lines.Bytes()) {
		t.Errorf("the records are no longer those of %s", name)
	}
}
