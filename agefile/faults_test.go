package agefile_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"filippo.io/age"

	"culvert/agefile"
	"culvert/internal/testkit"
)

// place is a position in a file, and the plaintext that must be released before a fault there is noticed.
type place struct {
	name    string
	off     int
	release int
}

// places returns all kinds of places in a file of a little more than five spans.
func places(t *testing.T, file []byte) []place {
	t.Helper()
	header, err := age.ExtractHeader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	const sealed = chunk + 16
	payload := len(header) + 16
	return []place{
		{"intro", 3, 0},
		{"version", 20, 0},
		{"MAC", len(header) - 10, 0},
		{"nonce", len(header) + 5, 0},
		{"first chunk", payload + 100, 0},
		{"tag of the first chunk", payload + sealed - 1, 0},
		{"second chunk", payload + sealed, chunk},
		{"end of the first span", payload + 16*sealed - 1, span - chunk},
		{"second span", payload + 16*sealed, span},
		{"middle", payload + 40*sealed + 7, 40 * chunk},
		{"last full chunk", payload + 79*sealed + 7, 79 * chunk},
		{"last chunk", len(file) - 50, 80 * chunk},
		{"tag of the last chunk", len(file) - 1, 80 * chunk},
	}
}

// checkDamaged reads a damaged file with each reader.
func checkDamaged(t *testing.T, file []byte, id age.Identity, plain []byte, release int) {
	t.Helper()
	for _, workers := range []int{1, 3} {
		got, err := decrypt(file, workers, id)
		if !errors.Is(err, agefile.ErrCorrupt) {
			t.Errorf("Reader: error %v", err)
		}
		if !bytes.Equal(got, plain[:release]) {
			t.Errorf("Reader released %d bytes, want the first %d", len(got), release)
		}
		r, err := agefile.Config{Workers: workers}.NewReaderAt(bytes.NewReader(file), int64(len(file)), id)
		if err != nil {
			if !errors.Is(err, agefile.ErrCorrupt) {
				t.Errorf("ReaderAt: error %v", err)
			}
			continue
		}
		at := make([]byte, r.Size())
		n, err := r.ReadAt(at, 0)
		if !errors.Is(err, agefile.ErrCorrupt) || n != release || !bytes.Equal(at[:n], plain[:n]) {
			t.Errorf("ReaderAt released %d bytes, want the first %d; error %v", n, release, err)
		}
	}
}

func TestFlippedByte(t *testing.T) {
	id := identity(t)
	plain := random(5*span + 1000)
	file := encrypt(t, plain, 2, id.Recipient())
	for _, place := range places(t, file) {
		t.Run(place.name, func(t *testing.T) {
			damaged := bytes.Clone(file)
			damaged[place.off] ^= 1
			checkDamaged(t, damaged, id, plain, place.release)
		})
	}
}

func TestTruncated(t *testing.T) {
	id := identity(t)
	plain := random(5*span + 1000)
	file := encrypt(t, plain, 2, id.Recipient())
	for _, place := range places(t, file) {
		t.Run(place.name, func(t *testing.T) {
			checkDamaged(t, file[:place.off], id, plain, place.release)
		})
	}
	t.Run("between chunks", func(t *testing.T) {
		for _, chunks := range []int{0, 1, 16, 32, 80} {
			header := len(file) - (5*span + 1000 + 81*16)
			cut := file[:header+chunks*(chunk+16)]
			got, err := decrypt(cut, 2, id)
			if !errors.Is(err, agefile.ErrCorrupt) || !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != chunks*chunk {
				t.Errorf("after %d chunks: %d bytes, %v", chunks, len(got), err)
			}
		}
	})
}

// TestTrailing appends to files whose last chunk is short, full, or the last of a span.
func TestTrailing(t *testing.T) {
	id := identity(t)
	for _, size := range []int{0, 10, chunk, 3 * chunk, span, 2*span - 1, 4 * span} {
		plain := random(size)
		file := encrypt(t, plain, 2, id.Recipient())
		for _, extra := range []int{1, 20, chunk + 16, span + 500} {
			got, err := decrypt(append(bytes.Clone(file), random(extra)...), 2, id)
			if !errors.Is(err, agefile.ErrCorrupt) {
				t.Errorf("size %d and %d more bytes: error %v", size, extra, err)
			}
			if !bytes.HasPrefix(plain, got) {
				t.Errorf("size %d and %d more bytes: released what was not written", size, extra)
			}
		}
	}
}

