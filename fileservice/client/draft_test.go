package client_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/internal/testkit"
)

func TestDraft(t *testing.T) {
	dir := t.TempDir()
	client := filetest.Serve(t, dir, filetest.Writable)
	file := filetest.OpenDraft(t, client, "file", os.O_CREATE|os.O_RDWR)
	if _, err := file.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := file.Sync(); err != nil {
		t.Fatal(err)
	}
	if entries, err := client.ReadDir("."); err != nil || len(entries) != 0 {
		t.Errorf("it is seen before it is published: %v, %v", entries, err)
	}
	if err := file.Publish("file", false); err != nil {
		t.Fatal(err)
	}
	filetest.SeeFiles(t, dir, map[string][]byte{"file": []byte("hello")})
	published, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if seen, err := client.Stat("file"); err != nil || seen.Sys() != published.Sys() {
		t.Errorf("%v is there, and %v was published: %v", seen, published, err)
	}
	// What follows is written in place.
	if _, err := file.WriteAt([]byte("J"), 0); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := file.ReadAt(got, 0); err != nil || string(got) != "Jello" {
		t.Errorf("%q, %v", got, err)
	}
	if err := file.Flush(); err != nil {
		t.Fatal(err)
	}
	filetest.SeeFiles(t, dir, map[string][]byte{"file": []byte("Jello")})
	written, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if seen, err := client.Stat("file"); err != nil || seen.Sys() != written.Sys() {
		t.Errorf("%v is there, and %v was written: %v", seen, written, err)
	}
	if err := file.Publish("other", true); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("another name: %v", err)
	}
	if err := filetest.Publish(file, "file"); err != nil {
		t.Fatal(err)
	}
	filetest.SeeFiles(t, dir, map[string][]byte{"file": []byte("Jello")})
	if err := file.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
	if _, err := file.Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}

// TestTryWriteAt writes small pieces, which the server gets together, and soon even if nothing waits for them.
func TestTryWriteAt(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	file := filetest.OpenDraft(t, filetest.Serve(t, dir, filetest.Writable), "file", os.O_RDWR)
	if !file.TryWriteAt([]byte("he"), 0) || !file.TryWriteAt([]byte("llo"), 2) {
		t.Error("small writes would wait")
	}
	if file.TryWriteAt([]byte("x"), 9) {
		t.Error("a write elsewhere would not wait")
	}
	testkit.WaitFor(t, "the server to write it", func() bool {
		got, err := os.ReadFile(filepath.Join(dir, "file"))
		return err == nil && string(got) == "hello"
	})
	if file.TryWriteAt(make([]byte, 8<<20), 5) {
		t.Error("a large write would not wait")
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if file.TryWriteAt([]byte("x"), 5) {
		t.Error("a closed file was written")
	}
}

func TestDraftFlags(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 5, "target": 5})
	if err := os.Symlink("target", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	client := filetest.Serve(t, dir, filetest.Writable)
	for _, c := range []struct {
		name string
		flag int
		want error
	}{
		{"none", os.O_RDWR, fs.ErrNotExist},
		{"none/x", os.O_RDWR | os.O_CREATE, fs.ErrNotExist},
		{"file/x", os.O_RDWR | os.O_CREATE, syscall.ENOTDIR},
		{"file", os.O_RDWR | os.O_CREATE | os.O_EXCL, fs.ErrExist},
		{"void", os.O_WRONLY, syscall.EISDIR},
		{".", os.O_WRONLY, fs.ErrInvalid},
		{"link", os.O_WRONLY, fs.ErrInvalid},
		{"../x", os.O_WRONLY | os.O_CREATE, fs.ErrInvalid},
		{"x.culvert.part", os.O_WRONLY | os.O_CREATE, fileservice.ErrRefused},
		{"x.Culvert.Draft", os.O_WRONLY | os.O_CREATE, fileservice.ErrRefused},
	} {
		if _, err := client.OpenFile(c.name, c.flag, 0o644); !errors.Is(err, c.want) {
			t.Errorf("%s with %#x: %v", c.name, c.flag, err)
		}
	}
	if _, err := filetest.Serve(t, dir, nil).OpenFile("file", os.O_RDWR, 0); !errors.Is(err, fileservice.ErrRefused) {
		t.Errorf("a server that is not writable: %v", err)
	}
	read, err := client.OpenFile("file", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, writes := read.(io.WriterAt); writes {
		t.Error("a file that is open to read can be written")
	}
	old, err := io.ReadAll(read)
	if err = errors.Join(err, read.Close()); err != nil {
		t.Fatal(err)
	}
	// Unchanged, it stays the same file.
	before, err := os.Stat(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	file := filetest.OpenDraft(t, client, "file", os.O_RDWR|os.O_CREATE)
	if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, old) {
		t.Errorf("%q, %v", got, err)
	}
	if err := filetest.Publish(file, "file"); err != nil {
		t.Error(err)
	}
	if after, err := os.Stat(filepath.Join(dir, "file")); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was replaced by the same: %v", err)
	}
	file = filetest.OpenDraft(t, client, "file", os.O_WRONLY|os.O_APPEND)
	if _, err := file.Write([]byte("more")); err != nil {
		t.Error(err)
	}
	if err := filetest.Publish(file, "file"); err != nil {
		t.Error(err)
	}
	if content := filetest.ContentOf(t, dir, "file"); string(content) != string(old)+"more" {
		t.Errorf("%q", content)
	}
	if err := filetest.Publish(filetest.OpenDraft(t, client, "file", os.O_WRONLY|os.O_TRUNC), "file"); err != nil {
		t.Error(err)
	}
	if content := filetest.ContentOf(t, dir, "file"); len(content) != 0 {
		t.Errorf("%q is left", content)
	}
	// What others made meanwhile is not replaced by one who wants to make it.
	exclusive := filetest.OpenDraft(t, client, "new", os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err := os.WriteFile(filepath.Join(dir, "new"), []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := exclusive.Publish("new", false); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	filetest.Discard(t, exclusive)
	if content := filetest.ContentOf(t, dir, "new"); string(content) != "theirs" {
		t.Errorf("%q", content)
	}
}

func TestDraftIsClosed(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 5})
	old := filetest.ContentOf(t, dir, "file")
	remote := filetest.Serve(t, dir, filetest.Writable)
	file := filetest.OpenDraft(t, remote, "file", os.O_RDWR|os.O_TRUNC)
	other := filetest.OpenDraft(t, remote, "new", os.O_CREATE|os.O_WRONLY)
	for _, f := range []*client.WritableFile{file, other} {
		if _, err := f.WriteAt(make([]byte, 5<<20), 0); err != nil {
			t.Error(err)
		}
		filetest.Discard(t, f)
		if err := f.Publish("file", true); !errors.Is(err, fs.ErrClosed) {
			t.Error(err)
		}
	}
	filetest.SeeFiles(t, dir, map[string][]byte{"file": old})
}

