package agefile_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/cryptotest"

	"filippo.io/age"

	"culvert/agefile"
)

// With the same random numbers, a Writer makes the same file as age does, for one recipient and for several.
func TestWriterMakesTheFileOfAge(t *testing.T) {
	for n := range uint64(64) {
		recipients := []age.Recipient{identity(t).Recipient(), identity(t).Recipient()}[:1+n%2]
		cryptotest.SetGlobalRandom(t, n)
		want := encryptWithAge(t, []byte("row"), recipients...)
		cryptotest.SetGlobalRandom(t, n)
		if got := encrypt(t, []byte("row"), 1, recipients...); !bytes.Equal(got, want) {
			t.Fatalf("file %d is %q, age makes %q", n, got, want)
		}
	}
}

// No two files, and no two recipients of one file, have a share or a key in common.
func TestSharesDiffer(t *testing.T) {
	id := identity(t)
	seen := map[string]bool{}
	for range 100 {
		file := encrypt(t, nil, 1, id.Recipient(), id.Recipient())
		stanzas := 0
		for line := range strings.Lines(string(file)) {
			if strings.HasPrefix(line, "---") {
				break
			}
			if strings.HasPrefix(line, "age-") {
				continue
			}
			if stanzas++; seen[line] {
				t.Fatalf("the line %q is in two stanzas", line)
			}
			seen[line] = true
		}
		if stanzas != 4 {
			t.Fatalf("%d lines of stanzas instead of 4: %q", stanzas, file)
		}
	}
}

// A recipient from whose key anyone could compute the shared secret is refused, and one without a key.
func TestRefusedRecipients(t *testing.T) {
	zero, err := age.ParseX25519Recipient("age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z")
	if err != nil {
		t.Fatal(err)
	}
	for _, recipient := range []*age.X25519Recipient{zero, new(age.X25519Recipient)} {
		if _, err := age.Encrypt(io.Discard, recipient); err == nil {
			t.Errorf("age takes the recipient %v", recipient)
		}
		if _, err := agefile.NewWriter(io.Discard, recipient); err == nil {
			t.Errorf("a Writer takes the recipient %v", recipient)
		}
	}
}
