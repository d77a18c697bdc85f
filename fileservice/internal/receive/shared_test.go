package receive

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"culvert/fileservice"
)

// What follows is done by somebody else who may write to the directory.

// TestReceiveExchanged puts a link to another file, or a file, in the place of what is received.
func TestReceiveExchanged(t *testing.T) {
	for name, exchange := range map[string]func(precious, part string) error{
		"link": func(_, part string) error { return os.Symlink("precious", part) },
		"file": func(_, part string) error { return os.WriteFile(part, []byte("another"), 0o600) },
		"name": os.Link,
		"none": func(string, string) error { return nil },
	} {
		for _, overwrite := range []bool{false, true} {
			dir := t.TempDir()
			root := openTestRoot(t, dir)
			precious := filepath.Join(dir, "precious")
			if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			before, err := os.Stat(precious)
			if err != nil {
				t.Fatal(err)
			}
			s := newSample(fileservice.BlockSize + 1)
			r, err := Open(root, publisherIn(t, root), "file", s.version, overwrite)
			if err != nil {
				t.Fatal(err)
			}
			s.write(t, r, 0, 1)
			part := filepath.Join(dir, "file.culvert.part")
			if err := errors.Join(os.Remove(part), exchange(precious, part)); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Finish(s.root(), 0o666); err == nil {
				t.Errorf("%s: it is complete", name)
			}
			if err := r.Close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			after, err := os.Stat(precious)
			if err != nil || after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) {
				t.Errorf("%s: %v and %v, %v", name, before, after, err)
			}
			seeOnly(t, dir, "precious")
		}
	}
}

// TestReceiveSwapped exchanges the names all the time.
func TestReceiveSwapped(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	root := openTestRoot(t, dir)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(outside, "secret")
	inside := filepath.Join(dir, "secret")
	for _, name := range []string{secret, inside} {
		if err := os.WriteFile(name, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	publisher := publisherIn(t, root)
	s := newSample(2*fileservice.BlockSize + 1)
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		// The errors are those of the race.
		swap := func(name, target string) {
			link := filepath.Join(dir, "link")
			_ = os.Symlink(target, link)
			_ = os.Rename(link, filepath.Join(dir, name))
		}
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			swap([]string{"sub/file", "sub/file.culvert.part", "sub/file.culvert.journal"}[i%3],
				[]string{secret, "../secret"}[i/3%2])
			if i%4 == 0 {
				_ = os.Remove(filepath.Join(dir, "sub/file.culvert.part"))
				_ = os.Remove(filepath.Join(dir, "sub/file"))
			}
			if i%50 == 0 {
				_ = os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "away"))
				_ = os.Symlink(outside, filepath.Join(dir, "sub"))
				_ = os.Remove(filepath.Join(dir, "sub"))
				_ = os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "sub"))
			}
		}
	})
	for i := range 300 {
		r, err := Open(root, publisher, "sub/file", s.version, i%2 == 0)
		if err != nil {
			continue
		}
		for n := range int64(3) {
			_ = r.WriteBlock(n, s.block(n), s.sum(n))
			if n == int64(i%4) {
				_ = r.Commit()
			}
		}
		_, _ = r.Finish(s.root(), 0o666)
		_ = r.Close()
	}
	close(stop)
	swapper.Wait()
	seeOnly(t, outside, "secret")
	for _, name := range []string{secret, inside} {
		got, err := os.ReadFile(name)
		info, statErr := os.Stat(name)
		if err := errors.Join(err, statErr); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, []byte("secret")) || info.Mode() != 0o600 {
			t.Errorf("%s has changed: %v", name, info)
		}
	}
}

// TestReceiveLinked begins with an unfinished file that has another name, too.
func TestReceiveLinked(t *testing.T) {
	dir := t.TempDir()
	root := openTestRoot(t, dir)
	s := newSample(2 * fileservice.BlockSize)
	r := mustReceive(t, root, "file", s.version)
	s.write(t, r, 0, 1)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	// A kill between the two steps of a rename, after which the file was moved, does this as well.
	if err := os.Link(filepath.Join(dir, "file.culvert.part"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	newer := s.version
	newer.Tag++
	r = mustReceive(t, root, "file", newer)
	if err := r.Discard(); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "moved")); err != nil || !bytes.Equal(got, s.content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	seeOnly(t, dir, "moved")
}

// TestReceivePrivate receives a file that nobody may read at the source: what is made of it is for its owner alone.
func TestReceivePrivate(t *testing.T) {
	root := openTestRoot(t, t.TempDir())
	s := newSample(10)
	r := mustReceive(t, root, "file", s.version)
	s.write(t, r, 0)
	info, err := r.Finish(s.root(), 0)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("%v", info.Mode())
	}
}
