package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/internal/testkit"
	"culvert/secureconn"
)

// TestDraftFaults has a fault of an encrypted connection after any number of bytes while a file is written. Either all
// is well and the file is there, or the file says that it is not; what is there under its name is never a part.
func TestDraftFaults(t *testing.T) {
	t.Parallel()
	serverKey, serverName := filetest.NewKey(t)
	clientKey, clientName := filetest.NewKey(t)
	peer := &secureconn.Config{Key: clientKey, Peers: []string{serverName}}
	offsets := []int64{0, 3000, 70_000, 1 << 20, 3<<20 + 77}
	if testkit.Soak() {
		for i := range int64(40) {
			offsets = append(offsets, 1000+i*97_003)
		}
	}
	old, content := bytes.Repeat([]byte("old"), 1000), bytes.Repeat([]byte("new "), 1<<20)
	for name, fault := range filetest.TransferFaults() {
		for _, offset := range offsets {
			t.Run(fmt.Sprint(name, " at ", offset), func(t *testing.T) {
				t.Parallel() // gRPC takes 10 s to find a connection that stalls
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "file"), old, 0o644); err != nil {
					t.Fatal(err)
				}
				address := filetest.ListenSecurely(t, dir, serverKey, clientName, filetest.Impatient)
				remote := filetest.Ail(t, address, peer, 2, filetest.Soon, offset, fault)
				opened, err := remote.OpenFile("file", os.O_RDWR|os.O_TRUNC, 0)
				if err != nil {
					if content := filetest.ContentOf(t, dir, "file"); !bytes.Equal(content, old) {
						t.Errorf("it was not opened, and has %d bytes", len(content))
					}
					return
				}
				file := opened.(*client.WritableFile)
				for done := 0; done < len(content) && err == nil; done += 100_000 {
					_, err = file.WriteAt(content[done:min(done+100_000, len(content))], int64(done))
				}
				if syncErr := file.Sync(); err != nil && syncErr != err {
					t.Errorf("%v becomes %v", err, syncErr)
				} else {
					err = syncErr
				}
				publishErr := file.Publish("file", true)
				if err != nil && publishErr != err {
					t.Errorf("%v becomes %v", err, publishErr)
				}
				if publishErr != nil {
					filetest.Discard(t, file)
				} else if err := file.Close(); err != nil {
					t.Error(err)
				}
				got, readErr := os.ReadFile(filepath.Join(dir, "file"))
				switch {
				case readErr != nil:
					t.Error(readErr)
				case publishErr == nil && !bytes.Equal(got, content):
					t.Errorf("it was published, and has %d bytes", len(got))
				case err != nil && !bytes.Equal(got, old):
					t.Errorf("it failed with %v, and has %d bytes", err, len(got))
				case !bytes.Equal(got, old) && !bytes.Equal(got, content):
					t.Errorf("a part of it is there, %d bytes", len(got))
				}
			})
		}
	}
}

// TestDraftAfterRestart has another server come under the same address.
func TestDraftAfterRestart(t *testing.T) {
	dir := t.TempDir()
	address := testkit.Address(t)
	stop := listenUntil(t, address, dir)
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Timeout: 5 * time.Second})
	file := filetest.OpenDraft(t, client, "file", os.O_CREATE|os.O_RDWR)
	if _, err := file.Write(make([]byte, 3<<20)); err != nil {
		t.Fatal(err)
	}
	if err := file.Sync(); err != nil {
		t.Fatal(err)
	}
	stop()
	filetest.SeeFiles(t, dir, nil)
	stop = listenUntil(t, address, dir)
	defer stop()
	// The first call may meet the old connection.
	var first error
	for first == nil {
		_, err := file.WriteAt([]byte("x"), 0)
		first = errors.Join(err, file.Sync())
	}
	if _, err := file.WriteAt([]byte("x"), 0); err == nil || !strings.Contains(first.Error(), err.Error()) {
		t.Errorf("%v after %v", err, first)
	}
	for _, err := range []error{file.Publish("file", true), file.Sync(), file.Truncate(5)} {
		if err == nil {
			t.Errorf("all is well again after %v", first)
		}
	}
	filetest.Discard(t, file)
	filetest.SeeFiles(t, dir, nil)
	// Another file is another beginning.
	if err := filetest.Publish(filetest.OpenDraft(t, client, "file", os.O_CREATE|os.O_RDWR), "file"); err != nil {
		t.Error(err)
	}
}

// listenUntil serves a directory until stop.
func listenUntil(t *testing.T, address, dir string) (stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server, served := filetest.StartServer(t, listener, server.Config{Root: filetest.OpenRoot(t, dir), Writable: true})
	return func() {
		if err := errors.Join(server.Close(), <-served); err != nil {
			t.Error(err)
		}
	}
}