func TestReorderedChunks(t *testing.T) {
	id := identity(t)
	plain := random(4 * span)
	file := encrypt(t, plain, 2, id.Recipient())
	payload := len(file) - 64*(chunk+16)
	at := func(i int) []byte { return file[payload+i*(chunk+16):][:chunk+16] }
	swapped := slices.Concat(file[:payload], at(1), at(0), file[payload+2*(chunk+16):])
	checkDamaged(t, swapped, id, plain, 0)
	repeated := slices.Concat(file[:payload], at(0), at(0), file[payload+2*(chunk+16):])
	checkDamaged(t, repeated, id, plain, chunk)
	left := slices.Concat(file[:payload], at(0), file[payload+2*(chunk+16):])
	checkDamaged(t, left, id, plain, chunk)
}

func TestNotAnAgeFile(t *testing.T) {
	id := identity(t)
	for name, file := range map[string]string{
		"empty":   "",
		"text":    "id,name\n1,x\n",
		"zeros":   string(make([]byte, 10<<20)),
		"no end":  "age-encryption.org/v1\n" + string(bytes.Repeat([]byte("-> X25519 abc\n"), 1<<20)),
		"version": "age-encryption.org/v2\n--- abc\n",
		"armored": "-----BEGIN AGE ENCRYPTED FILE-----\nabc\n",
	} {
		if _, err := decrypt([]byte(file), 1, id); !errors.Is(err, agefile.ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestSourceErrors(t *testing.T) {
	id := identity(t)
	plain := random(3*span + 100)
	file := encrypt(t, plain, 2, id.Recipient())
	broken := errors.New("the disk is broken")
	for _, place := range places(t, encrypt(t, random(5*span+1000), 2, id.Recipient())) {
		if place.off > len(file) {
			continue
		}
		src := io.MultiReader(bytes.NewReader(file[:place.off]), iotest.ErrReader(broken))
		r, err := agefile.Config{Workers: 2}.NewReader(src, id)
		var got []byte
		if err == nil {
			got, err = io.ReadAll(r)
		}
		if !errors.Is(err, broken) || errors.Is(err, agefile.ErrCorrupt) {
			t.Errorf("%s: error %v", place.name, err)
		}
		if len(got) != place.release || !bytes.Equal(got, plain[:len(got)]) {
			t.Errorf("%s: released %d bytes, want %d", place.name, len(got), place.release)
		}
	}
}

// limitedWriter accepts a number of bytes, then fails or writes short without an error.
type limitedWriter struct {
	left int
	err  error
	n    int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	w.n += n
	if n < len(p) {
		return n, w.err
	}
	return n, nil
}

func TestSinkErrors(t *testing.T) {
	id := identity(t)
	full := errors.New("no space left")
	for _, size := range []int{10, span - 5, 2 * span, 7 * span} {
		for _, limit := range []int{0, 100, 300, span, 3 * span} {
			for _, fail := range []error{full, nil} {
				want := fail
				if fail == nil {
					want = io.ErrShortWrite
				}
				sink := &limitedWriter{left: limit, err: fail}
				w, err := agefile.Config{Workers: 2}.NewWriter(sink, id.Recipient())
				if err == nil {
					_, err = w.Write(random(size))
					closeErr := w.Close()
					if err == nil {
						err = closeErr
					}
					if err != nil && closeErr == nil {
						t.Errorf("size %d, limit %d: Close forgets the error", size, limit)
					}
				}
				if complete := limit >= len(encrypt(t, random(size), 1, id.Recipient())); complete {
					if err != nil {
						t.Errorf("size %d, limit %d: %v", size, limit, err)
					}
				} else if !errors.Is(err, want) {
					t.Errorf("size %d, limit %d: error %v, want %v", size, limit, err, want)
				}
			}
		}
	}
}

func TestWriteAfterClose(t *testing.T) {
	id := identity(t)
	for _, size := range []int{0, 3 * span} {
		var file bytes.Buffer
		w, err := agefile.NewWriter(&file, id.Recipient())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(random(size)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		length := file.Len()
		if _, err := w.Write([]byte("x")); err == nil {
			t.Error("Write after Close succeeds")
		}
		if err := w.Close(); err == nil {
			t.Error("second Close succeeds")
		}
		w.Abort()
		if file.Len() != length {
			t.Error("a closed writer writes")
		}
	}
}

// TestAbort checks that readers do not take an aborted file for a complete one.
func TestAbort(t *testing.T) {
	id := identity(t)
	for _, size := range []int{0, 10, chunk, span, 10 * span} {
		var file bytes.Buffer
		w, err := agefile.Config{Workers: 2}.NewWriter(&file, id.Recipient())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(random(size)); err != nil {
			t.Fatal(err)
		}
		w.Abort()
		if err := w.Close(); err == nil {
			t.Error("Close after Abort succeeds")
		}
		if _, err := decrypt(file.Bytes(), 1, id); !errors.Is(err, agefile.ErrCorrupt) {
			t.Errorf("size %d: aborted file reads with %v", size, err)
		}
	}
}

// TestCloseEarly closes readers in the middle of a file. TestMain finds leaked goroutines.
func TestCloseEarly(t *testing.T) {
	id := identity(t)
	file := encrypt(t, random(20*span), 2, id.Recipient())
	for _, n := range []int64{0, 1, span, 5*span + 1} {
		r, err := agefile.Config{Workers: 3}.NewReader(bytes.NewReader(file), id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, r, n); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := r.Read(make([]byte, 1)); err == nil || err == io.EOF {
			t.Errorf("Read after Close: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestReaderAtForgery changes the source of a ReaderAt after it was opened.
func TestReaderAtForgery(t *testing.T) {
	key := random(32)
	long, short := encryptPayload(t, random(40*chunk), key), encryptPayload(t, random(20*chunk), key)
	src := bytes.Clone(long)
	r, err := agefile.PayloadReaderAt(bytes.NewReader(src), int64(len(src)), key, 1)
	if err != nil {
		t.Fatal(err)
	}
	copy(src, short) // chunk 19 is now authentic, but marked as the last
	got := make([]byte, 40*chunk)
	if n, err := r.ReadAt(got, 0); !errors.Is(err, agefile.ErrCorrupt) || n != 19*chunk {
		t.Errorf("last chunk in the middle: %d bytes, %v", n, err)
	}
	if n, err := r.ReadAt(got[:chunk], 19*chunk); !errors.Is(err, agefile.ErrCorrupt) || n != 0 {
		t.Errorf("last chunk in the middle, alone: %d bytes, %v", n, err)
	}
}

func TestAllocs(t *testing.T) {
	key := random(32)
	plain := random(8 * span)
	for _, workers := range []int{1, 3} {
		w, err := agefile.PayloadWriter(io.Discard, key, workers)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(plain); err != nil {
			t.Fatal(err)
		}
		testkit.Allocs(t, 0, func() {
			if _, err := w.Write(plain); err != nil {
				t.Error(err)
			}
		})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}

		long := encryptPayload(t, bytes.Repeat(plain, allocRounds), key)
		r, err := agefile.PayloadReader(bytes.NewBuffer(long), key, workers)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, span)
		for range 8 {
			if _, err := io.ReadFull(r, buf); err != nil {
				t.Fatal(err)
			}
		}
		testkit.Allocs(t, 0, func() {
			if _, err := io.ReadFull(r, buf); err != nil {
				t.Error(err)
			}
		})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}

		sealed := encryptPayload(t, plain, key)
		at, err := agefile.PayloadReaderAt(bytes.NewReader(sealed), int64(len(sealed)), key, workers)
		if err != nil {
			t.Fatal(err)
		}
		off := int64(0)
		readAt := func() {
			if _, err := at.ReadAt(buf[:1000], off%(8*span-1000)); err != nil {
				t.Error(err)
			}
			off += chunk + 1
		}
		for range 2 * workers {
			readAt()
		}
		testkit.Allocs(t, 0, readAt)
	}
}

func encryptPayload(t *testing.T, plain, key []byte) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := agefile.PayloadWriter(&file, key, 1)
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
