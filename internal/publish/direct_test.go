package publish_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"culvert/internal/publish"
)

// openBoth opens a new file twice, to write to it in both ways.
func openBoth(t *testing.T, dir string, size int64) (publish.File, *publish.Direct) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	file, err := publish.OpenLocked(root, "file")
	if err != nil {
		t.Fatal(err)
	}
	direct := publish.OpenDirect(root, "file", size, file)
	t.Cleanup(func() {
		if err := errors.Join(direct.Close(), file.Close(), root.Close()); err != nil {
			t.Error(err)
		}
	})
	return file, direct
}

// TestDirect writes the parts of a file in both ways, whatever the system says to the direct one.
func TestDirect(t *testing.T) {
	const part = 1 << 20
	dir := t.TempDir()
	content := make([]byte, 6*part+5)
	file, direct := openBoth(t, dir, int64(len(content)))
	_, _ = rand.NewChaCha8([32]byte{}).Read(content)
	written := 0
	for offset := 5 * part; offset >= 0; offset -= part {
		p := content[offset : offset+part]
		if offset/part == 3 {
			p = append(make([]byte, 1, part+1), p...)[1:] // which is not aligned
		}
		done, err := direct.Write(p, int64(offset))
		if done {
			written++
		} else if err == nil {
			_, err = file.WriteAt(p, int64(offset))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d parts of 6 were written directly", written)
	tail := content[6*part:]
	if done, err := direct.Write(tail, 6*part); done || err != nil {
		t.Errorf("5 bytes were written directly: %v", err)
	}
	if _, err := file.WriteAt(tail, 6*part); err != nil {
		t.Fatal(err)
	}
	if err := file.Sync(); err != nil {
		t.Fatal(err)
	}
	file.Forget(0, 3*part)
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || !bytes.Equal(got, content) {
		t.Errorf("not what was written: %v", err)
	}
}

// TestDirectReserves writes to files of which little is written yet. They grow by what is reserved, and not beyond the
// size that they are to have.
func TestDirectReserves(t *testing.T) {
	const reserved = 64 << 20
	part := bytes.Repeat([]byte{7}, 1<<20)
	for _, c := range []struct{ size, offset, grows int64 }{
		{reserved + 5<<20 + 3, 0, reserved},
		{reserved + 5<<20 + 3, reserved + 2<<20, reserved + 5<<20 + 3},
		{3 << 20, 1 << 20, 3 << 20},
		{1 << 50, reserved, 2 * reserved},
	} {
		file, direct := openBoth(t, t.TempDir(), c.size)
		if done, err := direct.Write(part, c.offset); err != nil {
			t.Fatal(err)
		} else if !done {
			t.Skip("no direct writes here")
		}
		size, err := file.Size()
		if err != nil {
			t.Fatal(err)
		}
		if size == c.offset+int64(len(part)) {
			t.Skip("nothing is reserved here")
		}
		if size != c.grows {
			t.Errorf("a file of %d bytes has %d after a write at %d, not %d", c.size, size, c.offset, c.grows)
		}
		got := make([]byte, size-c.offset)
		if _, err := file.ReadAt(got, c.offset); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(got, part) || len(bytes.TrimRight(got, "\x00")) != len(part) {
			t.Errorf("not what was written at %d", c.offset)
		}
	}
}

// TestDirectBehind leaves to the page cache what the disk has no time for.
func TestDirectBehind(t *testing.T) {
	block := make([]byte, 1<<20)
	_, direct := openBoth(t, t.TempDir(), int64(len(block)))
	if done, err := direct.Write(block, 0); err != nil {
		t.Fatal(err)
	} else if !done {
		t.Skip("no direct writes here")
	}
	idle := direct.Busy()
	for tries := 0; ; tries++ {
		done, err := direct.Write(block, 0)
		if err != nil || tries > 100 {
			t.Fatalf("beside many others, %d are done, %v", tries, err)
		}
		if !done {
			break
		}
	}
	idle()
	if done, err := direct.Write(block, 0); !done || err != nil {
		t.Errorf("after many others, done: %v, %v", done, err)
	}
}

// TestDirectExchanged opens what has the name of a file, and is another one.
func TestDirectExchanged(t *testing.T) {
	dir := t.TempDir()
	file, direct := openBoth(t, dir, 1<<20)
	if direct == nil {
		t.Skip("no direct writes here")
	}
	name := filepath.Join(dir, "file")
	if err := errors.Join(os.Rename(name, name+".away"), os.WriteFile(name, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if publish.OpenDirect(root, "file", 1<<20, file) != nil {
		t.Error("it opens another file")
	}
}

// TestDirectNil is where the system has no direct writes.
func TestDirectNil(t *testing.T) {
	var direct *publish.Direct
	if done, err := direct.Write(make([]byte, 4096), 0); done || err != nil {
		t.Errorf("done: %v, %v", done, err)
	}
	if err := direct.Close(); err != nil {
		t.Error(err)
	}
}
