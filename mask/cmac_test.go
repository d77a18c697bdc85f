package mask_test

import (
	"encoding/hex"
	"testing"

	"culvert/mask"
)

// TestCMAC computes the examples of RFC 4493, section 4.
func TestCMAC(t *testing.T) {
	unhex := func(digits string) []byte {
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	text := unhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51" +
		"30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710")
	key := [16]byte(unhex("2b7e151628aed2a6abf7158809cf4f3c"))
	for size, want := range map[int]string{
		0:  "bb1d6929e95937287fa37d129b756746",
		16: "070a16b46b4d4144f79bdd9dd04a287c",
		40: "dfa66747de9ae63030ca32611497c827",
		64: "51f0bebf7e3b9d92fc49741779363cfe",
	} {
		if got := hex.EncodeToString(mask.CMAC(key, text[:size])); got != want {
			t.Errorf("the CMAC of %d bytes is %s, and should be %s", size, got, want)
		}
	}
}