func TestDraftAttributes(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 5})
	client := filetest.Serve(t, dir, filetest.Writable)
	modified := time.Unix(1_000_000_000, 0)
	for _, write := range []bool{true, false} {
		file := filetest.OpenDraft(t, client, "file", os.O_RDWR)
		if write {
			if _, err := file.Write([]byte("x")); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(file.Chmod(0o751), file.Chtimes(time.Now(), modified)); err != nil {
			t.Error(err)
		}
		info, err := file.Stat()
		if err != nil || !info.ModTime().Equal(modified) || info.Mode() != 0o751 || info.Size() != 5 {
			t.Errorf("%v, %v", info, err)
		}
		if err := filetest.Publish(file, "file"); err != nil {
			t.Error(err)
		}
		info, err = os.Stat(filepath.Join(dir, "file"))
		if err != nil || !info.ModTime().Equal(modified) || info.Mode() != 0o751 {
			t.Errorf("%v, %v", info, err)
		}
		modified = modified.Add(time.Hour)
	}
}

// TestDraftModel compares random operations on drafts with what they do to a slice of bytes.
func TestDraftModel(t *testing.T) {
	dir := t.TempDir()
	client := filetest.Serve(t, dir, filetest.Writable)
	steps := 300
	if testkit.RaceDetector() {
		steps = 60
	}
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 0))
		most := []int{100, 5000, 300 << 10, 5 << 20}[seed%4]
		name := "file" + string(rune('0'+seed))
		var content, published []byte
		file := filetest.OpenDraft(t, client, name, os.O_RDWR|os.O_CREATE)
		inPlace := false // others see what is written
		extend := func(n int) {
			if n > len(content) {
				content = append(content, make([]byte, n-len(content))...)
			}
		}
		for step := range steps {
			offset := random.IntN(most)
			switch action := random.IntN(20); {
			case action < 10:
				p := make([]byte, random.IntN(most/4+1))
				for i := range p {
					p[i] = byte(random.Uint32())
				}
				if n, err := file.WriteAt(p, int64(offset)); n != len(p) || err != nil {
					t.Fatal(seed, step, n, err)
				}
				if len(p) > 0 {
					extend(offset + len(p))
				}
				copy(content[min(offset, len(content)):], p)
			case action < 14:
				p := make([]byte, random.IntN(most/4+1))
				n, err := file.ReadAt(p, int64(offset))
				want := content[min(offset, len(content)):min(offset+len(p), len(content))]
				if !bytes.Equal(p[:n], want) || n < len(p) && err != io.EOF || n == len(p) && err != nil {
					t.Fatal(seed, step, n, len(want), err)
				}
			case action < 16:
				if err := file.Truncate(int64(offset)); err != nil {
					t.Fatal(seed, step, err)
				}
				extend(offset)
				content = content[:offset:offset]
			case action < 17:
				if err := file.Sync(); err != nil {
					t.Fatal(seed, step, err)
				}
			case action < 18:
				if err := file.Publish(name, true); err != nil {
					t.Fatal(seed, step, err)
				}
				published, inPlace = bytes.Clone(content), true
			case action < 19:
				if err := filetest.Publish(file, name); err != nil {
					t.Fatal(seed, step, err)
				}
				published, inPlace = bytes.Clone(content), true
				flag := os.O_RDWR
				if random.IntN(4) == 0 {
					flag |= os.O_TRUNC
					content, inPlace = nil, false
				}
				file = filetest.OpenDraft(t, client, name, flag)
			default:
				if err := file.Flush(); err != nil {
					t.Fatal(seed, step, err)
				}
				if !inPlace {
					filetest.Discard(t, file)
					content = bytes.Clone(published)
				} else if err := file.Close(); err != nil {
					t.Fatal(seed, step, err)
				}
				_, err := os.Lstat(filepath.Join(dir, name))
				inPlace = err == nil
				file = filetest.OpenDraft(t, client, name, os.O_RDWR|os.O_CREATE)
			}
			if info, err := file.Stat(); err != nil || info.Size() != int64(len(content)) {
				t.Fatal(seed, step, info, len(content), err)
			}
			if inPlace && random.IntN(2) == 0 {
				if err := file.Flush(); err != nil {
					t.Fatal(seed, step, err)
				}
				published = bytes.Clone(content)
			}
			if published != nil && !inPlace && !bytes.Equal(filetest.ContentOf(t, dir, name), published) {
				t.Fatal(seed, step, "it is not what was published")
			}
			if inPlace && bytes.Equal(published, content) && !bytes.Equal(filetest.ContentOf(t, dir, name), content) {
				t.Fatal(seed, step, "it is not what was flushed")
			}
		}
		if err := filetest.Publish(file, name); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(filetest.ContentOf(t, dir, name), content) {
			t.Fatal(seed, "it is not what was written")
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 8 {
		t.Errorf("%d files are left: %v", len(entries), err)
	}
}

