package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"lukechampine.com/blake3"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/fileservice/transfer"
)

// TestHashes compares the hashes of all files of a tree with those of package blake3.
func TestHashes(t *testing.T) {
	for role, run := range filetest.Transfers() {
		from, names := filetest.Tree(t, manyFiles())
		served, here := from, t.TempDir()
		if role == "push" {
			served, here = here, from
		}
		got := map[string]transfer.Hash{}
		config := transfer.Config{
			Remote: ".", Root: filetest.OpenRoot(t, here), Local: ".", Hash: true,
			Notify: func(e transfer.Event) {
				if e.Kind == transfer.FileDone {
					got[e.Name] = e.Hash
				}
			},
		}
		result, err := run(t.Context(), filetest.Serve(t, served, filetest.Writable), config)
		if err != nil || result.Hash != (transfer.Hash{}) || len(got) != len(names) {
			t.Fatalf("%s: %v, %d hashes, %v of several files", role, err, len(got), result.Hash)
		}
		for name, hash := range got {
			if content := readFile(t, filepath.Join(from, name)); hash != blake3.Sum256(content) {
				t.Errorf("%s: another hash of %s", role, name)
			}
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestNoHash reports that nothing is hashed unless Config.Hash is set.
func TestNoHash(t *testing.T) {
	for role, run := range filetest.Transfers() {
		_, config, client := newHashed(t, role, 2<<20)
		config.Hash = false
		config.Notify = func(e transfer.Event) {
			if e.Hash != (transfer.Hash{}) {
				t.Errorf("%s: hash %v", role, e.Hash)
			}
		}
		result, err := run(t.Context(), client("sound"), config)
		if err != nil || result.Files != 1 || result.Hash != (transfer.Hash{}) {
			t.Errorf("%s: %v %+v", role, err, result)
		}
	}
}

// newHashed returns the directory of the source, the configuration of a transfer of a file in it, and clients whose
// connections work, break once in the middle, or end there for good.
func newHashed(t *testing.T, role string, size int) (
	dirs [2]string, config transfer.Config, connect func(kind string) *client.Client,
) {
	t.Helper()
	from, _ := filetest.Tree(t, map[string]int{"file": size})
	to := t.TempDir()
	served, here := from, to
	if role == "push" {
		served, here = to, from
	}
	address := filetest.Listen(t, served, filetest.Writable)
	config = transfer.Config{Remote: "file", Root: filetest.OpenRoot(t, here), Local: "file", Hash: true}
	return [2]string{from, to}, config, func(kind string) *client.Client {
		switch kind {
		case "severed":
			return filetest.Sever(t, address, int64(size)/2)
		case "broken":
			return filetest.Ail(t, address, nil, 1, filetest.Soon, int64(size)/2, filetest.TransferFaults()["cut"])
		}
		return filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	}
}

// interrupt transfers a part of a file.
func interrupt(t *testing.T, role string, size int) (
	dirs [2]string, config transfer.Config, connect func(kind string) *client.Client,
) {
	t.Helper()
	dirs, config, connect = newHashed(t, role, size)
	result, err := filetest.Transfers()[role](t.Context(), connect("severed"), config)
	if !errors.Is(err, fileservice.ErrUnreachable) || result.Files != 0 {
		t.Fatalf("%s: %v %+v", role, err, result)
	}
	return dirs, config, connect
}

// TestHashOfResumed resumes transfers that were interrupted.
func TestHashOfResumed(t *testing.T) {
	for role, run := range filetest.Transfers() {
		dirs, config, connect := interrupt(t, role, 24<<20+9)
		result, err := run(t.Context(), connect("sound"), config)
		want := readFile(t, filepath.Join(dirs[0], "file"))
		if err != nil || result.Resumed == 0 || result.Hash != blake3.Sum256(want) {
			t.Errorf("%s: %v %+v", role, err, result)
		}
		if !slices.Equal(readFile(t, filepath.Join(dirs[1], "file")), want) {
			t.Errorf("%s: not the file", role)
		}
	}
}

// TestHashOfRetried has a connection break, after which the same transfer goes on.
func TestHashOfRetried(t *testing.T) {
	for role, run := range filetest.Transfers() {
		dirs, config, connect := newHashed(t, role, 24<<20+9)
		config.Retry = func(error) bool { return true }
		result, err := run(t.Context(), connect("broken"), config)
		if want := readFile(t, filepath.Join(dirs[0], "file")); err != nil || result.Hash != blake3.Sum256(want) {
			t.Errorf("%s: %v %+v", role, err, result)
		}
	}
}

// TestHashOfChanged changes the source of a push when the server has the whole file, before it is hashed.
func TestHashOfChanged(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		from, _ := filetest.Tree(t, map[string]int{"file": 2 << 20})
		to := t.TempDir()
		var once sync.Once
		var changing error
		client := filetest.Serve(t, to, func(c *server.Config) {
			c.Writable = true
			c.Observer.Called = func(call server.Call) {
				if call.Method == "FinishWrite" {
					once.Do(func() {
						changing = os.WriteFile(filepath.Join(from, "file"), make([]byte, 3<<20), 0o600)
					})
				}
			}
		})
		changed := 0
		result, err := transfer.Push(t.Context(), client.Place(), transfer.Config{
			Remote: "file", Root: filetest.OpenRoot(t, from), Local: "file", Hash: true, Overwrite: overwrite,
			Notify: func(e transfer.Event) {
				if e.Kind == transfer.FileChanged {
					changed++
				}
			},
		})
		if changing != nil || changed != 1 {
			t.Fatalf("%v, %d changes", changing, changed)
		}
		there := readFile(t, filepath.Join(to, "file"))
		switch {
		case !overwrite && (!errors.Is(err, fs.ErrExist) || result.Files != 0):
			t.Errorf("%v %+v", err, result)
		case overwrite && (err != nil || len(there) != 3<<20 || result.Hash != blake3.Sum256(there)):
			t.Errorf("%v %+v, %d bytes", err, result, len(there))
		}
	}
}

// endingFile ends a context when its third block is read.
type endingFile struct {
	end   context.CancelCauseFunc
	cause error
	reads int
}

func (f *endingFile) ReadAt(p []byte, _ int64) (int, error) {
	if f.reads++; f.reads == 3 {
		f.end(f.cause)
	}
	return len(p), nil
}

// TestHashEnds ends the context of a hash of a TiB.
func TestHashEnds(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	file := &endingFile{end: end, cause: errors.New("enough")}
	if _, err := transfer.HashOf(ctx, file, 1<<40); err != file.cause || file.reads != 3 {
		t.Errorf("%v after %d reads", err, file.reads)
	}
}

// TestHashOfFile compares hashes with those of the whole, around the borders of blocks and chunks.
func TestHashOfFile(t *testing.T) {
	const block = fileservice.BlockSize
	file := make([]byte, 9*block)
	_, _ = rand.NewChaCha8([32]byte{}).Read(file)
	for _, border := range []int{
		0, 64, 1 << 10, 16 << 10, 48 << 10, 512 << 10, block, 2 * block, 3 * block, 4 * block,
		8*block + 17<<10, 9 * block,
	} {
		for size := max(border-1, 0); size <= min(border+1, len(file)); size++ {
			hash, err := transfer.HashOf(t.Context(), bytes.NewReader(file[:size]), int64(size))
			if err != nil || hash != blake3.Sum256(file[:size]) {
				t.Errorf("%d bytes: %v, %v", size, hash, err)
			}
		}
	}
}
