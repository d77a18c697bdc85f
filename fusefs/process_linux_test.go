package fusefs_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"culvert/fusefs"
	"culvert/internal/testkit"
)

// playMount tells a process of this test binary to mount a playFS, in its environment: a process that used its own
// mount could wait for itself.
const playMount = "CULVERT_FUSEFS_PLAY"

// playOrder is an order of a test to that process, one line of JSON.
type playOrder struct {
	Put    *playFile
	Remove string
	Stall  *bool
	Moves  *bool
	Fault  string
	Rate   int  // bytes per second that all reads and listings share from now on, if it is not 0
	Leave  bool // unmount
	Wait   bool // and wait for the end
}

// playReport answers each order.
type playReport struct {
	Counts     playCounts
	ResidentKB int
	Err        string
}

type playOptions struct {
	Dir     string
	Timeout time.Duration
	Memory  int64

	AllowOther bool
}

// TestPlayProcess is not a test but that process.
func TestPlayProcess(t *testing.T) {
	text := os.Getenv(playMount)
	if text == "" {
		return
	}
	var options playOptions
	if err := json.Unmarshal([]byte(text), &options); err != nil {
		t.Fatal(err)
	}
	// go-fuse keeps buffers of each size that was asked for until the collector runs.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(104 << 20)
	files := newPlayFS()
	mounted, err := fusefs.Mount(options.Dir, fusefs.Config{
		FS: files, Timeout: options.Timeout, Memory: options.Memory,
		AllowOther: options.AllowOther,
	})
	if err != nil {
		t.Fatal(err)
	}
	answers := json.NewEncoder(os.NewFile(3, "answers"))
	// The input ends when the test is over, however it ended.
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		var order playOrder
		if err := json.Unmarshal(orders.Bytes(), &order); err != nil {
			t.Error(err)
		}
		report := files.obey(order)
		if order.Leave {
			if err := mounted.Unmount(); err != nil {
				report.Err = err.Error()
			}
		}
		if order.Wait {
			if err := mounted.Wait(); err != nil {
				report.Err = err.Error()
			}
		}
		if err := answers.Encode(report); err != nil {
			t.Error(err)
		}
	}
	files.stall(false)
	if err := mounted.Unmount(); err != nil && !strings.Contains(err.Error(), "a file that panics") {
		t.Error(err)
	}
}

func (p *playFS) obey(order playOrder) playReport {
	if order.Put != nil {
		p.put(*order.Put)
	}
	if order.Stall != nil {
		p.stall(*order.Stall)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if order.Moves != nil {
		p.moves = *order.Moves
	}
	delete(p.files, order.Remove)
	if order.Rate != 0 {
		p.rate = order.Rate
	}
	switch order.Fault {
	case "":
	case "none":
		p.fault = nil
	default:
		p.fault = errors.New(order.Fault)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return playReport{Err: err.Error()}
	}
	report := playReport{Counts: p.counts}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(after, &report.ResidentKB); err != nil {
		report.Err = err.Error()
	}
	return report
}

// play is that process, seen from the test.
type play struct {
	t       *testing.T
	dir     string
	command *exec.Cmd
	orders  *json.Encoder
	answers *json.Decoder
	input   io.Closer
}

// shortTimeout is for mounts whose calls are held up: programs wait for its end, and a slow machine answers within it
// what is not held up.
const shortTimeout = 3 * time.Second

func startPlay(t *testing.T, options playOptions) *play {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		testkit.Missing(t, "/dev/fuse", "modprobe fuse, and in a container --device /dev/fuse --cap-add SYS_ADMIN")
	}
	if options.Dir == "" {
		options.Dir = t.TempDir()
	}
	text, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0], "-test.run=^TestPlayProcess$")
	command.Env = append(os.Environ(), playMount+"="+string(text), "GORACE=atexit_sleep_ms=0")
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command.ExtraFiles = []*os.File{theirs}
	if err := errors.Join(command.Start(), theirs.Close()); err != nil {
		t.Fatal(err)
	}
	p := &play{t, options.Dir, command, json.NewEncoder(input), json.NewDecoder(answers), input}
	t.Cleanup(func() {
		p.stop()
		answers.Close()
	})
	p.order(playOrder{})
	return p
}

// order sends the process an order and returns its report.
func (p *play) order(order playOrder) playReport {
	p.t.Helper()
	var report playReport
	if err := errors.Join(p.orders.Encode(order), p.answers.Decode(&report)); err != nil {
		p.t.Fatalf("the process that mounts: %v", err)
	}
	if report.Err != "" {
		p.t.Fatalf("the process that mounts: %s", report.Err)
	}
	return report
}

func (p *play) put(file playFile) { p.t.Helper(); p.order(playOrder{Put: &file}) }

func (p *play) stall(on bool) { p.t.Helper(); p.order(playOrder{Stall: &on}) }

// path returns the path of a name below the mount.
func (p *play) path(name string) string { return p.dir + "/" + name }

func (p *play) stop() {
	if p.command.ProcessState == nil {
		if err := errors.Join(p.input.Close(), p.command.Wait()); err != nil {
			p.t.Errorf("the process that mounts: %v", err)
		}
	}
	if isMounted(p.t, p.dir) {
		p.t.Errorf("%s is still mounted", p.dir)
		if err := syscall.Unmount(p.dir, syscall.MNT_DETACH); err != nil {
			p.t.Error(err)
		}
	}
}

// kill leaves a dead mount behind.
func (p *play) kill() {
	p.t.Helper()
	if err := p.command.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	if err := p.command.Wait(); err == nil {
		p.t.Fatal("a process that was killed has ended well")
	}
}

func isMounted(t *testing.T, dir string) bool {
	t.Helper()
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(table), " "+dir+" ")
}
