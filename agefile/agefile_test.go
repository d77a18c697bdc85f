package agefile_test

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"go.uber.org/goleak"

	"culvert/agefile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	chunk = 64 << 10
	span  = 16 * chunk
)

func random(size int) []byte {
	p := make([]byte, size)
	mathrand.NewChaCha8([32]byte{byte(size), byte(size >> 8)}).Read(p)
	return p
}

func identity(t testing.TB) *age.X25519Identity {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func encrypt(t testing.TB, plain []byte, workers int, recipients ...age.Recipient) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := agefile.Config{Workers: workers}.NewWriter(&file, recipients...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// encryptWithAge encrypts with package age.
func encryptWithAge(t testing.TB, plain []byte, recipients ...age.Recipient) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := age.Encrypt(&file, recipients...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func decrypt(file []byte, workers int, identities ...age.Identity) ([]byte, error) {
	r, err := agefile.Config{Workers: workers}.NewReader(bytes.NewReader(file), identities...)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func TestAgeReadsWhatWriterWrites(t *testing.T) {
	id := identity(t)
	for _, size := range sizes {
		for _, workers := range []int{1, 3} {
			plain := random(size)
			r, err := age.Decrypt(bytes.NewReader(encrypt(t, plain, workers, id.Recipient())), id)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain) {
				t.Errorf("size %d, %d workers: age reads %d bytes, error %v", size, workers, len(got), err)
			}
		}
	}
}

func TestReadersReadWhatAgeWrites(t *testing.T) {
	id := identity(t)
	for _, size := range sizes {
		plain := random(size)
		file := encryptWithAge(t, plain, id.Recipient())
		for _, workers := range []int{1, 3} {
			if got, err := decrypt(file, workers, id); err != nil || !bytes.Equal(got, plain) {
				t.Errorf("size %d, %d workers: Reader reads %d bytes, error %v", size, workers, len(got), err)
			}
			r, err := agefile.Config{Workers: workers}.NewReaderAt(bytes.NewReader(file), int64(len(file)), id)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, r.Size())
			if _, err := r.ReadAt(got, 0); err != nil && err != io.EOF || !bytes.Equal(got, plain) {
				t.Errorf("size %d, %d workers: ReaderAt gives %d bytes, error %v", size, workers, len(got), err)
			}
		}
	}
}

// TestBytesEqualAge compares the ciphertext with age's, under the same file key and nonce.
func TestBytesEqualAge(t *testing.T) {
	id := identity(t)
	for _, size := range sizes {
		plain := random(size)
		file := encryptWithAge(t, plain, id.Recipient())
		header, err := age.ExtractHeader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		fileKey, err := age.DecryptHeader(header, id)
		if err != nil {
			t.Fatal(err)
		}
		nonce, payload := file[len(header):][:16], file[len(header)+16:]
		key, err := agefile.PayloadKey(fileKey, nonce)
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{1, 4} {
			var got bytes.Buffer
			w, err := agefile.PayloadWriter(&got, key, workers)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(w, iotest.HalfReader(bytes.NewReader(plain))); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), payload) {
				t.Errorf("size %d, %d workers: payload differs from age's", size, workers)
			}
		}
	}
}

func TestRecipientKinds(t *testing.T) {
	x1, x2 := identity(t), identity(t)
	pq, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	sr, err := age.NewScryptRecipient("a passphrase")
	if err != nil {
		t.Fatal(err)
	}
	sr.SetWorkFactor(10)
	si, err := age.NewScryptIdentity("a passphrase")
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ei, err := agessh.NewEd25519Identity(edKey)
	if err != nil {
		t.Fatal(err)
	}

	tests := []struct {
		name       string
		recipients []age.Recipient
		identities []age.Identity // nil if the recipients must be refused
	}{
		{"x25519", []age.Recipient{x1.Recipient()}, []age.Identity{x1}},
		{"second of two", []age.Recipient{x1.Recipient(), x2.Recipient()}, []age.Identity{x2}},
		{"post-quantum", []age.Recipient{pq.Recipient()}, []age.Identity{x1, pq}},
		{"passphrase", []age.Recipient{sr}, []age.Identity{si}},
		{"ssh", []age.Recipient{x1.Recipient(), ei.Recipient()}, []age.Identity{ei}},
		{"classic with post-quantum", []age.Recipient{x1.Recipient(), pq.Recipient()}, nil},
		{"post-quantum with classic", []age.Recipient{pq.Recipient(), x1.Recipient()}, nil},
		{"passphrase with another", []age.Recipient{sr, x1.Recipient()}, nil},
		{"another with passphrase", []age.Recipient{x1.Recipient(), sr}, nil},
		{"none", nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.identities == nil {
				if _, err := agefile.NewWriter(io.Discard, test.recipients...); err == nil {
					t.Error("recipients are not refused")
				}
				return
			}
			file := encrypt(t, []byte("hello"), 1, test.recipients...)
			if got, err := decrypt(file, 1, test.identities...); err != nil || string(got) != "hello" {
				t.Errorf("got %q, %v", got, err)
			}
			r, err := age.Decrypt(bytes.NewReader(file), test.identities...)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || string(got) != "hello" {
				t.Errorf("age got %q, %v", got, err)
			}
		})
	}
}

