package transfer_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"culvert/fileservice"
	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/server"
	"culvert/fileservice/transfer"
	"culvert/internal/testkit"
	"culvert/wal"
)

// killRun is how often processes are killed, and how large the file is: several times what may be lost at once, so that
// some lives lose all that they move, and others add to it.
func killRun() (kills, size int) {
	if testkit.Soak() {
		return 100, 160<<20 + 1
	}
	return 5, 40<<20 + 1
}

// lifetime is how much a process may move before it is killed, from next to nothing to more than what may be lost. Each
// power of two is as likely as the others.
func lifetime(random *rand.Rand) int64 { return random.Int64N(1 << (18 + random.IntN(9))) }

// transferChild is what a child process is told, in its environment.
const transferChild = "CULVERT_TRANSFER_CHILD"

// TestTransferChild is a child that is killed. It says how much it has found there, and moved, again and again.
func TestTransferChild(t *testing.T) {
	var role, address, dir string
	if n, _ := fmt.Sscan(os.Getenv(transferChild), &role, &address, &dir); n != 3 {
		t.Skip("it is a part of other tests")
	}
	if role == "drafts" {
		first, err := strconv.ParseInt(dir, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		writeDrafts(t, address, first)
		return
	}
	root := filetest.OpenRoot(t, dir)
	if role == "serve" {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		server, err := server.New(server.Config{Root: root, Writable: true})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintln(os.Stdout, "serving")
		t.Fatal(server.Serve(listener))
	}
	progress := &transfer.Progress{}
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address)})
	run := transfer.Pull
	if strings.HasPrefix(role, "push") {
		run = transfer.Push
	}
	name := "file"
	if strings.HasSuffix(role, "-tree") {
		name = "."
	}
	say := func() {
		s := progress.Status()
		_, _ = fmt.Fprintln(os.Stdout, "moved", s.BytesMoved, s.BytesDone-s.BytesMoved)
	}
	stop := make(chan struct{})
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				say()
			}
		}
	}()
	config := transfer.Config{Remote: name, Root: root, Local: name, Progress: progress}
	result, err := run(t.Context(), client.Place(), config)
	close(stop)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprintln(os.Stdout, "done", result.Bytes, result.Resumed)
}

// startChild starts a child process.
func startChild(t *testing.T, role, address, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestTransferChild$")
	child.Env = append(os.Environ(), fmt.Sprint(transferChild, "=", role, " ", address, " ", dir))
	child.Stderr = os.Stderr
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	return child, bufio.NewScanner(output)
}

// startServing starts a child that serves a directory, and waits until it does.
func startServing(t *testing.T, address, dir string) *exec.Cmd {
	t.Helper()
	child, lines := startChild(t, "serve", address, dir)
	if lines.Scan(); lines.Text() != "serving" {
		t.Fatalf("the server says %q", lines.Text())
	}
	return child
}

// life is what a child has said before it was killed, or ended.
type life struct {
	moved, resumed int64
	done           bool
}

