package agefile_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"culvert/agefile"
)

// TestNumbersAreUsedOnce checks that a Writer does not write two spans with the same numbers.
func TestNumbersAreUsedOnce(t *testing.T) {
	for _, workers := range []int{1, 3} {
		var file bytes.Buffer
		w, err := agefile.PayloadWriter(&file, random(32), workers)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(random(2 * span)); err != nil {
			t.Fatal(err)
		}
		w.Rewind()
		_, err = w.Write(random(2 * span))
		err = errors.Join(err, w.Close())
		if err == nil || !strings.Contains(err.Error(), "internal error") {
			t.Errorf("%d workers: %v", workers, err)
		}
		if most := 2 * 16 * (chunk + 16); file.Len() > most {
			t.Errorf("%d workers: %d bytes were written, and %d were sealed under numbers of their own",
				workers, file.Len(), most)
		}
	}
}

// TestZeroValues calls the methods of zero values.
func TestZeroValues(t *testing.T) {
	var w agefile.Writer
	var r agefile.Reader
	var at agefile.ReaderAt
	p := make([]byte, 10)
	for name, call := range map[string]func() error{
		"Write":       func() error { _, err := w.Write(p); return err },
		"empty Write": func() error { _, err := w.Write(nil); return err },
		"ReadFrom":    func() error { _, err := w.ReadFrom(bytes.NewReader(p)); return err },
		"Close":       w.Close,
		"Read":        func() error { _, err := r.Read(p); return err },
		"WriteTo":     func() error { _, err := r.WriteTo(io.Discard); return err },
		"ReadAt":      func() error { _, err := at.ReadAt(p, 0); return err },
	} {
		if err := call(); err == nil || err == io.EOF {
			t.Errorf("%s of a zero value: %v", name, err)
		}
	}
	w.Abort()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if at.Size() != 0 {
		t.Error("a zero ReaderAt has a size")
	}

	id := identity(t)
	plain := random(2*span + 5)
	file := encrypt(t, plain, 2, id.Recipient())
	var cache agefile.Cache
	sealed, err := agefile.Config{Cache: &cache}.NewReaderAt(bytes.NewReader(file), int64(len(file)), id)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(plain))
	if _, err := sealed.ReadAt(got, 0); err != nil || !bytes.Equal(got, plain) {
		t.Errorf("with a zero Cache: %v", err)
	}
}

// TestNestedReaderAt reads an encrypted file inside another one.
func TestNestedReaderAt(t *testing.T) {
	id := identity(t)
	plain := random(span + 5)
	inner := encrypt(t, plain, 2, id.Recipient())
	file := encrypt(t, inner, 2, id.Recipient())
	outer, inside := agefile.Config{Cache: agefile.NewCache(1)}, agefile.Config{Cache: agefile.NewCache(1)}
	at, err := outer.NewReaderAt(bytes.NewReader(file), int64(len(file)), id)
	if err != nil {
		t.Fatal(err)
	}
	section := io.NewSectionReader(io.NewSectionReader(at, 0, at.Size()), 0, at.Size())
	for name, src := range map[string]io.ReaderAt{"file": at, "section": section} {
		if _, err := outer.NewReaderAt(src, at.Size(), id); err == nil || errors.Is(err, agefile.ErrCorrupt) {
			t.Errorf("%s with the same Cache: %v", name, err)
		}
		r, err := inside.NewReaderAt(src, at.Size(), id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := outer.NewReaderAt(r, r.Size(), id); err == nil || errors.Is(err, agefile.ErrCorrupt) {
			t.Errorf("%s with the same Cache at the third level: %v", name, err)
		}
		got := make([]byte, len(plain))
		if _, err := r.ReadAt(got, 0); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s with another Cache: %v", name, err)
		}
	}
}

// nothing is a reader that never makes progress.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }

// TestReadersWithoutProgress reads from sources that stop making progress.
func TestReadersWithoutProgress(t *testing.T) {
	id := identity(t)
	sealed := encrypt(t, random(4*span), 2, id.Recipient())
	for _, size := range []int{0, 100, 1000, span / 2, 3 * span} {
		r, err := agefile.Config{Workers: 2}.NewReader(io.MultiReader(bytes.NewReader(sealed[:size]), nothing{}), id)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if !errors.Is(err, io.ErrNoProgress) || errors.Is(err, agefile.ErrCorrupt) {
			t.Errorf("after %d bytes: %v", size, err)
		}
	}
	w, err := agefile.NewWriter(io.Discard, id.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.ReadFrom(nothing{}); err != io.ErrNoProgress {
		t.Errorf("ReadFrom: %v", err)
	}
	w.Abort()
}

// halfAt is a source with short reads that return no error.
type halfAt struct{ io.ReaderAt }

func (h halfAt) ReadAt(p []byte, off int64) (int, error) {
	return h.ReaderAt.ReadAt(p[:(len(p)+1)/2], off)
}

func TestShortReadAt(t *testing.T) {
	id := identity(t)
	plain := random(2*span + 5)
	file := encrypt(t, plain, 2, id.Recipient())
	for name, src := range map[string]io.ReaderAt{
		"half":         halfAt{bytes.NewReader(file)},
		"with the end": endAt{bytes.NewReader(file)},
	} {
		r, err := agefile.Config{Workers: 2}.NewReaderAt(src, int64(len(file)), id)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(plain))
		if n, err := r.ReadAt(got, 0); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
}

// endAt is a source that returns io.EOF together with its last byte, which is permitted.
type endAt struct{ *bytes.Reader }

func (e endAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := e.Reader.ReadAt(p, off)
	if off+int64(n) == e.Size() {
		err = io.EOF
	}
	return n, err
}

// lying returns counts larger than the slice.
type lying struct{}

func (lying) Read(p []byte) (int, error)  { return len(p) + 1, nil }
func (lying) Write(p []byte) (int, error) { return len(p) + 1, nil }

func TestImpossibleCounts(t *testing.T) {
	id := identity(t)
	sealed := encrypt(t, random(2*span), 2, id.Recipient())
	src := io.MultiReader(bytes.NewReader(sealed[:span+span/2]), lying{})
	r, err := agefile.Config{Workers: 2}.NewReader(src, id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err == nil {
		t.Error("a source that returns more than it was asked for is believed")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if r, err = agefile.NewReader(bytes.NewReader(sealed), id); err != nil {
		t.Fatal(err)
	}
	if n, err := r.WriteTo(lying{}); n != 0 || err == nil {
		t.Errorf("WriteTo: %d, %v", n, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