// stranger is a recipient with a stanza as long as an X25519 recipient's, but quick to make.
type stranger struct{}

func (stranger) Wrap([]byte) ([]*age.Stanza, error) {
	return []*age.Stanza{{Type: "X25519x", Args: []string{strings.Repeat("a", 42)}, Body: make([]byte, 32)}}, nil
}

// TestTooManyRecipients checks that a header larger than readers accept is not written.
func TestTooManyRecipients(t *testing.T) {
	id := identity(t)
	many := make([]age.Recipient, 1100)
	for i := range many {
		many[i] = stranger{}
	}
	many[500] = id.Recipient()
	var file bytes.Buffer
	if _, err := agefile.NewWriter(&file, many...); err == nil || file.Len() > 0 {
		t.Errorf("error %v, and %d bytes written", err, file.Len())
	}
	got, err := decrypt(encrypt(t, []byte("hello"), 1, many[:1000]...), 1, id)
	if err != nil || string(got) != "hello" {
		t.Errorf("a thousand recipients: %q, %v", got, err)
	}
}

func TestIdentityErrors(t *testing.T) {
	id := identity(t)
	file := encrypt(t, []byte("hello"), 1, id.Recipient())

	var noMatch *age.NoIdentityMatchError
	_, err := decrypt(file, 1, identity(t), identity(t))
	if !errors.As(err, &noMatch) || errors.Is(err, agefile.ErrCorrupt) {
		t.Errorf("wrong identities: %v", err)
	}
	if _, err := decrypt(file, 1); err == nil || errors.Is(err, agefile.ErrCorrupt) {
		t.Errorf("no identities: %v", err)
	}
	broken := errors.New("the plugin is not installed")
	_, err = decrypt(file, 1, failingIdentity{broken})
	if !errors.Is(err, broken) || errors.Is(err, agefile.ErrCorrupt) {
		t.Errorf("identity that fails: %v", err)
	}
	// Native identities are tried first, so the failing one is not tried.
	if got, err := decrypt(file, 1, failingIdentity{broken}, id); err != nil || string(got) != "hello" {
		t.Errorf("native identity behind another: %q, %v", got, err)
	}
}

type failingIdentity struct{ err error }

func (f failingIdentity) Unwrap([]*age.Stanza) ([]byte, error) { return nil, f.err }

func TestReaderContract(t *testing.T) {
	id := identity(t)
	for _, size := range []int{0, 5, chunk + 1, 2*span + 99} {
		plain := random(size)
		r, err := agefile.NewReader(bytes.NewReader(encrypt(t, plain, 2, id.Recipient())), id)
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(struct{ io.Reader }{r}, plain); err != nil {
			t.Errorf("size %d: %v", size, err)
		}
	}
}

// TestSources reads from sources that use all that io.Reader permits.
func TestSources(t *testing.T) {
	id := identity(t)
	plain := random(2*span + 100)
	file := encrypt(t, plain, 2, id.Recipient())
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"half":     iotest.HalfReader,
		"data+err": iotest.DataErrReader,
		"bufio":    func(r io.Reader) io.Reader { return bufio.NewReaderSize(r, 100_000) },
	} {
		r, err := agefile.NewReader(wrap(bytes.NewReader(file)), id)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if _, err := r.WriteTo(&got); err != nil || !bytes.Equal(got.Bytes(), plain) {
			t.Errorf("%s: %d bytes, %v", name, got.Len(), err)
		}
	}
}

