package fusefs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestNamesThatComeAndGo has programs rename, open and replace the same few names. Each is there or is not.
func TestNamesThatComeAndGo(t *testing.T) {
	w := newWritable(t, mountConfig{})
	names := []string{"a", "b", "c"}
	for _, name := range names {
		w.put(name, "content")
	}
	var group sync.WaitGroup
	for worker := range 8 {
		random := rand.New(rand.NewPCG(1, uint64(worker)))
		name := func() string { return w.path(names[random.IntN(len(names))]) }
		group.Go(func() {
			for range 300 {
				var did string
				var err error
				switch random.IntN(8) {
				case 0, 1, 2, 3:
					from, to := name(), name()
					did, err = fmt.Sprint("rename ", from, " ", to), os.Rename(from, to)
				case 4:
					did = "open"
					var file *os.File
					if file, err = os.Open(name()); err == nil {
						err = file.Close()
					}
					err = orReplaced(err)
				case 5:
					did = "stat"
					_, err = os.Stat(name())
					err = orReplaced(err)
				case 6:
					to := name()
					did = "replace " + to
					from := w.path(fmt.Sprint("new", worker))
					err = errors.Join(os.WriteFile(from, []byte("content"), 0o644), os.Rename(from, to))
				case 7:
					did, err = "remove", os.Remove(name())
				}
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %v", did, err)
				}
			}
		})
	}
	group.Wait()
}

// orReplaced leaves out that a file was replaced, and again when the kernel repeated the call, which it does once.
func orReplaced(err error) error {
	if errors.Is(err, syscall.ESTALE) {
		return nil
	}
	return err
}

// TestReadWhileRenamed reads through descriptors, and below a directory, whose names change all the time.
func TestReadWhileRenamed(t *testing.T) {
	w := newWritable(t, mountConfig{})
	w.must(os.Mkdir(w.path("d"), 0o755))
	w.put("d/file", "content")
	w.put("d/other", "content")
	root, err := os.OpenRoot(w.path("d"))
	w.must(err)
	defer root.Close()
	file, err := root.Open("file")
	w.must(err)
	defer file.Close()
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		defer close(stop)
		for range 300 {
			for _, names := range []string{"d e", "e/file e/renamed", "e d", "d/renamed d/file"} {
				from, to, _ := strings.Cut(names, " ")
				if err := os.Rename(w.path(from), w.path(to)); err != nil {
					t.Errorf("rename: %v", err)
				}
			}
		}
	})
	read := func(name string, file *os.File) {
		got := make([]byte, 7)
		if n, err := file.ReadAt(got, 0); err != nil || string(got[:n]) != "content" {
			t.Errorf("%s reads %q, %v", name, got[:n], err)
		}
	}
	for range 3 {
		group.Go(func() {
			for running := true; running; {
				select {
				case <-stop:
					running = false
				default:
				}
				read("file", file)
				other, err := root.Open("other")
				if err != nil {
					t.Errorf("open: %v", err)
					continue
				}
				read("other", other)
				if _, err := root.Stat("other"); err != nil {
					t.Errorf("stat: %v", err)
				}
				other.Close()
			}
		})
	}
	group.Wait()
}
