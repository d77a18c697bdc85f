package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"culvert/internal/testkit"
	"culvert/internal/testkit/mountsuite"
)

// TestMountSuite puts the mount of a server to the tests that every mount has to pass. Server and mount are processes
// of the program.
func TestMountSuite(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	needMount(t)
	mountsuite.Run(t, mountServed, 10_000)
}

func TestMountPOSIX(t *testing.T) {
	needMount(t)
	mountsuite.RunPOSIX(t, mountServed)
}

func mountServed(t *testing.T, served string, options mountsuite.Options) string {
	t.Helper()
	r := newRemoteDir(t, served)
	r.serve()
	var flags []string
	if options.ReadWrite {
		flags = append(flags, "--rw")
	}
	if options.AllowOther {
		flags = append(flags, "--allow-other")
	}
	return r.mount(flags...)
}

// remoteDir is a directory that a server serves, and its mounts.
type remoteDir struct {
	t           *testing.T
	home        string
	fingerprint string
	served      string
	address     string
	url         string
	serveFlags  []string
	server      *process
}

// process is a culvert that runs.
type process struct {
	command *exec.Cmd
	first   string // line that it printed
	stderr  bytes.Buffer
}

func newRemoteDir(t *testing.T, served string) *remoteDir {
	t.Helper()
	r := &remoteDir{t: t, home: t.TempDir(), served: served, address: testkit.Address(t)}
	keygen := r.command("keygen", "-o", filepath.Join(r.home, "identity"))
	if output, err := keygen.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	text, err := os.ReadFile(filepath.Join(r.home, "identity"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "# fingerprint: ")
	r.fingerprint, _, _ = strings.Cut(rest, "\n")
	return r
}

func (r *remoteDir) command(args ...string) *exec.Cmd {
	command := exec.Command("culvert", args...)
	command.Env = append(os.Environ(), "HOME="+r.home, "XDG_CONFIG_HOME="+r.home,
		"CULVERT_IDENTITY="+filepath.Join(r.home, "identity"), "GORACE=atexit_sleep_ms=0")
	return command
}

// start starts a culvert and waits for its first line.
func (r *remoteDir) start(args ...string) *process {
	r.t.Helper()
	p := &process{command: r.command(args...)}
	p.command.Stderr = &p.stderr
	output, err := p.command.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if p.command.ProcessState == nil {
			_ = p.command.Process.Kill() // a test that fails leaves it running
			_ = p.command.Wait()
		}
	})
	lines := bufio.NewReader(output)
	p.first, err = lines.ReadString('\n')
	if err != nil {
		_ = p.command.Wait()
		r.t.Fatalf("culvert %s has ended: %s", strings.Join(args, " "), p.stderr.String())
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the process
	return p
}

// serve starts the server, each time at the same address.
func (r *remoteDir) serve() {
	r.t.Helper()
	args := append([]string{"serve", "--listen", r.address, "--allow", r.fingerprint, "--writable"}, r.serveFlags...)
	r.server = r.start(append(args, r.served)...)
	r.url = strings.TrimSpace(r.server.first)
}

// mount mounts until the test ends, and gives the place.
func (r *remoteDir) mount(flags ...string) string {
	r.t.Helper()
	dir := r.t.TempDir()
	r.t.Cleanup(func() {
		table, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			r.t.Error(err)
		}
		if strings.Contains(string(table), " "+dir+" ") {
			r.t.Errorf("%s was still mounted", dir)
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				r.t.Error(exec.Command("fusermount3", "-uz", dir).Run())
			}
		}
	})
	args := append([]string{"mount", "--json"}, flags...)
	p := r.start(append(args, r.url, dir)...)
	r.t.Cleanup(func() {
		if err := p.command.Process.Signal(os.Interrupt); err != nil {
			r.t.Error(err)
		}
		var exit *exec.ExitError
		if err := p.command.Wait(); err != nil && !errors.As(err, &exit) {
			r.t.Error(err)
		}
		if code := p.command.ProcessState.ExitCode(); code != 130 && code != 0 {
			r.t.Errorf("culvert mount ends with %d: %s", code, p.stderr.String())
		}
	})
	return dir
}
