package plainfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"testing"
	"testing/fstest"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/internal/compress"
)

// FuzzText encrypts what the fuzzer makes up and compares the view with the readers of streams.
func FuzzText(f *testing.F) {
	identity := newIdentity(f)
	text := rows(500)
	f.Add(pack(f, text, 100), uint64(0))
	f.Add(pack(f, nil, 100), uint64(1))
	f.Add(append(pack(f, text, 100), pack(f, text, 50)...), uint64(2))
	f.Add(compress.NewEncoder(compress.Zstd, 1).AppendFrame(nil, text), uint64(3))
	f.Add([]byte("text"), uint64(4))
	f.Fuzz(func(t *testing.T, packed []byte, seed uint64) {
		file := seal(t, identity, packed)
		view := newView(t, fstest.MapFS{"x.csv.zst.age": {Data: file}}, identity)
		got, err := fs.ReadFile(view, "x.csv")
		if errors.Is(err, fs.ErrNotExist) {
			if inside := readAll(t, view, "x.csv.zst"); !bytes.Equal(inside, packed) {
				t.Fatal("x.csv.zst is not what was encrypted")
			}
			return
		}
		want, wantErr := stream(t, file, identity)
		if err != nil {
			if !errors.Is(err, compress.ErrCorrupt) {
				t.Fatalf("error %v", err)
			}
			if wantErr == nil {
				t.Fatalf("error %v, and the stream has none", err)
			}
			return
		}
		// A table may list several frames as one, which the stream takes for a fault after it has read them.
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, and the stream has %d, or they differ", len(got), len(want))
		}
		opened, err := view.Open("x.csv")
		if err != nil {
			t.Fatal(err)
		}
		readRandomly(t, opened.(io.ReaderAt), want, rand.New(rand.NewPCG(seed, 1)), 20)
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
}

// stream returns the text as those who read from the beginning to the end get it.
func stream(t *testing.T, file []byte, identity *age.X25519Identity) ([]byte, error) {
	t.Helper()
	opened, err := agefile.NewReader(bytes.NewReader(file), identity)
	if err != nil {
		t.Fatal(err)
	}
	text, err := compress.NewReader(opened)
	if err != nil {
		t.Fatal(err)
	}
	got, readErr := io.ReadAll(text)
	if err := errors.Join(text.Close(), opened.Close()); err != nil {
		t.Fatal(err)
	}
	return got, readErr
}

// FuzzSealed shows what the fuzzer makes of an encrypted file. It must not become another text.
func FuzzSealed(f *testing.F) {
	identity := newIdentity(f)
	text := rows(500)
	f.Add(seal(f, identity, pack(f, text, 100)))
	f.Add([]byte("age-encryption.org/v1\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		view := newView(t, fstest.MapFS{"x.csv.zst.age": {Data: file}}, identity)
		if got, err := fs.ReadFile(view, "x.csv"); err == nil && !bytes.Equal(got, text) {
			t.Fatalf("%d bytes that nobody has encrypted", len(got))
		}
		if got := readAll(t, view, "x.csv.zst.age"); !bytes.Equal(got, file) {
			t.Fatal("the file is not as it is under its own name")
		}
	})
}
