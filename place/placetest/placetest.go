// Package placetest is a conformance test for implementations of [place.Place].
//
//	func TestPlace(t *testing.T) {
//		placetest.Run(t, func(t *testing.T) place.Place { return openEmptyPlace(t) })
//	}
package placetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"culvert/place"
)

// Run checks everything that [place.Place] promises, each time on a new, empty place. The function open registers with
// t.Cleanup what has to be closed; no goroutine may be left after that.
func Run(t *testing.T, open func(t *testing.T) place.Place) {
	t.Run("Whole", func(t *testing.T) { runAll(t, open) })
	t.Run("Sub", func(t *testing.T) {
		runAll(t, func(t *testing.T) place.Place {
			p, err := place.Sub(open(t), "some/directory")
			if err != nil {
				t.Fatal(err)
			}
			return p
		})
	})
}

func runAll(t *testing.T, open func(t *testing.T) place.Place) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, place.Place)
	}{
		{"Appears", testAppears},
		{"Empty", testEmpty},
		{"ReadAt", testReadAt},
		{"ReadDir", testReadDir},
		{"CreateExisting", testCreateExisting},
		{"CreateTwice", testCreateTwice},
		{"Replace", testReplace},
		{"Discard", testDiscard},
		{"DiscardBeside", testDiscardBeside},
		{"Closed", testClosed},
		{"ContextBefore", testContextBefore},
		{"ContextDuring", testContextDuring},
		{"Names", testNames},
		{"Concurrent", testConcurrent},
		{"Remove", testRemove},
	} {
		t.Run(part.name, func(t *testing.T) {
			leaks := goleak.IgnoreCurrent()
			t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
			part.run(t, open(t))
		})
	}
}

type create func(context.Context, string) (place.File, error)

// write writes a file in pieces of odd sizes.
func write(t *testing.T, create create, name string, content []byte) error {
	t.Helper()
	f, err := create(t.Context(), name)
	if err != nil {
		return err
	}
	defer func() {
		if err := f.Discard(); err != nil {
			t.Errorf("Discard of %s: %v", name, err)
		}
	}()
	for size := 1; len(content) > 0; size = size*3 + 1 {
		piece := content[:min(size, len(content))]
		n, err := f.Write(piece)
		if err != nil {
			return err
		}
		if n != len(piece) {
			return io.ErrShortWrite
		}
		content = content[n:]
	}
	return f.Commit()
}

func mustWrite(t *testing.T, create create, name string, content []byte) {
	t.Helper()
	if err := write(t, create, name, content); err != nil {
		t.Fatalf("writing %s: %v", name, err)
	}
}

func wantContent(t *testing.T, p place.Place, name string, want []byte) {
	t.Helper()
	got, err := fs.ReadFile(p, name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes, %v; want %d bytes", name, len(got), err, len(want))
	}
}

func wantNone(t *testing.T, p place.Place, name string) {
	t.Helper()
	if info, err := fs.Stat(p, name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat of %s returns %v, %v; want fs.ErrNotExist", name, info, err)
	}
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s returns %v; want %v", what, err, want)
	}
}

// large is larger than what an implementation sends at a time.
func large() []byte {
	content := make([]byte, 3<<20+17)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(content) // never fails
	return content
}

func testAppears(t *testing.T, p place.Place) {
	f, err := p.Create(t.Context(), "file")
	if err != nil {
		t.Fatal(err)
	}
	content := large()
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	wantNone(t, p, "file")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	wantContent(t, p, "file", content)
}

func testEmpty(t *testing.T, p place.Place) {
	mustWrite(t, p.Create, "empty", nil)
	wantContent(t, p, "empty", nil)
}

func testReadAt(t *testing.T, p place.Place) {
	content := large()
	mustWrite(t, p.Create, "file", content)
	f, err := p.Open("file")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	info, err := f.Stat()
	if err != nil || info.Size() != int64(len(content)) || !info.Mode().IsRegular() {
		t.Fatalf("Stat returns %v, %v", info, err)
	}
	src, ok := f.(io.ReaderAt)
	if !ok {
		t.Fatal("the file is no io.ReaderAt")
	}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 0))
			for range 10 {
				off := random.IntN(len(content))
				got := make([]byte, 1+random.IntN(300_000))
				n, err := src.ReadAt(got, int64(off))
				want := content[off:min(off+len(got), len(content))]
				if !bytes.Equal(got[:n], want) || (err != nil && err != io.EOF) || (n < len(got)) != (err == io.EOF) {
					t.Errorf("ReadAt of %d bytes at %d returns %d, %v", len(got), off, n, err)
				}
			}
		})
	}
	wait.Wait()
}

func testReadDir(t *testing.T, p place.Place) {
	for _, name := range []string{"a", "dir/b", "dir/deeper/c"} {
		mustWrite(t, p.Create, name, []byte(name))
	}
	if err := fstest.TestFS(p, "a", "dir/b", "dir/deeper/c"); err != nil {
		t.Error(err)
	}
}

func testCreateExisting(t *testing.T, p place.Place) {
	mustWrite(t, p.Create, "file", []byte("first"))
	wantError(t, "Create of an existing file", write(t, p.Create, "file", []byte("second")), fs.ErrExist)
	wantContent(t, p, "file", []byte("first"))
}

