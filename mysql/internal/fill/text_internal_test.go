package fill

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestAppendText compares texts, which are looked at eight characters at a time, with what is done to each character.
func TestAppendText(t *testing.T) {
	each := strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`, "'", `\'`)
	r := rand.New(rand.NewPCG(1, 12))
	special := []string{`\`, "\t", "\n", "\r", "\x00", "'", "\x01", "\x1f", "\x7f", "é", "漢", "\xff", " ", "!", "["}
	for range 20_000 {
		var text strings.Builder
		for range r.IntN(40) {
			if r.IntN(6) == 0 {
				text.WriteString(special[r.IntN(len(special))])
			} else {
				text.WriteByte(byte('a' + r.IntN(26)))
			}
		}
		value := text.String()
		got, err := appendText([]byte("before"), []byte(value))
		if !utf8.ValidString(value) {
			if err == nil {
				t.Fatalf("%q has no error", value)
			}
			continue
		}
		if want := "before" + each.Replace(value); err != nil || string(got) != want {
			t.Fatalf("%q becomes %q, %v, want %q", value, got, err, want)
		}
	}
}

func TestWithoutZone(t *testing.T) {
	for value, want := range map[string]string{
		"2026-01-02 03:04:05": "2026-01-02 03:04:05", "2026-01-02 03:04:05+00": "2026-01-02 03:04:05",
		"03:04:05+00:00": "03:04:05", "03:04Z": "03:04", "03:04:05+01": "03:04:05+01", "03:04:05.00": "03:04:05.00",
		"+00": "+00", "Z": "Z", "": "", "2026-01-02+00": "2026-01-02+00", "3:4+00": "3:4", "3:+00:00": "3:",
	} {
		if got := withoutZone([]byte(value)); string(got) != want {
			t.Errorf("%q becomes %q, want %q", value, got, want)
		}
	}
}
