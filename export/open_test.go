package export_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"filippo.io/age"
	"filippo.io/age/armor"

	"culvert/agefile"
	"culvert/export"
	"culvert/internal/compress"
)

func newIdentity(t *testing.T) *age.X25519Identity {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

// kind is a kind of file that an export writes.
type kind struct {
	name string
	plan export.Plan
}

func kinds(identity *age.X25519Identity) []kind {
	var all []kind
	for _, compression := range []export.Compression{export.Zstd, export.Gzip, export.None} {
		for _, recipients := range [][]age.Recipient{nil, {identity.Recipient()}} {
			plan := export.Plan{Compression: compression, Recipients: recipients, Unencrypted: recipients == nil}
			all = append(all, kind{"orders" + plan.Extension(), plan})
		}
	}
	return all
}

// written returns a file and its text.
func (k kind) written(t *testing.T) (file, text []byte) {
	t.Helper()
	src := &generated{rows: 60_000}
	for _, plan := range []struct {
		export.Plan
		to *[]byte
	}{{k.plan, &file}, {export.Plan{Compression: export.None, Unencrypted: true}, &text}} {
		var buf bytes.Buffer
		plan.Ordered = true
		if _, err := plan.Table(t.Context(), &buf, src, "orders"); err != nil {
			t.Fatal(err)
		}
		*plan.to = buf.Bytes()
	}
	return file, text
}

func TestOpen(t *testing.T) {
	identity := newIdentity(t)
	for _, k := range kinds(identity) {
		t.Run(k.name, func(t *testing.T) {
			file, text := k.written(t)
			files := fstest.MapFS{k.name: {Data: file}}
			config := export.ReadConfig{Identities: []age.Identity{newIdentity(t), identity}}
			for name, open := range map[string]func() (*export.Reader, error){
				"file":   func() (*export.Reader, error) { return config.Open(files, k.name) },
				"memory": func() (*export.Reader, error) { return config.NewReader(bytes.NewReader(file), k.name) },
				"stream": func() (*export.Reader, error) { return config.NewReader(bytes.NewBuffer(file), "") },
				"dribble": func() (*export.Reader, error) {
					return config.NewReader(iotest.HalfReader(bytes.NewReader(file)), "")
				},
			} {
				r, err := open()
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				got, err := io.ReadAll(r)
				if err != nil || !bytes.Equal(got, text) {
					t.Errorf("%s: %d bytes, %v; want %d", name, len(got), err, len(text))
				}
				if r.Encrypted() == k.plan.Unencrypted || r.Compression() != k.plan.Compression || r.Armored() {
					t.Errorf("%s: it is %v, %v, %v", name, r.Encrypted(), r.Compression(), r.Armored())
				}
				if want := !k.plan.Unencrypted || k.plan.Compression == export.Zstd; r.Complete() != want {
					t.Errorf("%s: Complete is %v", name, r.Complete())
				}
				if err := r.Close(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// TestOpenDamaged cuts files and flips bits in them.
func TestOpenDamaged(t *testing.T) {
	identity := newIdentity(t)
	read := func(name string, file []byte) (int64, error) {
		r, err := export.Open(fstest.MapFS{name: {Data: file}}, name, identity)
		if err != nil {
			return 0, err
		}
		n, err := io.Copy(io.Discard, r)
		return n, errors.Join(err, r.Close())
	}
	for _, k := range kinds(identity) {
		if k.plan.Unencrypted && k.plan.Compression == export.None {
			continue
		}
		file, text := k.written(t)
		random := rand.New(rand.NewPCG(1, 2))
		for _, at := range []int{0, 1, 3, 30, 200, random.IntN(len(file)), len(file) / 2, len(file) - 1} {
			flipped := bytes.Clone(file)
			flipped[at] ^= 0x10
			for what, damaged := range map[string][]byte{"cut": file[:at], "flipped": flipped} {
				n, err := read(k.name, damaged)
				known := errors.Is(err, agefile.ErrCorrupt) || errors.Is(err, export.ErrCorrupt)
				if noMatch := new(age.NoIdentityMatchError); errors.As(err, &noMatch) {
					known = true
				}
				// A bit of a gzip header, such as its time, is not part of the text.
				harmless := k.plan.Unencrypted && err == nil && n == int64(len(text))
				if !known && !harmless {
					t.Errorf("%s, %s at %d: %d bytes, %v", k.name, what, at, n, err)
				}
			}
		}
	}
}

func TestOpenRefused(t *testing.T) {
	identity := newIdentity(t)
	sealed, _ := kinds(identity)[1].written(t)
	for name, test := range map[string]struct {
		file []byte
		want error
	}{
		"orders.csv.age":     {[]byte("id\n"), agefile.ErrCorrupt},
		"orders.csv.asc":     {[]byte("id\n"), agefile.ErrCorrupt},
		"orders.csv.zst":     {[]byte("id\n"), export.ErrCorrupt},
		"orders.csv.gz":      {nil, export.ErrCorrupt},
		"crlf.age":           {bytes.Replace(sealed, []byte("\n"), []byte("\r\n"), 1), export.ErrMangled},
		"utf16":              {[]byte("\xff\xfea\x00g\x00e\x00-\x00e\x00n\x00c\x00"), export.ErrMangled},
		"begin.age":          {[]byte("age-encryption.org/v1\n-> X25519"), agefile.ErrCorrupt},
		"orders.csv.gz.age":  {seal(t, identity, []byte("id\n")), export.ErrCorrupt},
		"orders.csv.zst.age": {seal(t, identity, nil), export.ErrCorrupt},
	} {
		if _, err := export.Open(fstest.MapFS{name: {Data: test.file}}, name, identity); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	var noMatch *age.NoIdentityMatchError
	_, err := export.Open(fstest.MapFS{"x.zst.age": {Data: sealed}}, "x.zst.age", newIdentity(t))
	if !errors.As(err, &noMatch) {
		t.Errorf("with another identity: %v", err)
	}
}

func seal(t *testing.T, identity *age.X25519Identity, content []byte) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := agefile.NewWriter(&file, identity.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func armored(t *testing.T, file []byte) []byte {
	t.Helper()
	var text bytes.Buffer
	w := armor.NewWriter(&text)
	if _, err := w.Write(file); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func TestOpenArmored(t *testing.T) {
	identity := newIdentity(t)
	file := append([]byte("\n \n"), armored(t, seal(t, identity, []byte("id\n")))...)
	r, err := export.Open(fstest.MapFS{"x.asc": {Data: file}}, "x.asc", identity)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if string(text) != "id\n" || err != nil || !r.Armored() || r.Close() != nil {
		t.Errorf("%q, %v", text, err)
	}
}

// TestReaderAt reads at random, by several goroutines, with a cache that is smaller than the text.
func TestReaderAt(t *testing.T) {
	identity := newIdentity(t)
	cache := export.NewCache(4 << 20)
	for i, k := range kinds(identity) {
		t.Run(k.name, func(t *testing.T) {
			file, text := k.written(t)
			config := export.ReadConfig{Cache: cache, Key: i}
			if !k.plan.Unencrypted {
				config.Identities = []age.Identity{identity}
			}
			r, err := config.NewReaderAt(bytes.NewReader(file), int64(len(file)))
			if k.plan.Compression == export.Gzip {
				if !errors.Is(err, export.ErrSequential) {
					t.Fatalf("the error is %v", err)
				}
				// It reads what is compressed.
				packed := io.NewSectionReader(r, 0, r.Size())
				inner, err := export.ReadConfig{}.NewReader(packed, "")
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(inner)
				if err != nil || !bytes.Equal(got, text) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Size() != int64(len(text)) || r.Encrypted() == k.plan.Unencrypted ||
				r.Unpacked() != (k.plan.Compression == export.Zstd) {
				t.Errorf("%d bytes, %v, %v", r.Size(), r.Encrypted(), r.Unpacked())
			}
			var wait sync.WaitGroup
			for seed := range uint64(4) {
				wait.Go(func() {
					random := rand.New(rand.NewPCG(seed, 1))
					for range 20 {
						off := random.IntN(len(text) + 10)
						got := make([]byte, random.IntN(500_000))
						n, err := r.ReadAt(got, int64(off))
						want := text[min(off, len(text)):min(off+len(got), len(text))]
						if err == io.EOF && n < len(got) {
							err = nil
						}
						if !bytes.Equal(got[:n], want) || err != nil {
							t.Errorf("%d bytes at %d: %d, %v", len(got), off, n, err)
						}
					}
				})
			}
			wait.Wait()
			if _, err := r.ReadAt(make([]byte, 1), -1); err == nil || err == io.EOF {
				t.Errorf("at -1: %v", err)
			}
		})
	}
	if cache.Memory() > 4<<20 {
		t.Errorf("the cache has %d bytes", cache.Memory())
	}
}

// countedAt counts the calls of a source.
type countedAt struct {
	io.ReaderAt
	calls int
}

func (c *countedAt) ReadAt(p []byte, off int64) (int, error) {
	c.calls++
	return c.ReaderAt.ReadAt(p, off)
}

// TestFramesOutlastScan reads frames of several times the memory in order, and then again one that is read here and
// there.
func TestFramesOutlastScan(t *testing.T) {
	const frames, frameSize, memory = 40, 100_000, 1 << 20
	encoder, trailer := compress.NewEncoder(compress.Zstd, 1), compress.NewTrailer(compress.Zstd)
	random := rand.NewChaCha8([32]byte{})
	var text, file bytes.Buffer
	for range frames {
		frame := make([]byte, frameSize)
		random.Read(frame)
		text.Write(frame)
		packed := encoder.AppendFrame(nil, frame)
		file.Write(packed)
		trailer.Add(int64(len(packed)), frameSize)
	}
	if _, err := trailer.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	src := &countedAt{ReaderAt: bytes.NewReader(file.Bytes())}
	r, err := export.ReadConfig{Cache: export.NewCache(memory)}.NewReaderAt(src, int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	read := func(off, size int) {
		t.Helper()
		got := make([]byte, size)
		if _, err := r.ReadAt(got, int64(off)); err != nil || !bytes.Equal(got, text.Bytes()[off:][:size]) {
			t.Errorf("%d bytes at %d: error %v, or they differ", size, off, err)
		}
	}
	read(7*frameSize+500, 100)
	src.calls = 0
	for off := 20 * frameSize; off < frames*frameSize; off += frameSize / 5 {
		read(off, frameSize/5)
	}
	if src.calls != frames-20 {
		t.Errorf("%d calls for %d frames", src.calls, frames-20)
	}
	src.calls = 0
	read(7*frameSize+900, 100)
	if src.calls != 0 {
		t.Errorf("the frame was read again")
	}
}

func TestReaderAtRefused(t *testing.T) {
	identity := newIdentity(t)
	file := seal(t, identity, []byte("id\n"))
	for name, test := range map[string]struct {
		file []byte
		want error
	}{
		"armored": {armored(t, file), export.ErrSequential},
		"cut":     {file[:len(file)-1], agefile.ErrCorrupt},
		"header":  {file[:40], agefile.ErrCorrupt},
	} {
		r, err := export.ReadConfig{Identities: []age.Identity{identity}}.
			NewReaderAt(bytes.NewReader(test.file), int64(len(test.file)))
		if r != nil || !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	if _, err := (export.ReadConfig{}).NewReaderAt(bytes.NewReader(file), int64(len(file))); err == nil {
		t.Error("it is read without an identity")
	}
}

func TestInspect(t *testing.T) {
	identity := newIdentity(t)
	for _, k := range kinds(identity) {
		t.Run(k.name, func(t *testing.T) {
			file, text := k.written(t)
			for name, src := range map[string]io.Reader{
				"memory": bytes.NewReader(file), "stream": bytes.NewBuffer(file),
			} {
				i, err := export.ReadConfig{Identities: []age.Identity{identity}}.Inspect(src)
				if err != nil || i.Size != int64(len(file)) || (i.Age == nil) != k.plan.Unencrypted {
					t.Fatalf("%s: %+v, %v", name, i, err)
				}
				if i.Age != nil && (fmt.Sprint(i.Age.Recipients) != "[X25519]" || i.Age.PostQuantum != "no" ||
					i.Age.Data < 1 || i.Age.Data >= i.Size-i.Age.Header) {
					t.Errorf("%s: %+v", name, i.Age)
				}
				if name == "stream" {
					continue
				}
				if i.Content == nil || i.Content.Compression != k.plan.Compression.String() ||
					k.plan.Compression == export.Zstd && i.Content.Text != int64(len(text)) {
					t.Errorf("%+v", i.Content)
				}
			}
			if k.plan.Unencrypted {
				return
			}
			i, err := export.ReadConfig{Identities: []age.Identity{newIdentity(t)}}.Inspect(bytes.NewReader(file))
			if noMatch := new(age.NoIdentityMatchError); !errors.As(err, &noMatch) || i.Age == nil || i.Content != nil {
				t.Errorf("with another identity: %+v, %v", i, err)
			}
		})
	}
}