// live lets a child transfer and kills it when it has moved so much, which is never if it is negative.
func live(t *testing.T, role, address, dir string, until int64) (l life) {
	t.Helper()
	child, lines := startChild(t, role, address, dir)
	killed := false
	var said []string
	for lines.Scan() { // and what it says after the kill
		var moved, resumed int64
		if !strings.HasPrefix(lines.Text(), "moved") {
			said = append(said, lines.Text())
		}
		if n, _ := fmt.Sscanf(lines.Text(), "done %d %d", &moved, &resumed); n == 2 {
			l = life{moved, resumed, true}
		}
		if n, _ := fmt.Sscanf(lines.Text(), "moved %d %d", &moved, &resumed); n == 2 && !l.done {
			l.moved, l.resumed = moved, max(l.resumed, resumed)
		}
		if until >= 0 && l.moved >= until && !killed {
			killed = true
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err != nil && !killed {
		t.Fatalf("%v: %q", err, said)
	}
	return l
}

// journalled gives the bytes that the journal of a transfer speaks of.
func journalled(t *testing.T, dir string, size int64) int64 {
	t.Helper()
	path := filepath.Join(dir, "file.culvert.journal")
	if _, err := os.Stat(path); err != nil {
		return 0
	}
	reader, _, err := wal.OpenReader(path, nil)
	if err != nil {
		return 0 // it was only just made
	}
	blocks := int64(0)
	for record, err := range reader.Records(context.Background(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(record.Data, []byte("culvert2")) {
			blocks += int64(len(record.Data)-8) / int64(len(fileservice.Sum{}))
		}
	}
	return min(blocks*fileservice.BlockSize, size)
}

// TestTransferKilled kills a process that pulls or pushes, with SIGKILL at any time, until it was done in spite of it.
// What the journal speaks of is not transferred again, and it speaks of all but a bounded rest.
func TestTransferKilled(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"pull", "push"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			kills, size := killRun()
			from, _ := filetest.Tree(t, map[string]int{"file": size})
			to := t.TempDir()
			if err := os.Mkdir(filepath.Join(to, "void"), 0o755); err != nil {
				t.Fatal(err)
			}
			served, here := from, to
			if role == "push" {
				served, here = to, from
			}
			address := filetest.Listen(t, served, filetest.Writable)
			random := rand.New(rand.NewPCG(7, 7))
			for n := 0; n < kills; n++ {
				before := journalled(t, to, int64(size))
				l := live(t, role, address, here, lifetime(random))
				_, err := os.Stat(filepath.Join(to, "file"))
				if role == "pull" && err == nil {
					// It may have been killed before the journal was removed.
					if err := os.RemoveAll(filepath.Join(to, "file.culvert.journal")); err != nil {
						t.Fatal(err)
					}
					l.done = true
				}
				if l.done {
					filetest.SeeSame(t, from, to)
					if err := os.RemoveAll(filepath.Join(to, "file")); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if role == "push" {
					continue // the server has not lost what is not in its journal yet
				}
				after := journalled(t, to, int64(size))
				const atRisk = 32<<20 + 17*fileservice.BlockSize // not committed, and what each worker has
				if after < before || l.moved-(after-before) > atRisk {
					t.Errorf("%d bytes came, but the journal went from %d to %d", l.moved, before, after)
				}
				if l.moved > 0 && l.resumed < before-fileservice.BlockSize {
					t.Errorf("%d bytes were found, though the journal speaks of %d", l.resumed, before)
				}
			}
			l := live(t, role, address, here, -1)
			if !l.done {
				t.Fatal("it is not done")
			}
			filetest.SeeSame(t, from, to)
			if l.moved+l.resumed != int64(size) && l.moved != 0 {
				t.Errorf("%d bytes came and %d were there, of %d", l.moved, l.resumed, size)
			}
		})
	}
}

// TestServerKilled kills the server again and again, while a client pulls or pushes and does not give up.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"pull", "push"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			kills, size := killRun()
			from, _ := filetest.Tree(t, map[string]int{"file": size, "sub/small": 100})
			random := rand.New(rand.NewPCG(8, 8))
			for n := 0; n < kills; { // one transfer has an end before that
				n += transferFromKilled(t, role, from, kills-n, random)
			}
		})
	}
}

// transferFromKilled transfers a tree from or to a server that is killed at most so often, and says how often it was.
func transferFromKilled(t *testing.T, role, from string, most int, random *rand.Rand) (kills int) {
	t.Helper()
	to := t.TempDir()
	served, here := from, to
	run := transfer.Pull
	if role == "push" {
		served, here, run = to, from, transfer.Push
	}
	address := testkit.Address(t)
	progress := &transfer.Progress{}
	client := filetest.Connect(t, client.Config{Dial: filetest.Dialer(address), Timeout: time.Second})
	config := transfer.Config{
		Remote: ".", Root: filetest.OpenRoot(t, here), Local: ".", Progress: progress,
		Retry: func(error) bool { return true },
	}
	var ended atomic.Bool
	done := make(chan error, 1)
	go func() {
		_, err := run(t.Context(), client.Place(), config)
		ended.Store(true)
		done <- err
	}()
	for ; !ended.Load(); kills++ {
		child := startServing(t, address, served)
		goal := progress.Status().BytesMoved + lifetime(random)
		ticker := time.NewTicker(time.Millisecond)
		for !ended.Load() && (kills >= most || progress.Status().BytesMoved < goal) {
			<-ticker.C
		}
		ticker.Stop()
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // it was killed
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	filetest.SeeSame(t, from, to)
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	return kills
}