func TestDraftOfLongName(t *testing.T) {
	dir := t.TempDir()
	client := filetest.Serve(t, dir, filetest.Writable)
	names := map[string][]byte{}
	for _, name := range []string{strings.Repeat("n", 255), strings.Repeat("ü", 127)} {
		file := filetest.OpenDraft(t, client, name, os.O_CREATE|os.O_WRONLY)
		if _, err := file.Write([]byte(name)); err != nil {
			t.Error(err)
		}
		if err := filetest.Publish(file, name); err != nil {
			t.Error(err)
		}
		names[name] = []byte(name)
	}
	filetest.SeeFiles(t, dir, names)
}

// TestDraftIsPublishedElsewhere has other names than those that files were opened with.
func TestDraftIsPublishedElsewhere(t *testing.T) {
	dir, _ := filetest.Tree(t, map[string]int{"file": 5, "sub/taken": 6, "moved/x": 1})
	old, taken := filetest.ContentOf(t, dir, "file"), filetest.ContentOf(t, dir, "sub/taken")
	client := filetest.Serve(t, dir, filetest.Writable)
	file := filetest.OpenDraft(t, client, "file", os.O_RDWR|os.O_TRUNC)
	if _, err := file.Write([]byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := file.Publish("sub/taken", false); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if err := file.Publish("void", true); !errors.Is(err, syscall.EISDIR) {
		t.Error(err)
	}
	if err := file.Publish("none/x", true); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := file.Publish("x.culvert.draft", true); !errors.Is(err, fileservice.ErrRefused) {
		t.Error(err)
	}
	if err := file.Publish("sub/new", false); err != nil {
		t.Error(err)
	}
	if info, err := file.Stat(); err != nil || info.Name() != "new" {
		t.Errorf("%v, %v", info, err)
	}
	// The directory of a draft may get another name, and a file in place as well.
	inner := filetest.OpenDraft(t, client, "moved/new", os.O_CREATE|os.O_RDWR)
	if _, err := inner.Write([]byte("inner")); err != nil {
		t.Error(err)
	}
	if err := errors.Join(inner.Sync(), client.Rename("moved", "again")); err != nil {
		t.Error(err)
	}
	if err := inner.Publish("again/new", false); err != nil {
		t.Error(err)
	}
	if _, err := inner.Write([]byte(" more")); err != nil {
		t.Error(err)
	}
	err := errors.Join(inner.Sync(), client.Rename("again", "once"), client.Rename("once/new", "inner"))
	if err != nil {
		t.Error(err)
	}
	if _, err := inner.Write([]byte(" and more")); err != nil {
		t.Error(err)
	}
	if err := errors.Join(inner.Sync(), file.Close(), inner.Close()); err != nil {
		t.Error(err)
	}
	filetest.SeeFiles(t, dir, map[string][]byte{"file": old, "inner": []byte("inner more and more")})
	filetest.SeeFiles(t, filepath.Join(dir, "sub"), map[string][]byte{"taken": taken, "new": []byte("first")})
	filetest.SeeFiles(t, filepath.Join(dir, "once"), map[string][]byte{"x": filetest.ContentOf(t, dir, "once/x")})
}
