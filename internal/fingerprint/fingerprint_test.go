package fingerprint_test

import (
	"crypto/ed25519"
	"fmt"
	"strings"
	"testing"

	"culvert/internal/fingerprint"
)

// known was computed with openssl pkey and base32, from the seed of 32 zeros.
const known = "gopc76ixmmcqpnveeo244ccofbor7js5soz6e6tbsxj3x26jvyrq"

func Example() {
	public := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	f, err := fingerprint.Parse(strings.ToUpper(known))
	fmt.Println(f, err, f == fingerprint.Of(public))
	// Output:
	// gopc76ixmmcqpnveeo244ccofbor7js5soz6e6tbsxj3x26jvyrq <nil> true
}

func TestParse(t *testing.T) {
	last := known[:len(known)-1]
	for text, want := range map[string]bool{
		known: true, strings.ToUpper(known): true, last: false, last + "b": false, known + "a": false, "": false,
		strings.Repeat("a", 51) + "1": false, known + " ": false, known + "\n": false,
	} {
		if _, err := fingerprint.Parse(text); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
