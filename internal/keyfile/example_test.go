package keyfile_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"filippo.io/age"

	"culvert/internal/keyfile"
)

var startOf2026 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func ExampleGenerate() {
	key, err := keyfile.Generate()
	if err != nil {
		panic(err)
	}
	// key.Create(path, time.Now()) would write it to a file.
	fmt.Println(key.RecipientString()[:4], len(key.Fingerprint()))
	// Output: age1 52
}

func ExampleGeneratePostQuantum() {
	key, err := keyfile.GeneratePostQuantum()
	if err != nil {
		panic(err)
	}
	fmt.Println(key.RecipientString()[:7], len(key.Fingerprint()))
	// Output: age1pq1 52
}

func ExampleFromIdentity() {
	identity, err := age.ParseX25519Identity(knownSecret)
	if err != nil {
		panic(err)
	}
	key, err := keyfile.FromIdentity(identity)
	if err != nil {
		panic(err)
	}
	if err := key.Write(os.Stdout, startOf2026); err != nil {
		panic(err)
	}
	// Output:
	// # created: 2026-01-01T00:00:00Z
	// # public key: age1xmwwc06ly3ee5rytxm9mflaz2u56jjj36s0mypdrwsvlul66mv4q47ryef
	// # recipient: age1xmwwc06ly3ee5rytxm9mflaz2u56jjj36s0mypdrwsvlul66mv4q47ryef
	// # fingerprint: o3yrhnomzr7jitk4wcyiozh6qtvjuemqperdi66n7hdcqkzv6hgq
	// AGE-SECRET-KEY-1EGTZVFFV20835NWYV6270LXYVK2VKNX2MMDKWYKLMGR48UAWX40Q2P2LM0
}

func ExampleReader() {
	reader := keyfile.Reader{
		Stdin: func() (io.Reader, error) { return strings.NewReader("# mine\n" + knownSecret + "\n"), nil },
	}
	identities, err := reader.Identities("-")
	if err != nil {
		panic(err)
	}
	recipients, err := keyfile.RecipientsOf(identities)
	if err != nil {
		panic(err)
	}
	fmt.Println(recipients[0])
	// Output: age1xmwwc06ly3ee5rytxm9mflaz2u56jjj36s0mypdrwsvlul66mv4q47ryef
}
