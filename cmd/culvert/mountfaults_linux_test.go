package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"culvert/internal/testkit"
)

const (
	// faultFiles of faultSize are what programs move when the server has a fault.
	faultFiles = 4
	faultSize  = 24<<20 + 5

	// faultTimeout is the limit of each wait on the mount.
	faultTimeout = "3s"

	// recovery is how long a mount may take to work again.
	recovery = 2 * time.Minute
)

// faults are what happens to a server, and how it is then repaired.
var faults = map[string]struct{ happen, repair func(r *remoteDir) }{
	"killed": {
		func(r *remoteDir) { r.kill() },
		func(r *remoteDir) { r.serve() },
	},
	"restarted": {
		func(r *remoteDir) {
			r.kill()
			r.serve()
		},
		func(*remoteDir) {},
	},
	"stalled": {
		func(r *remoteDir) { r.signal(syscall.SIGSTOP) },
		func(r *remoteDir) { r.signal(syscall.SIGCONT) },
	},
}

func (r *remoteDir) signal(s os.Signal) {
	r.t.Helper()
	if err := r.server.command.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

func (r *remoteDir) kill() {
	r.t.Helper()
	r.signal(os.Kill)
	if err := r.server.command.Wait(); err == nil {
		r.t.Fatal("a server that was killed has ended well")
	}
}

// TestMountFaults has a server killed, restarted and stalled while programs read from it and write to it. A program
// either fails or has moved the right bytes; no name has a part of a file; and the mount recovers. Each program meets
// two faults, one reading and one writing; in the long form it meets all.
func TestMountFaults(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	needMount(t)
	if _, err := exec.LookPath("bash"); err != nil {
		testkit.Missing(t, "bash", "apt-get install bash")
	}
	source := t.TempDir()
	fillFaultFiles(t, source)
	names := slices.Sorted(maps.Keys(faults))
	for f, name := range names {
		fault := faults[name]
		for p, program := range []string{
			"cat FROM/* > TO/all",
			"cp -a FROM/. TO",
			"tar -cf - -C FROM . | tar -xf - -C TO",
			"cd FROM; for f in *; do dd if=$f of=TO/$f bs=1M conv=fsync status=none || exit; done",
		} {
			for w, way := range []string{"read", "write"} {
				if !testkit.Soak() && (p+w)%len(names) != f {
					continue // the long form has each fault with each program and way
				}
				verb, _, _ := strings.Cut(strings.TrimPrefix(program, "cd FROM; for f in *; do "), " ")
				t.Run(fmt.Sprint(way, "/", verb, "/", name), func(t *testing.T) {
					t.Parallel()
					testMountFault(t, source, program, way == "read", fault.happen, fault.repair)
				})
			}
		}
	}
}

func fillFaultFiles(t *testing.T, dir string) {
	t.Helper()
	data := rand.NewChaCha8([32]byte{7})
	content := make([]byte, faultSize)
	for i := range faultFiles {
		_, _ = data.Read(content)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func testMountFault(t *testing.T, source, program string, reads bool, happen, repair func(*remoteDir)) {
	target := t.TempDir()
	served := target
	if reads {
		served = source
	}
	r := newRemoteDir(t, served)
	r.serve()
	l := &line{
		to: r.address, hold: true, broken: make(chan struct{}), free: make(chan struct{}), end: make(chan struct{}),
	}
	l.left.Store(faultFiles * faultSize / 3)
	listener := testkit.ListenTCP(t)
	t.Cleanup(l.begin(listener))
	r.url = strings.Replace(r.url, r.address, listener.Addr().String(), 1)
	mounted := r.mount("--rw", "--timeout", faultTimeout)
	from, to := source, mounted
	if reads {
		from, to = mounted, target
	}
	script := strings.NewReplacer("FROM", from, "TO", to).Replace(program)

	err := runUntil(t, script, l, func() { happen(r) })
	compareTargets(t, source, target, err == nil, !reads)
	repair(r)

	clear(t, target)
	deadline := time.Now().Add(recovery)
	for {
		output, err := exec.Command("bash", "-o", "pipefail", "-c", script).CombinedOutput()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not recover: %v: %s", err, output)
		}
	}
	compareTargets(t, source, target, true, true)
}

// runUntil runs a script that needs a line, and does something once that lets nothing pass any more. Then all passes.
func runUntil(t *testing.T, script string, l *line, happen func()) error {
	t.Helper()
	command := exec.Command("bash", "-o", "pipefail", "-c", script)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("it has ended before the fault: %v: %s", err, output.String())
	case <-l.broken:
	}
	happen()
	l.left.Store(math.MaxInt64)
	close(l.free)
	err := <-ended
	t.Logf("the program ends with %v: %.200s", err, output.String())
	return err
}

func clear(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// compareTargets fails the test if a file has other bytes than the source: if it is complete, or if names have to stand
// for whole files always.
func compareTargets(t *testing.T, source, target string, complete, whole bool) {
	t.Helper()
	if !complete && !whole {
		return
	}
	wanted := map[string][]byte{}
	var all []byte
	for i := range faultFiles {
		name := fmt.Sprint("file", i)
		content, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			t.Fatal(err)
		}
		wanted[name] = content
		all = append(all, content...)
	}
	found := 0
	err := filepath.WalkDir(target, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		if err != nil || entry.IsDir() || strings.HasSuffix(name, ".culvert.draft") {
			return err
		}
		want := wanted[name]
		if name == "all" {
			found += faultFiles - 1
			want = all
		}
		got, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// A program that was told of an error may have closed what it had.
		if !bytes.Equal(got, want) && (complete || !bytes.HasPrefix(want, got)) {
			t.Errorf("%s has %d bytes, and not those of the source, which has %d", name, len(got), len(want))
		}
		found++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if complete && found != faultFiles {
		t.Errorf("there are %d files, want %d", found, faultFiles)
	}
}
