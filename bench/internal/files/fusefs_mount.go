package files

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"culvert/bench/internal/harness"
)

// mountLimit is how long a mount may take to come, and to go.
const mountLimit = 15 * time.Second

// mountable is a program that mounts a directory while it runs, and takes it away when SIGTERM comes.
type mountable struct {
	impl      string
	command   func(dir string) *exec.Cmd
	readAhead bool          // raise the kernel's to that of culvert mount
	server    *harness.Tree // nil if there is none
	announces bool          // writes a line when all is ready, which others are when there is something mounted
}

// announcement is closed by the first line.
type announcement struct {
	made chan struct{}
	once sync.Once
}

func (a *announcement) Write(p []byte) (int, error) {
	if bytes.ContainsRune(p, '\n') {
		a.once.Do(func() { close(a.made) })
	}
	return len(p), nil
}

// usePages touches so many bytes of memory and gives them back. In a virtual machine that gives free memory back to its
// host, a page that is touched for the first time takes 7 µs; the next one who takes pages is spared that.
func usePages(size int64) error {
	p, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return err
	}
	for i := 0; i < len(p); i += os.Getpagesize() {
		p[i] = 1
	}
	return syscall.Munmap(p)
}

// mounted is a process that serves a mount.
type mounted struct {
	*harness.Process
	dir   string
	trees []*harness.Tree // the process and its server, whose time is the cost of the mount
	ended <-chan error
}

// path returns the name of a file in the mount.
func (on *mounted) path(name string) string { return filepath.Join(on.dir, name) }

// mounted runs work with a new mount, of which nothing has been read. The sample gets the memory of the process that
// serves it.
func (m *mounts) mounted(
	what mountable, work func(*mounted) (harness.Sample, error),
) (got harness.Sample, err error) {
	server, err := m.mount(what)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.unmount(server)) }()
	if err := m.alignReadAhead(what); err != nil {
		return nil, err
	}
	if got, err = work(server); err != nil {
		return nil, err
	}
	// The memory of the program that reads says nothing of the mount, and its time is that of the part called reader.
	maps.DeleteFunc(got, func(unit string, _ float64) bool {
		return strings.HasSuffix(unit, "peak-bytes") || strings.HasSuffix(unit, "cpu-ns/op")
	})
	if peak := server.Peak.Load(); peak > 0 {
		got["mount-peak-bytes"] = float64(peak)
	}
	return got, nil
}

// mount starts a program and waits until the directory is there.
func (m *mounts) mount(what mountable) (*mounted, error) {
	cmd := what.command(m.at)
	trees := []*harness.Tree{harness.NewTree("mount", cmd)}
	if what.server != nil {
		trees = append(trees, what.server)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = mountLimit
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	announced := &announcement{made: make(chan struct{})}
	cmd.Stdout = announced
	started, err := harness.StartProcess(cmd)
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- started.Wait() }()
	server := &mounted{started, m.at, trees, ended}
	ticks := time.NewTicker(2 * time.Millisecond)
	defer ticks.Stop()
	for begun := time.Now(); ; {
		if !what.announces && isMounted(m.at) {
			return server, nil
		}
		select {
		case <-announced.made:
			return server, nil
		case err := <-ended:
			return nil, fmt.Errorf("%s ended without a mount: %w\n%s", what.impl, err, &stderr)
		case <-ticks.C:
		}
		if time.Since(begun) > mountLimit {
			err := fmt.Errorf("%s has not mounted within %v", what.impl, mountLimit)
			return nil, errors.Join(err, m.unmount(server))
		}
	}
}

// unmount ends a program, and takes away what it has left.
func (m *mounts) unmount(server *mounted) error {
	err := server.Cmd.Process.Signal(syscall.SIGTERM)
	select {
	case ended := <-server.ended:
		if exit := new(exec.ExitError); !errors.As(ended, &exit) { // some end by the signal
			err = errors.Join(err, ended)
		}
	case <-time.After(mountLimit):
		err = errors.Join(err, fmt.Errorf("%s does not end", filepath.Base(server.Cmd.Path)),
			server.Cmd.Process.Kill(), <-server.ended)
	}
	return errors.Join(err, m.sweep())
}

// sweep takes away a mount that nobody serves any more.
func (m *mounts) sweep() error {
	if !isMounted(m.at) {
		return nil
	}
	out, err := exec.Command("fusermount3", "-uz", m.at).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s stays mounted: %w\n%s", m.at, err, out)
	}
	return nil
}

// isMounted reports whether a directory is the root of a mount. It does not touch it, since that could wait.
func isMounted(dir string) bool { return mountDevice(dir) != "" }

// mountDevice gives the number of the device of a mount, "0:35", or "" if there is none (proc_pid_mountinfo(5)).
func mountDevice(dir string) string {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == dir {
			return fields[2]
		}
	}
	return ""
}

// alignReadAhead notes how far the kernel reads ahead in a mount of culvert, and has it read as far for a peer, which
// only root may do.
func (m *mounts) alignReadAhead(what mountable) (err error) {
	file := filepath.Join("/sys/class/bdi", mountDevice(m.at), "read_ahead_kb")
	switch {
	case what.announces:
		m.readAhead, err = os.ReadFile(file)
	case what.readAhead && os.Getuid() == 0:
		err = os.WriteFile(file, m.readAhead, 0)
	}
	return err
}
