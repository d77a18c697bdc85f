package transfer_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/internal/testkit"
)

// smallTree makes a tree of small files, and of one that is not.
func smallTree(t *testing.T) (dir string, size int64) {
	t.Helper()
	files := map[string]int{"large": 3<<20 + 1}
	for i := range 300 {
		files[fmt.Sprintf("d%d/file %d", i%7, i)] = i * 31
		size += int64(i * 31)
	}
	dir, _ = filetest.Tree(t, files)
	return dir, size + 3<<20
}

// seeWhole fails if a file has its name and is not what it is at the source.
func seeWhole(t *testing.T, from, to string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(to), ".", func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the server, which lives on, is removing it
		}
		if err != nil || !entry.Type().IsRegular() || strings.Contains(name, ".culvert.") {
			return err
		}
		want, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(to, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the first of two names that it had
		}
		if err == nil && !bytes.Equal(want, got) {
			t.Errorf("%s has %d bytes, want %d", name, len(got), len(want))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// seeNothingLeft fails if there is an unfinished file.
func seeNothingLeft(t *testing.T, dir string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if strings.Contains(name, ".culvert.") {
			t.Errorf("%s is left", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTreeKilled kills a process that pulls or pushes a tree of small files. Whenever that is, a file that has its name
// is whole, and in the end all are there, and nothing else.
func TestTreeKilled(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"pull", "push"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			kills, _ := killRun()
			from, size := smallTree(t)
			to := t.TempDir()
			served, here := from, to
			if role == "push" {
				served, here = to, from
			}
			address := filetest.Listen(t, served, filetest.Writable)
			random := rand.New(rand.NewPCG(9, 9))
			for range kills {
				l := live(t, role+"-tree", address, here, random.Int64N(size))
				seeWhole(t, from, to)
				if !l.done {
					continue
				}
				for i := range 7 {
					if err := os.RemoveAll(filepath.Join(to, fmt.Sprint("d", i))); err != nil {
						t.Fatal(err)
					}
				}
			}
			if l := live(t, role+"-tree", address, here, -1); !l.done {
				t.Fatal("it is not done")
			}
			filetest.SeeSame(t, from, to)
			seeNothingLeft(t, to)
		})
	}
}

// TestTransfersAtOnce has two transfers to the same place. What one of them does not do, the other does, or says so;
// and a third one finds what is missing.
func TestTransfersAtOnce(t *testing.T) {
	t.Parallel()
	for role, run := range filetest.Transfers() {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			from, _ := smallTree(t)
			to := t.TempDir()
			served, here := from, to
			if role == "push" {
				served, here = to, from
			}
			address := filetest.Listen(t, served, filetest.Writable)
			config := transfer.Config{Remote: ".", Root: filetest.OpenRoot(t, here), Local: "."}
			ended := make(chan error)
			for range 2 {
				client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
				go func() {
					result, err := run(t.Context(), client, config)
					if errors.Is(err, transfer.ErrPartial) {
						err = nil
					}
					for _, fault := range result.Faults {
						if !isOfAnother(fault.Err) {
							err = fault.Err
						}
					}
					ended <- err
				}()
			}
			for range 2 {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			seeWhole(t, from, to)
			client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
			if _, err := run(t.Context(), client, config); err != nil {
				t.Error(err)
			}
			filetest.SeeSame(t, from, to)
			seeNothingLeft(t, to)
		})
	}
}

// isOfAnother finds the errors that one transfer may have because of another.
func isOfAnother(err error) bool {
	return errors.Is(err, fileservice.ErrBusy) || errors.Is(err, fileservice.ErrRefused) || errors.Is(err, fs.ErrExist)
}

// draftContent is what a program writes for the nth time: any part of it says which one it is.
func draftContent(n int64) []byte {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	content := make([]byte, 8+random.IntN(700<<10))
	for i := 8; i+8 <= len(content); i += 8 {
		binary.LittleEndian.PutUint64(content[i:], random.Uint64())
	}
	binary.LittleEndian.PutUint64(content, uint64(n))
	return content
}

const draftNames = 5

// writeDrafts is a child that writes files until the server is gone, or it is killed.
func writeDrafts(t *testing.T, address string, first int64) {
	remote := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	for n := first; ; n++ {
		random := rand.New(rand.NewPCG(uint64(n), 2))
		content, name := draftContent(n), fmt.Sprint("f", n%draftNames)
		_, _ = fmt.Fprintln(os.Stdout, "begun", n)
		opened, err := remote.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return // the server was killed, as everywhere here
		}
		file := opened.(*client.WritableFile)
		const part = 100 << 10
		for _, i := range random.Perm((len(content) + part - 1) / part) {
			_, err = file.WriteAt(content[i*part:min((i+1)*part, len(content))], int64(i*part))
			if err == nil && random.IntN(4) == 0 {
				err = file.Sync()
			}
			_, _ = fmt.Fprintln(os.Stdout, "written", n)
		}
		if err = errors.Join(err, filetest.Publish(file, name)); err != nil {
			return
		}
		_, _ = fmt.Fprintln(os.Stdout, "published", n)
	}
}

// TestDraftsKilled kills the server, or a program that writes files on it, at any time. A file is always one that was
// written, as a whole, and no older than what the program was told. Nothing else is left in the end.
func TestDraftsKilled(t *testing.T) {
	t.Parallel()
	kills, _ := killRun()
	dir := t.TempDir()
	address := testkit.Address(t)
	random := rand.New(rand.NewPCG(10, 10))
	server := startServing(t, address, dir)
	published := map[string]int64{}
	last := int64(0)
	for range kills {
		client, said := startChild(t, "drafts", address, fmt.Sprint(last+1))
		victim := client.Process
		if random.IntN(2) == 0 {
			victim = server.Process
		}
		for until := random.IntN(40); said.Scan(); until-- {
			var what string
			var n int64
			if _, err := fmt.Sscan(said.Text(), &what, &n); err != nil || what == "PASS" {
				continue
			}
			last = max(last, n)
			if what == "published" {
				published[fmt.Sprint("f", n%draftNames)] = n
			}
			if until == 0 {
				if err := victim.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = client.Wait() // it was killed, or has lost its server
		if victim == server.Process {
			_ = server.Wait()
			server = startServing(t, address, dir)
		}
		seeDrafts(t, dir, published, last)
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait() // it was killed
	filetest.Serve(t, dir, filetest.Writable)
	seeDrafts(t, dir, published, last)
	testkit.WaitFor(t, "the next server to remove what was left", func() bool {
		names, err := filepath.Glob(filepath.Join(dir, "*.culvert.draft"))
		return err == nil && len(names) == 0
	})
	seeNothingLeft(t, dir)
}

func seeDrafts(t *testing.T, dir string, published map[string]int64, last int64) {
	t.Helper()
	for i := range draftNames {
		name := fmt.Sprint("f", i)
		content, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) && published[name] == 0 {
			continue
		}
		if err != nil || len(content) < 8 {
			t.Fatalf("%s has %d bytes: %v", name, len(content), err)
		}
		n := int64(binary.LittleEndian.Uint64(content))
		if n < published[name] || n > last || n%draftNames != int64(i) || !bytes.Equal(content, draftContent(n)) {
			t.Errorf("%s has %d bytes of %d, of %d published", name, len(content), n, published[name])
		}
	}
}
