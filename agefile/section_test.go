package agefile_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"culvert/agefile"
)

// upperFile filters Read. It inherits ReadAt, Seek and all other methods from the file.
type upperFile struct{ *os.File }

func (f upperFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	copy(p, bytes.ToUpper(p[:n]))
	return n, err
}

// upperReader is the same for a bytes.Reader.
type upperReader struct{ *bytes.Reader }

func (f upperReader) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	copy(p, bytes.ToUpper(p[:n]))
	return n, err
}

// letters returns random letters from a to z.
func letters(size int) []byte {
	p := make([]byte, size)
	rnd := rand.New(rand.NewPCG(1, uint64(size)))
	for i := range p {
		p[i] = 'a' + byte(rnd.IntN(26))
	}
	return p
}

func writeFile(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestFilterIsNotBypassed encrypts types that embed a file and have their own Read.
func TestFilterIsNotBypassed(t *testing.T) {
	id := identity(t)
	plain := letters(5*span + 3)
	name := writeFile(t, plain)
	for kind, src := range map[string]io.Reader{
		"file":   upperFile{openAt(t, name, 0)},
		"memory": upperReader{bytes.NewReader(plain)},
	} {
		var file bytes.Buffer
		w, err := agefile.Config{Workers: 2}.NewWriter(&file, id.Recipient())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := w.ReadFrom(src); n != int64(len(plain)) || err != nil {
			t.Errorf("%s: %d bytes, %v", kind, n, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := decrypt(file.Bytes(), 2, id); err != nil || !bytes.Equal(got, bytes.ToUpper(plain)) {
			t.Errorf("%s: what Read gives is not what was encrypted: %d bytes, %v", kind, len(got), err)
		}
	}
}

// maskedFile unmasks an encrypted file whose bytes were XORed with a constant.
type maskedFile struct{ *bytes.Reader }

func (f maskedFile) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	for i := range p[:n] {
		p[i] ^= 0x5A
	}
	return n, err
}

func TestReaderUsesFilter(t *testing.T) {
	id := identity(t)
	plain := random(4*span + 3)
	sealed := encrypt(t, plain, 2, id.Recipient())
	for i := range sealed {
		sealed[i] ^= 0x5A
	}
	r, err := agefile.Config{Workers: 2}.NewReader(maskedFile{bytes.NewReader(sealed)}, id)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("%d of %d bytes, %v", len(got), len(plain), err)
	}
}

// askedFile records whether ReadAt is called.
type askedFile struct {
	changedFile
	readAt *atomic.Bool
}

func (f askedFile) ReadAt(p []byte, off int64) (int, error) {
	f.readAt.Store(true)
	return f.changedFile.ReadAt(p, off)
}

// TestReadAtOfSources checks which sources are read with ReadAt, and that their offset ends at their end.
func TestReadAtOfSources(t *testing.T) {
	id := identity(t)
	plain := letters(9*span + 3)
	name := writeFile(t, plain)
	// While a source is read with ReadAt, its offset does not change. watch waits until the first span is written,
	// when the queue is full and most of the source is unread.
	for kind, src := range map[string]io.ReadSeeker{
		"file":    openAt(t, name, 0),
		"section": io.NewSectionReader(openAt(t, name, 0), 0, int64(len(plain))),
		"memory":  bytes.NewReader(plain),
		"text":    strings.NewReader(string(plain)),
	} {
		watch := &offsetWriter{src: src}
		w, err := agefile.Config{Workers: 2}.NewWriter(watch, id.Recipient())
		if err != nil {
			t.Fatal(err)
		}
		if kind == "file" {
			_, err = io.Copy(w, src) // in which a file gives itself to ReadFrom as a type of package os
		} else {
			_, err = w.ReadFrom(src)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if watch.first != 0 {
			t.Errorf("%s: %d bytes were read one after the other", kind, watch.first)
		}
		if off, err := src.Seek(0, io.SeekCurrent); err != nil || off != int64(len(plain)) {
			t.Errorf("%s: left at offset %d, %v", kind, off, err)
		}
	}
	for _, asked := range []bool{false, true} {
		var readAt atomic.Bool
		src := askedFile{changedFile{bytes.NewReader(plain), int64(len(plain)), nil}, &readAt}
		w, err := agefile.Config{Workers: 2, ReadAt: asked}.NewWriter(io.Discard, id.Recipient())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.ReadFrom(src); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if readAt.Load() != asked {
			t.Errorf("asked for ReadAt: %v, and it was called: %v", asked, readAt.Load())
		}
	}
}

// offsetWriter records the offset of its source when the first span is written, after the header.
type offsetWriter struct {
	src    io.Seeker
	writes int
	first  int64
	err    error
}

func (w *offsetWriter) Write(p []byte) (int, error) {
	if w.writes++; w.writes == 2 {
		w.first, w.err = w.src.Seek(0, io.SeekCurrent)
	}
	return len(p), w.err
}