// TestDraftIsKept has a file wait for longer than a server keeps what it hears nothing of, and a stream of writes, too.
// One whose client is gone is dropped.
func TestDraftIsKept(t *testing.T) { synctest.Test(t, draftIsKept) }

func draftIsKept(t *testing.T) {
	dir := t.TempDir()
	var kept atomic.Int64
	address := filetest.ListenOn(t, filetest.ListenInMemory(t), dir, func(c *server.Config) {
		c.Writable = true
		c.Observer.Called = func(call server.Call) {
			if call.Method == "ChangeDraft" {
				kept.Add(1)
			}
		}
	})
	remote := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	file := filetest.OpenDraft(t, remote, "file", os.O_CREATE|os.O_RDWR)
	if _, err := file.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	<-time.After(3 * server.DefaultStallTimeout)
	if kept.Load() < 5 {
		t.Errorf("the draft was kept %d times", kept.Load())
	}
	if _, err := file.Write([]byte(" again")); err != nil {
		t.Fatal(err)
	}
	if err := filetest.Publish(file, "file"); err != nil {
		t.Fatal(err)
	}
	filetest.SeeFiles(t, dir, map[string][]byte{"file": []byte("hello again")})

	gone, err := client.New(client.Config{Dial: filetest.Dialer(address)})
	if err != nil {
		t.Fatal(err)
	}
	left := filetest.OpenDraft(t, gone, "left", os.O_CREATE|os.O_RDWR)
	_, err = left.Write([]byte("hello"))
	if err = errors.Join(err, left.Sync(), gone.Close()); err != nil {
		t.Fatal(err)
	}
	if err := left.Publish("left", true); err == nil {
		t.Error("it was published by a client that is closed")
	}
	<-time.After(2 * server.DefaultStallTimeout)
	filetest.SeeFiles(t, dir, map[string][]byte{"file": []byte("hello again")})
}

// TestDraftOnFullDisk fills a small file system.
func TestDraftOnFullDisk(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		testkit.Missing(t, "a small disk", "run the tests as root on Linux")
	}
	dir := t.TempDir()
	mount := exec.Command("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", dir)
	if out, err := mount.CombinedOutput(); err != nil {
		testkit.Missing(t, "mount: "+string(out), "run the tests where file systems may be mounted")
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	client := filetest.Serve(t, dir, filetest.Writable)
	file := filetest.OpenDraft(t, client, "file", os.O_CREATE|os.O_RDWR)
	_, err := file.Write(make([]byte, 20<<20))
	for _, err := range []error{errors.Join(err, file.Sync()), file.Publish("file", true)} {
		if !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, fileservice.ErrRefused) {
			t.Error(err)
		}
	}
	filetest.Discard(t, file)
	filetest.SeeFiles(t, dir, nil)
	// There is room again.
	file = filetest.OpenDraft(t, client, "file", os.O_CREATE|os.O_RDWR)
	if _, err := file.Write(make([]byte, 5<<20)); err != nil {
		t.Error(err)
	}
	if err := filetest.Publish(file, "file"); err != nil {
		t.Error(err)
	}
	// There is none for a second one, but for a part of it.
	file = filetest.OpenDraft(t, client, "file", os.O_RDWR)
	if err := file.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	if err := filetest.Publish(file, "file"); err != nil {
		t.Error(err)
	}
	filetest.SeeFiles(t, dir, map[string][]byte{"file": make([]byte, 1<<20)})
}

// TestDraftsAtOnce writes many files at once, more than have room for what is pending.
func TestDraftsAtOnce(t *testing.T) {
	dir := t.TempDir()
	remote := filetest.Serve(t, dir, filetest.Writable)
	const count = 200
	var files []*client.WritableFile
	for i := range count {
		files = append(files, filetest.OpenDraft(t, remote, fmt.Sprint("file", i), os.O_CREATE|os.O_RDWR))
	}
	content := make([]byte, 300<<10)
	var writing sync.WaitGroup
	for i, file := range files {
		writing.Go(func() {
			for done := 0; done < len(content); done += 10_000 {
				p := bytes.Repeat([]byte{byte(i)}, min(10_000, len(content)-done))
				if _, err := file.WriteAt(p, int64(done)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
	for i, file := range files {
		writing.Go(func() {
			got, err := io.ReadAll(file)
			if err != nil || len(got) != len(content) || bytes.Count(got, []byte{byte(i)}) != len(got) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if err := filetest.Publish(file, fmt.Sprint("file", i)); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != count {
		t.Errorf("%d files, %v", len(entries), err)
	}
}
