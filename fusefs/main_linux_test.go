package fusefs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"culvert/fusefs"
	"culvert/internal/testkit"
	"culvert/internal/testkit/mountsuite"
)

// mountChild is the environment variable with the orders for a process that mounts. A process that used its own mount
// could wait for itself, so the test is another process.
const mountChild = "CULVERT_FUSEFS_MOUNT"

// mountConfig is how a root is mounted.
type mountConfig struct {
	Root, Dir  string // what is served, and where it is mounted; set by startMount
	ReadWrite  bool
	AllowOther bool
	Timeout    time.Duration
	Memory     int64
}

func TestMain(m *testing.M) {
	if text := os.Getenv(mountChild); text != "" {
		if err := runMount(text); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1) //nolint:forbidigo // it is a main function
		}
		return
	}
	code := m.Run()
	if os.Getenv(playMount) != "" {
		os.Exit(code) //nolint:forbidigo // it is a main function
	}
	if err := errors.Join(goleak.Find(), checkAllUnmounted()); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code) //nolint:forbidigo // it is a main function
}

// runMount mounts until its standard input ends, which it does too when the test dies.
func runMount(text string) error {
	var config mountConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return err
	}
	served, err := openRootFS(config.Root)
	if err != nil {
		return err
	}
	mounted, err := fusefs.Mount(config.Dir, fusefs.Config{
		FS: served, ReadWrite: config.ReadWrite, AllowOther: config.AllowOther, Timeout: config.Timeout,
		Memory: config.Memory,
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(os.Stdout, "mounted"); err != nil {
		return errors.Join(err, mounted.Unmount())
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, mounted.Unmount())
}

// mountedDirs are the mounts of all tests.
var mountedDirs struct {
	mu   sync.Mutex
	dirs []string
}

// checkAllUnmounted is the last check: of tests too that ended before they could clean up.
func checkAllUnmounted() error {
	mountedDirs.mu.Lock()
	defer mountedDirs.mu.Unlock()
	var errs []error
	for _, dir := range mountedDirs.dirs {
		errs = append(errs, checkUnmounted(dir))
	}
	return errors.Join(errs...)
}

// mountProcess is a process that mounts.
type mountProcess struct {
	dir     string
	command *exec.Cmd
	input   io.Closer
}

// TestSuite mounts a directory of this machine.
func TestSuite(t *testing.T) {
	mount := func(t *testing.T, served string, options mountsuite.Options) string {
		config := mountConfig{ReadWrite: options.ReadWrite, AllowOther: options.AllowOther}
		return startMount(t, served, t.TempDir(), config).dir
	}
	mountsuite.RunPOSIX(t, mount)
	mountsuite.Run(t, mount, 100_000)
}

// newRoot makes a directory to be served.
func newRoot(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "served")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

func startMount(t *testing.T, root, dir string, config mountConfig) *mountProcess {
	t.Helper()
	needFUSE(t)
	config.Root, config.Dir = root, dir
	mountedDirs.mu.Lock()
	mountedDirs.dirs = append(mountedDirs.dirs, dir)
	mountedDirs.mu.Unlock()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0])
	// The race detector waits for a second before a process ends.
	command.Env = append(os.Environ(), mountChild+"="+string(text), "GORACE=atexit_sleep_ms=0")
	command.Stderr = os.Stderr
	input, output := testkit.StartPiped(t, command)
	p := &mountProcess{dir: dir, command: command, input: input}
	t.Cleanup(func() { p.stop(t) })
	line := make([]byte, len("mounted\n"))
	if _, err := io.ReadFull(output, line); err != nil {
		t.Fatalf("the process that mounts: %v", err)
	}
	return p
}

// stop unmounts, unless the process was killed.
func (p *mountProcess) stop(t *testing.T) {
	t.Helper()
	if p.command.ProcessState == nil {
		if err := p.input.Close(); err != nil {
			t.Error(err)
		}
		if err := p.command.Wait(); err != nil {
			t.Errorf("the process that mounts: %v", err)
		}
	}
	if err := checkUnmounted(p.dir); err != nil {
		t.Error(err)
	}
}

// kill kills the process, which leaves a dead mount behind.
func (p *mountProcess) kill(t *testing.T) {
	t.Helper()
	if err := p.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := p.command.Wait(); err == nil {
		t.Fatal("a process that was killed has ended well")
	}
}

// checkUnmounted fails the test if something is mounted at a directory, and unmounts it.
func checkUnmounted(dir string) error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || !strings.Contains(string(table), " "+dir+" ") {
		return err
	}
	err = fmt.Errorf("%s was still mounted", dir)
	if syscall.Unmount(dir, syscall.MNT_DETACH) == nil {
		return err
	}
	output, failed := exec.Command("fusermount3", "-uz", dir).CombinedOutput()
	if failed != nil {
		err = fmt.Errorf("%w: %w: %s", err, failed, output)
	}
	return err
}

// needFUSE ends a test if nothing can be mounted.
func needFUSE(t *testing.T) {
	t.Helper()
	file, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		testkit.Missing(t, "/dev/fuse", "modprobe fuse, and in a container --device /dev/fuse --cap-add SYS_ADMIN")
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("fusermount3"); err != nil && os.Getuid() != 0 {
		testkit.Missing(t, "fusermount3", "apt-get install fuse3")
	}
}

func isErrno(err error, want syscall.Errno) bool {
	errno, is := errors.AsType[syscall.Errno](err)
	return is && errno == want
}
