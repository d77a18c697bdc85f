package planted

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const value = `Zoë "O'Neil" 000017`

// TestIn finds a value in each of its forms, wherever it is.
func TestIn(t *testing.T) {
	secrets := New([]string{value, "another value"})
	for _, text := range []string{
		value, hex.EncodeToString([]byte(value)), `{"name":"Zoë \"O'Neil\" 000017"}`, `"Zo\u00eb \"O'Neil\" 000017"`,
		`'Zoë "O''Neil" 000017'`, `7,"Zoë ""O'Neil"" 000017",`, "?name=Zo%C3%AB+%22O%27Neil%22+000017&",
	} {
		for before := range 9 {
			data := []byte(strings.Repeat("-", before) + text + "-")
			if secrets.In(data) == "" {
				t.Errorf("%q has nothing", data)
			}
			inBase64 := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("-", before) + value + "-"))
			if secrets.In([]byte(inBase64)) == "" {
				t.Errorf("%q has nothing", inBase64)
			}
		}
	}
	for _, text := range []string{"", value[:len(value)-1], "Zoe", strings.Repeat("another valu", 9)} {
		if found := secrets.In([]byte(text)); found != "" {
			t.Errorf("%q has %s", text, found)
		}
	}
}

// TestUnder finds a value in files that are compressed and encrypted, whole and broken.
func TestUnder(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	through := func(data []byte, open func(io.Writer) (io.WriteCloser, error)) []byte {
		var into bytes.Buffer
		w, err := open(&into)
		if err == nil {
			_, err = w.Write(data)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return into.Bytes()
	}
	text := []byte("id,name\n1," + value + "\n")
	inGzip := through(text, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
	inZstd := through(text, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })
	inAge := through(inZstd, func(w io.Writer) (io.WriteCloser, error) { return age.Encrypt(w, identity.Recipient()) })
	for name, data := range map[string][]byte{
		"plain": text, "gzip": inGzip, "zstd": inZstd, "age": inAge, "broken": inGzip[:len(inGzip)-3],
		"pages": slices.Concat([]byte("PAR1"), through([]byte("else"), func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w)
		}), []byte("between"), inZstd, []byte("footer")),
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if found := New([]string{value}).Under(dir, identity); len(found) != 1 {
			t.Errorf("%s has %q", name, found)
		}
		if found := New([]string{"another value"}).Under(dir, identity); found != nil {
			t.Errorf("%s has %q", name, found)
		}
	}
}