// TestCache shares the smallest possible cache among several readers.
func TestCache(t *testing.T) {
	id := identity(t)
	cache := agefile.NewCache(0)
	var wg sync.WaitGroup
	for range 3 {
		plain := random(3*span + 777)
		file := encrypt(t, plain, 2, id.Recipient())
		r, err := agefile.Config{Workers: 2, Cache: cache}.NewReaderAt(bytes.NewReader(file), int64(len(file)), id)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			got := make([]byte, len(plain))
			for range 20 {
				clear(got)
				if n, err := r.ReadAt(got, 0); n != len(plain) || err != nil || !bytes.Equal(got, plain) {
					t.Errorf("%d bytes, error %v, or they differ", n, err)
				}
				n, err := r.ReadAt(got[:100], chunk)
				if n != 100 || err != nil || !bytes.Equal(got[:100], plain[chunk:][:100]) {
					t.Errorf("%d bytes of one chunk, error %v, or they differ", n, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestReaderAt(t *testing.T) {
	id := identity(t)
	plain := random(5*span + 12345)
	file := encrypt(t, plain, 2, id.Recipient())
	r, err := agefile.Config{Workers: 2}.NewReaderAt(bytes.NewReader(file), int64(len(file)), id)
	if err != nil {
		t.Fatal(err)
	}
	if r.Size() != int64(len(plain)) {
		t.Fatalf("size is %d, want %d", r.Size(), len(plain))
	}
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			rnd := mathrand.New(mathrand.NewPCG(seed, 1))
			for range 100 {
				off := rnd.IntN(len(plain))
				size := 1 + rnd.IntN(1<<rnd.IntN(23))
				p := make([]byte, size)
				n, err := r.ReadAt(p, int64(off))
				want := plain[off:min(len(plain), off+size)]
				if !bytes.Equal(p[:n], want) {
					t.Errorf("%d bytes at %d differ", size, off)
				}
				if (n < size) != (err == io.EOF) || err != nil && err != io.EOF {
					t.Errorf("%d of %d bytes at %d, error %v", n, size, off, err)
				}
			}
		})
	}
	wg.Wait()

	for _, test := range []struct {
		off  int64
		size int
		n    int
		err  error
	}{
		{r.Size(), 1, 0, io.EOF},
		{r.Size() + 5, 1, 0, io.EOF},
		{r.Size() - 1, 2, 1, io.EOF},
		{r.Size() - 1, 1, 1, nil},
		{0, 0, 0, nil},
	} {
		if n, err := r.ReadAt(make([]byte, test.size), test.off); n != test.n || err != test.err {
			t.Errorf("%d bytes at %d: %d, %v", test.size, test.off, n, err)
		}
	}
	if _, err := r.ReadAt(make([]byte, 1), -1); err == nil {
		t.Error("negative offset is accepted")
	}
}

func Example() {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		panic(err)
	}

	var file bytes.Buffer
	w, err := agefile.NewWriter(&file, identity.Recipient())
	if err != nil {
		panic(err)
	}
	if _, err := io.WriteString(w, "What flows through is not seen.\n"); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}

	r, err := agefile.NewReader(&file, identity)
	if err != nil {
		panic(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	fmt.Print(string(plain))
	// Output: What flows through is not seen.
}

func TestPayloadSize(t *testing.T) {
	id := identity(t)
	for _, size := range sizes {
		file := encrypt(t, make([]byte, size), 2, id.Recipient())
		header, err := age.ExtractHeader(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		plain, chunks, err := agefile.PayloadSize(int64(len(file) - len(header)))
		if want := max(1, (size+chunk-1)/chunk); err != nil || plain != int64(size) || chunks != int64(want) {
			t.Errorf("size %d: %d bytes in %d chunks, %v", size, plain, chunks, err)
		}
	}
	for _, payload := range []int64{math.MinInt64, -1, 0, 31, 16 + chunk + 16 + 16, math.MaxInt64} {
		if _, _, err := agefile.PayloadSize(payload); !errors.Is(err, agefile.ErrCorrupt) {
			t.Errorf("payload of %d bytes: %v", payload, err)
		}
	}
}

func ExampleNewReaderAt() {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		panic(err)
	}
	var file bytes.Buffer
	w, err := agefile.Config{Workers: 2}.NewWriter(&file, identity.Recipient())
	if err != nil {
		panic(err)
	}
	for i := range 100_000 {
		if _, err := fmt.Fprintf(w, "line %6d\n", i); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}

	r, err := agefile.NewReaderAt(bytes.NewReader(file.Bytes()), int64(file.Len()), identity)
	if err != nil {
		panic(err)
	}
	line := make([]byte, 12)
	if _, err := r.ReadAt(line, 77_777*12); err != nil {
		panic(err)
	}
	fmt.Printf("%d bytes, and in the middle: %s", r.Size(), line)
	// Output: 1200000 bytes, and in the middle: line  77777
}

func ExampleReaderAt_View() {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		panic(err)
	}
	var file bytes.Buffer
	w, err := agefile.NewWriter(&file, identity.Recipient())
	if err != nil {
		panic(err)
	}
	if _, err := io.WriteString(w, "one, two, three"); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	r, err := agefile.NewReaderAt(bytes.NewReader(file.Bytes()), int64(file.Len()), identity)
	if err != nil {
		panic(err)
	}
	seen, err := r.View(5, 3, func(p []byte) { fmt.Printf("%s\n", p) })
	fmt.Println(seen, err)
	// Output:
	// two
	// true <nil>
}

// Readers that share a cache use no more memory than one.
func ExampleCache() {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		fmt.Println(err)
		return
	}
	cache := agefile.NewCache(8)
	for _, text := range []string{"water", "stone"} {
		var file bytes.Buffer
		w, err := agefile.NewWriter(&file, identity.Recipient())
		if err != nil {
			fmt.Println(err)
			return
		}
		if _, err := io.WriteString(w, text); err != nil {
			fmt.Println(err)
		}
		if err := w.Close(); err != nil {
			fmt.Println(err)
		}
		at := bytes.NewReader(file.Bytes())
		r, err := agefile.Config{Cache: cache}.NewReaderAt(at, at.Size(), identity)
		if err != nil {
			fmt.Println(err)
			return
		}
		p := make([]byte, 3)
		n, err := r.ReadAt(p, 1)
		fmt.Printf("%q %v\n", p[:n], err)
	}
	// Output:
	// "ate" <nil>
	// "ton" <nil>
}
