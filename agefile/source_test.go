package agefile_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"culvert/agefile"
)

// TestWriteKeepsNothing changes p after Write has returned. The race detector would notice a use of it.
func TestWriteKeepsNothing(t *testing.T) {
	id := identity(t)
	for _, size := range []int{span + 1, 4 * span, 4*span + 1, 9*span - 7, 9 * span} {
		plain := random(2 * size)
		var file bytes.Buffer
		w, err := agefile.Config{Workers: 2}.NewWriter(&file, id.Recipient())
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, size)
		for i := range 2 {
			copy(p, plain[i*size:])
			if n, err := w.Write(p); n != size || err != nil {
				t.Fatalf("%d bytes, %v", n, err)
			}
			if !bytes.Equal(p, plain[i*size:][:size]) {
				t.Error("Write changes p")
			}
			clear(p)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := decrypt(file.Bytes(), 2, id); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("size %d: %d bytes, %v", size, len(got), err)
		}
	}
}

// TestFiles reads files from an offset.
func TestFiles(t *testing.T) {
	id := identity(t)
	for _, size := range []int{0, 10, span - 1, span, span + 1, 3 * span, 8*span + 100} {
		const skip = 1234
		plain := random(size)
		name := filepath.Join(t.TempDir(), "plain")
		if err := os.WriteFile(name, append(random(skip), plain...), 0o600); err != nil {
			t.Fatal(err)
		}
		src := openAt(t, name, skip)
		var file bytes.Buffer
		w, err := agefile.Config{Workers: 3}.NewWriter(&file, id.Recipient())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("begin:")); err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(w, src); n != int64(size) || err != nil {
			t.Errorf("size %d: copied %d bytes, %v", size, n, err)
		}
		if n, err := src.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("size %d: source is not at its end: %d, %v", size, n, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}

		name = filepath.Join(t.TempDir(), "sealed")
		if err := os.WriteFile(name, append(random(skip), file.Bytes()...), 0o600); err != nil {
			t.Fatal(err)
		}
		sealed := openAt(t, name, skip)
		r, err := agefile.Config{Workers: 3}.NewReader(sealed, id)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != "begin:"+string(plain) {
			t.Errorf("size %d: read %d bytes, %v", size, len(got), err)
		}
	}
}

func openAt(t *testing.T, name string, off int64) *os.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := f.Seek(off, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	return f
}

// changedFile has another size than it reports.
type changedFile struct {
	*bytes.Reader
	claim int64
	err   error // of ReadAt beyond the end
}

func (f changedFile) Seek(off int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		return f.claim, nil
	}
	return f.Reader.Seek(off, whence)
}

func (f changedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.Reader.ReadAt(p, off)
	if err != nil && f.err != nil {
		err = f.err
	}
	return n, err
}

func (changedFile) WriteTo() {} // hides the one of bytes.Reader

func TestChangedFiles(t *testing.T) {
	id := identity(t)
	broken := errors.New("the disk is broken")
	plain := random(6*span + 10)
	for _, test := range []struct {
		name  string
		claim int64
		err   error
		want  error
	}{
		{"grown", 3 * span, nil, nil},
		{"shrunk by a little", 6*span + 500, nil, nil},
		{"shrunk by a span", 8 * span, nil, io.ErrUnexpectedEOF},
		{"broken", 8 * span, broken, broken},
	} {
		t.Run(test.name, func(t *testing.T) {
			var file bytes.Buffer
			config := agefile.Config{Workers: 2, ReadAt: true}
			w, err := config.NewWriter(&file, id.Recipient())
			if err != nil {
				t.Fatal(err)
			}
			n, err := w.ReadFrom(changedFile{bytes.NewReader(plain), test.claim, test.err})
			closeErr := w.Close()
			if err == nil {
				err = closeErr
			}
			if !errors.Is(err, test.want) {
				t.Errorf("writer: %v, want %v", err, test.want)
			}
			got, readErr := decrypt(file.Bytes(), 2, id)
			if test.want == nil && (readErr != nil || n != int64(len(plain)) || !bytes.Equal(got, plain)) {
				t.Errorf("writer: wrote %d bytes, of which %d can be read, %v", n, len(got), readErr)
			}
			if test.want != nil && (!errors.Is(readErr, agefile.ErrCorrupt) || !bytes.HasPrefix(plain, got)) {
				t.Errorf("writer: a failed file reads as %d bytes, %v", len(got), readErr)
			}

			sealed := encrypt(t, plain, 2, id.Recipient())
			changed := changedFile{bytes.NewReader(sealed), test.claim, test.err}
			r, err := config.NewReader(changed, id)
			if err != nil {
				t.Fatal(err)
			}
			got, err = io.ReadAll(r)
			if test.err != nil {
				if !errors.Is(err, test.err) || !bytes.HasPrefix(plain, got) {
					t.Errorf("reader: %d bytes, %v", len(got), err)
				}
			} else if err != nil || !bytes.Equal(got, plain) {
				// The whole file is read, whatever its reported size.
				t.Errorf("reader: %d bytes, %v", len(got), err)
			}
		})
	}
}

// TestReadAfterClose closes a Reader during a Read of its source. Memory that this Read may still write to must not be
// reused, and no other Read may follow.
func TestReadAfterClose(t *testing.T) {
	id := identity(t)
	plain := random(4 * span)
	sealed := encrypt(t, plain, 2, id.Recipient())
	for range 3 {
		blocked, release := make(chan []byte), make(chan struct{})
		var late atomic.Int64
		src := io.MultiReader(bytes.NewReader(sealed[:2*span+span/3]), readerFunc(func(p []byte) (int, error) {
			if late.Add(1) == 1 {
				blocked <- p
				<-release
			}
			return min(1000, len(p)), nil
		}))
		r, err := agefile.Config{Workers: 2}.NewReader(src, id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		lent := <-blocked
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		for i := range lent {
			lent[i] = 0xEE
		}
		for range 2 {
			if got, err := decrypt(sealed, 2, id); err != nil || !bytes.Equal(got, plain) {
				t.Fatalf("%d of %d bytes, or other ones, %v", len(got), len(plain), err)
			}
		}
		if len(bytes.Trim(lent, "\xEE")) > 0 {
			t.Fatal("another file has used the memory that a Read was given")
		}
		close(release)
		agefile.WaitFetched(r)
		if n := late.Load(); n > 1 {
			t.Fatalf("%d reads of the source after Close", n-1)
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestSourceFails checks that a file cannot be completed after its source has failed.
func TestSourceFails(t *testing.T) {
	id := identity(t)
	broken := errors.New("the disk is broken")
	w, err := agefile.NewWriter(io.Discard, id.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, io.MultiReader(bytes.NewReader(random(10)), iotest.ErrReader(broken))); err != broken {
		t.Errorf("error %v", err)
	}
	if err := w.Close(); err != broken {
		t.Errorf("Close: %v", err)
	}
}
