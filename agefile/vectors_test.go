package agefile_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	agetest "c2sp.org/CCTV/age"
	"filippo.io/age"
	"filippo.io/age/armor"

	"culvert/agefile"
)

// vector is one of the C2SP community test vectors for age, https://c2sp.org/CCTV/age.
type vector struct {
	expect     string
	payload    string // SHA-256 of the plaintext that must be released, in hex
	fileKey    []byte
	identities []age.Identity
	armored    bool
	file       []byte
}

func parseVector(t *testing.T, text []byte) vector {
	t.Helper()
	v := vector{}
	compressed := false
	for {
		line, rest, ok := bytes.Cut(text, []byte("\n"))
		if !ok {
			t.Fatal("vector has no file")
		}
		text = rest
		if len(line) == 0 {
			break
		}
		name, value, _ := strings.Cut(string(line), ": ")
		var err error
		switch name {
		case "expect":
			v.expect = value
		case "payload":
			v.payload = value
		case "file key":
			v.fileKey, err = hex.DecodeString(value)
		case "identity":
			var id age.Identity
			if id, err = age.ParseX25519Identity(value); err != nil {
				id, err = age.ParseHybridIdentity(value)
			}
			v.identities = append(v.identities, id)
		case "passphrase":
			var id age.Identity
			id, err = age.NewScryptIdentity(value)
			v.identities = append(v.identities, id)
		case "armored":
			v.armored = true
		case "compressed":
			compressed = true
		case "comment":
		default:
			t.Fatalf("unknown line in vector: %s", line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	v.file = text
	if compressed {
		r, err := zlib.NewReader(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if v.file, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func eachVector(t *testing.T, f func(t *testing.T, v vector)) {
	entries, err := fs.ReadDir(agetest.Vectors, ".")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) < 100 {
		t.Fatalf("only %d vectors", len(entries))
	}
	for _, entry := range entries {
		text, err := fs.ReadFile(agetest.Vectors, entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		t.Run(entry.Name(), func(t *testing.T) {
			t.Parallel()
			f(t, parseVector(t, text))
		})
	}
}

// outcome maps an error to the words of the vectors.
func outcome(err error, opened bool) string {
	var armorErr *armor.Error
	var noMatch *age.NoIdentityMatchError
	switch {
	case err == nil:
		return "success"
	case errors.As(err, &armorErr):
		return "armor failure"
	case errors.As(err, &noMatch):
		return "no match"
	case !errors.Is(err, agefile.ErrCorrupt):
		return "not marked as corrupt: " + err.Error()
	case strings.Contains(err.Error(), "bad header MAC"):
		return "HMAC failure"
	case opened:
		return "payload failure"
	default:
		return "header failure"
	}
}

func TestVectorsReader(t *testing.T) {
	eachVector(t, func(t *testing.T, v vector) {
		for _, workers := range []int{1, 3} {
			var src io.Reader = bytes.NewReader(v.file)
			if v.armored {
				src = armor.NewReader(src)
			}
			r, err := agefile.Config{Workers: workers}.NewReader(src, v.identities...)
			opened := err == nil
			var plain []byte
			if opened {
				plain, err = io.ReadAll(r)
			}
			if got := outcome(err, opened); got != v.expect {
				t.Fatalf("outcome is %q (%v), want %q", got, err, v.expect)
			}
			if sum := sha256.Sum256(plain); opened && v.payload != "" && hex.EncodeToString(sum[:]) != v.payload {
				t.Errorf("released %d bytes, which are not the right ones", len(plain))
			}
		}
	})
}

func TestVectorsReaderAt(t *testing.T) {
	eachVector(t, func(t *testing.T, v vector) {
		if v.armored {
			return // armor has no random access
		}
		src, err := agefile.NewReader(bytes.NewReader(v.file), v.identities...)
		var sequential []byte
		if err == nil {
			sequential, _ = io.ReadAll(src)
		}
		r, err := agefile.NewReaderAt(bytes.NewReader(v.file), int64(len(v.file)), v.identities...)
		opened := err == nil
		var plain []byte
		if opened {
			plain = make([]byte, r.Size())
			var n int
			n, err = r.ReadAt(plain, 0)
			plain = plain[:n]
			if err == io.EOF {
				err = nil
			}
		}
		got := outcome(err, opened)
		if got == "header failure" && v.expect == "payload failure" {
			got = v.expect // the last chunk is read with the header
		}
		if got != v.expect {
			t.Fatalf("outcome is %q (%v), want %q", got, err, v.expect)
		}
		// Random access may notice damage earlier than a stream, which must release the bytes before it.
		if !bytes.HasPrefix(sequential, plain) {
			t.Error("random access and stream differ")
		}
		if sum := sha256.Sum256(plain); v.expect == "success" && hex.EncodeToString(sum[:]) != v.payload {
			t.Error("plaintext differs")
		}
	})
}

func TestVectorsWriter(t *testing.T) {
	eachVector(t, func(t *testing.T, v vector) {
		if v.expect != "success" || v.armored || v.fileKey == nil {
			return
		}
		header, err := age.ExtractHeader(bytes.NewReader(v.file))
		if err != nil {
			t.Fatal(err)
		}
		nonce, payload := v.file[len(header):][:16], v.file[len(header)+16:]
		key, err := agefile.PayloadKey(v.fileKey, nonce)
		if err != nil {
			t.Fatal(err)
		}
		r, err := agefile.NewReader(bytes.NewReader(v.file), v.identities...)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{1, 3} {
			var got bytes.Buffer
			w, err := agefile.PayloadWriter(&got, key, workers)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(plain); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), payload) {
				t.Errorf("sealed payload differs with %d workers", workers)
			}
		}
	})
}
