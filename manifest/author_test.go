package manifest_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"culvert/manifest"
	"culvert/source"
)

// author is a key of tests.
var author = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

func signed(t *testing.T, m *manifest.Manifest) []byte {
	t.Helper()
	var text bytes.Buffer
	n, err := m.WriteSigned(&text, author)
	if err != nil || n != int64(text.Len()) {
		t.Fatalf("WriteSigned: %d of %d bytes, %v", n, text.Len(), err)
	}
	return text.Bytes()
}

func TestAuthor(t *testing.T) {
	ofSchema := sample()
	ofSchema.Tables, ofSchema.Schema = nil, manifest.NewSchema(&source.Schema{Dialect: source.PostgreSQL})
	ofSchema.Schema.File, ofSchema.Schema.SHA256 = "schema.json.zst.age", strings.Repeat("0f", 32)
	for _, m := range []*manifest.Manifest{sample(), ofSchema} {
		text := signed(t, m)
		read, err := manifest.Read(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !read.Author().Equal(author.Public()) {
			t.Errorf("the author is %x", read.Author())
		}
		// What a signature adds, readers of unsigned manifests ignore.
		var plain bytes.Buffer
		if _, err := read.WriteTo(&plain); err != nil {
			t.Fatal(err)
		}
		unsigned, err := manifest.Read(&plain)
		if err != nil || unsigned.Author() != nil {
			t.Errorf("written without a signature, the author is %x, %v", unsigned.Author(), err)
		}
	}
}

// TestAuthorEveryByte changes each byte of a signed manifest, and cuts it after each: no other text has the author.
func TestAuthorEveryByte(t *testing.T) {
	text := signed(t, sample())
	check := func(changed []byte, what string) {
		m, err := manifest.Read(bytes.NewReader(changed))
		if err == nil && m.Author() != nil {
			t.Errorf("%s: it is still signed", what)
		}
		if err != nil && !errors.Is(err, manifest.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i := range text {
		changed := bytes.Clone(text)
		changed[i] ^= 1 << (i % 8)
		check(changed, fmt.Sprintf("byte %d", i))
		if i%16 == 0 || i > len(text)-100 {
			check(text[:i], fmt.Sprintf("cut at %d", i))
		}
	}
	for _, more := range []string{" ", "\n", "{}", "\x00"} {
		check(append(bytes.Clone(text), more...), fmt.Sprintf("%q added", more))
	}
}

func TestAuthorForged(t *testing.T) {
	text := string(signed(t, sample()))
	at := strings.Index(text, `  "author": "`)
	line, _, _ := strings.Cut(text[at:], "\n")
	end := strings.LastIndex(text, ",\n  \"signature\"")
	for name, forged := range map[string]string{
		"a field after it":  strings.TrimSuffix(text, "\n}\n") + ",\n  \"tool\": \"x\"\n}\n",
		"no author":         strings.Replace(text, line+"\n", "", 1),
		"another author":    strings.Replace(text, line, `  "author": "`+strings.Repeat("A", 43)+`=",`, 1),
		"no signature":      text[:end] + "\n}\n",
		"an empty one":      text[:end] + ",\n  \"signature\": \"\"\n}\n",
		"null":              text[:end] + ",\n  \"signature\": null\n}\n",
		"another order":     "{" + text[end+1:len(text)-3] + "," + text[1:end] + "\n}\n",
		"in another letter": strings.Replace(text, `"signature"`, `"Signature"`, 1),
		"twice":             text[:end] + text[end:len(text)-3] + text[end:],
	} {
		if _, err := manifest.Read(strings.NewReader(forged)); !errors.Is(err, manifest.ErrInvalid) {
			t.Errorf("%s: it is accepted: %v", name, err)
		}
	}
}

// TestAuthorOtherUse has the key sign the same text for another use, as a connection does.
func TestAuthorOtherUse(t *testing.T) {
	text := signed(t, sample())
	end := bytes.LastIndex(text, []byte(",\n  \"signature\""))
	for name, options := range map[string]*ed25519.Options{
		"plain": {}, "another context": {Context: "culvert/v1 connection"},
	} {
		signature, err := author.Sign(nil, text[:end], options)
		if err != nil {
			t.Fatal(err)
		}
		forged := fmt.Appendf(nil, "%s,\n  \"signature\": %q\n}\n", text[:end],
			base64.StdEncoding.EncodeToString(signature))
		if _, err := manifest.Read(bytes.NewReader(forged)); !errors.Is(err, manifest.ErrInvalid) {
			t.Errorf("%s: it is accepted: %v", name, err)
		}
	}
}

func ExampleManifest_WriteSigned() {
	_, author, err := ed25519.GenerateKey(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := manifest.New(source.Description{System: "SQLite 3.50", Database: "shop.db"})
	m.Format, m.Compression = "csv", "none"
	m.Tables = append(m.Tables, manifest.Table{Name: "orders", Error: "the disk was full"})
	var text bytes.Buffer
	if _, err := m.WriteSigned(&text, author); err != nil {
		fmt.Println(err)
		return
	}
	read, err := manifest.Read(&text)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(read.Author().Equal(author.Public()))
	// Output: true
}
