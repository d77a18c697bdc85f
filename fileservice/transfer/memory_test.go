package transfer_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"culvert/fileservice/client"
	"culvert/fileservice/internal/filetest"
	"culvert/fileservice/transfer"
	"culvert/internal/testkit"
	"culvert/secureconn"
)

// memoryChild is what a child process is told, in its environment: its role, an address, and a directory.
const memoryChild = "CULVERT_MEMORY_CHILD"

// endKeys are the keys of both ends, which know each other.
func endKeys() (server, client ed25519.PrivateKey) {
	one, two := make([]byte, ed25519.SeedSize), make([]byte, ed25519.SeedSize)
	one[0], two[0] = 1, 2
	return ed25519.NewKeyFromSeed(one), ed25519.NewKeyFromSeed(two)
}

func fingerprintOf(key ed25519.PrivateKey) string {
	return secureconn.Fingerprint(key.Public().(ed25519.PublicKey))
}

// TestMemoryChild is one end of a transfer over encrypted connections, in a process of its own.
func TestMemoryChild(t *testing.T) {
	var role, address, dir string
	if n, _ := fmt.Sscan(os.Getenv(memoryChild), &role, &address, &dir); n != 3 {
		t.Skip("it is a part of another test")
	}
	const ceiling = 96 << 20
	serverKey, clientKey := endKeys()
	if role == "serve" {
		testkit.MemoryCeiling(t, ceiling, func() {
			address := filetest.ListenSecurely(t, dir, serverKey, fingerprintOf(clientKey), nil)
			_, _ = fmt.Fprintln(os.Stdout, "serving", address)
			_, _ = io.Copy(io.Discard, os.Stdin) // until the parent has enough
		})
		return
	}
	config := &secureconn.Config{Key: clientKey, Peers: []string{fingerprintOf(serverKey)}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var result transfer.Result
	testkit.MemoryCeiling(t, ceiling, func() {
		client := filetest.Connect(t, client.Config{
			Dial: func(ctx context.Context) (net.Conn, error) { return secureconn.Dial(ctx, "tcp", address, config) },
		})
		var err error
		result, err = transfer.Pull(t.Context(), client.Place(), transfer.Config{
			Remote: "file", Root: filetest.OpenRoot(t, dir), Local: "file",
		})
		if err != nil {
			t.Error(err)
		}
	})
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	_, _ = fmt.Fprintf(os.Stdout, "allocated %d MiB for %d\n", allocated>>20, result.Bytes>>20)
}

// TestTransferMemory pulls large files, and bounds the memory of both ends, which is the same for all sizes.
func TestTransferMemory(t *testing.T) {
	size := int64(512 << 20)
	if testkit.RaceDetector() {
		size = 64 << 20 // which is not compared with the bound
	}
	sizes := []int64{size}
	if testkit.Soak() {
		sizes = append(sizes, 10<<30)
	}
	for _, size := range sizes {
		from, to := t.TempDir(), t.TempDir()
		file, err := os.Create(filepath.Join(from, "file"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(file.Truncate(size), file.Close()); err != nil { // it takes no room
			t.Fatal(err)
		}
		server, said := memoryEnd(t, "serve", "-", from)
		hold, err := server.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(said)
		var address string
		for address == "" && lines.Scan() {
			address, _ = strings.CutPrefix(lines.Text(), "serving ")
		}
		client, output := memoryEnd(t, "pull", address, to)
		if err := client.Start(); err != nil {
			t.Fatal(err)
		}
		for _, end := range []struct {
			cmd    *exec.Cmd
			output io.Reader
		}{{client, output}, {server, said}} {
			text, err := io.ReadAll(end.output)
			if err := errors.Join(err, end.cmd.Wait()); err != nil {
				t.Errorf("%d MiB: %v: %s", size>>20, err, text)
			}
			t.Logf("%d MiB: %s", size>>20, text)
			if end.cmd == client {
				if err := hold.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		if err := os.Remove(filepath.Join(to, "file")); err != nil {
			t.Error(err)
		}
	}
}

// memoryEnd prepares a child with the collector of the command line.
func memoryEnd(t *testing.T, role, address, dir string) (*exec.Cmd, io.Reader) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestMemoryChild$")
	child.Env = append(os.Environ(), "GOGC=25", fmt.Sprint(memoryChild, "=", role, " ", address, " ", dir))
	child.Stderr = os.Stderr
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	return child, output
}