func testCreateTwice(t *testing.T, p place.Place) {
	var files [2]place.File
	for i := range files {
		f, err := p.Create(t.Context(), "dir/file")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprint(f, i); err != nil {
			t.Fatal(err)
		}
		files[i] = f
	}
	if err := files[1].Commit(); err != nil {
		t.Error(err)
	}
	wantError(t, "Commit of the later file", files[0].Commit(), fs.ErrExist)
	if err := files[0].Discard(); err != nil {
		t.Error(err)
	}
	wantContent(t, p, "dir/file", []byte("1"))
}

func testReplace(t *testing.T, p place.Place) {
	for _, content := range []string{"first", "second, which is longer", "3"} {
		mustWrite(t, p.Replace, "dir/file", []byte(content))
		wantContent(t, p, "dir/file", []byte(content))
	}
}

func testDiscard(t *testing.T, p place.Place) {
	mustWrite(t, p.Create, "old/kept", []byte("kept"))
	for _, name := range []string{"file", "old/file", "new/deeper/file"} {
		f, err := p.Create(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, "text"); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := f.Discard(); err != nil {
				t.Error(err)
			}
		}
		wantNone(t, p, name)
	}
	wantNone(t, p, "new")
	wantContent(t, p, "old/kept", []byte("kept"))
}

// testDiscardBeside discards the file that has made the directory of another one.
func testDiscardBeside(t *testing.T, p place.Place) {
	var files [2]place.File
	for i := range files {
		f, err := p.Create(t.Context(), fmt.Sprintf("new/deeper/file%d", i))
		if err != nil {
			t.Fatal(err)
		}
		files[i] = f
	}
	if err := files[0].Discard(); err != nil {
		t.Error(err)
	}
	if err := files[1].Commit(); err != nil {
		t.Error(err)
	}
	wantContent(t, p, "new/deeper/file1", nil)
}

func testClosed(t *testing.T, p place.Place) {
	ends := map[string]func(place.File) error{"Commit": place.File.Commit, "Discard": place.File.Discard}
	for name, end := range ends {
		f, err := p.Create(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := end(f); err != nil {
			t.Error(err)
		}
		_, err = f.Write([]byte("more"))
		wantError(t, "Write after "+name, err, fs.ErrClosed)
		wantError(t, "Commit after "+name, f.Commit(), fs.ErrClosed)
		if err := f.Discard(); err != nil {
			t.Errorf("Discard after %s returns %v", name, err)
		}
	}
	wantContent(t, p, "Commit", nil)
	wantNone(t, p, "Discard")
}

var errEnded = errors.New("the context has ended")

func testContextBefore(t *testing.T, p place.Place) {
	mustWrite(t, p.Create, "old", nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnded)
	if f, err := p.Create(ctx, "dir/file"); err == nil {
		_, err = f.Write(nil)
		if commitErr := f.Commit(); err == nil && commitErr == nil {
			t.Error("a file is committed with a context that has ended")
		}
		if err := f.Discard(); err != nil {
			t.Error(err)
		}
	}
	wantNone(t, p, "dir")
	if err := p.Remove(ctx, "old"); err == nil {
		t.Error("a file is removed with a context that has ended")
	}
	wantContent(t, p, "old", nil)
}

func testContextDuring(t *testing.T, p place.Place) {
	ctx, cancel := context.WithCancelCause(t.Context())
	f, err := p.Create(ctx, "dir/file")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "text"); err != nil {
		t.Error(err)
	}
	cancel(errEnded)
	if _, err := f.Write(large()); err == nil {
		t.Error("Write succeeds after the context has ended")
	}
	if err := f.Commit(); err == nil {
		t.Error("Commit succeeds after the context has ended")
	}
	if err := f.Discard(); err != nil {
		t.Error(err)
	}
	wantNone(t, p, "dir/file")
	wantNone(t, p, "dir")
}

func testNames(t *testing.T, p place.Place) {
	for _, name := range []string{"", ".", "..", "/a", "a/", "a//b", "a/../b", "./a", "../a"} {
		for _, create := range []create{p.Create, p.Replace} {
			if _, err := create(t.Context(), name); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("Create of %q returns %v; want fs.ErrInvalid", name, err)
			}
		}
	}
	for _, name := range []string{"ä ö ü.csv", "a-b_c+d,e;f=g@h", "orders.csv.zst.age"} {
		mustWrite(t, p.Create, name, []byte(name))
		wantContent(t, p, name, []byte(name))
	}
}

func testConcurrent(t *testing.T, p place.Place) {
	content := large()
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			name := fmt.Sprintf("dir%d/file%d", i%3, i)
			if err := write(t, p.Create, name, content[i:len(content)-i]); err != nil {
				t.Errorf("writing %s: %v", name, err)
				return
			}
			wantContent(t, p, name, content[i:len(content)-i])
		})
	}
	wait.Wait()
}

func testRemove(t *testing.T, p place.Place) {
	mustWrite(t, p.Create, "file", []byte("first"))
	if err := p.Remove(t.Context(), "file"); err != nil {
		t.Error(err)
	}
	wantNone(t, p, "file")
	mustWrite(t, p.Create, "file", []byte("second"))
	wantContent(t, p, "file", []byte("second"))
}
