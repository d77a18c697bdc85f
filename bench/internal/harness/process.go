package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Build compiles the command of a package in the directory of a module, and returns the file. Each program is compiled
// once in a process: see [RemovePrograms].
func (s *Session) Build(module, pkg string) (string, error) {
	programs.Lock()
	defer programs.Unlock()
	if programs.dir == "" {
		var err error
		if programs.dir, err = os.MkdirTemp("", "culvert-bench-programs-"); err != nil {
			return "", err
		}
	}
	file := filepath.Join(programs.dir, filepath.Base(pkg))
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	cmd := exec.CommandContext(s.Ctx, "go", "build", "-ldflags=-s -w", "-o", file, pkg)
	cmd.Dir = module
	return file, s.Run(cmd)
}

// programs are those that this process has compiled.
var programs struct {
	sync.Mutex
	dir string
}

// RemovePrograms removes what [Session.Build] has compiled.
func RemovePrograms() error {
	programs.Lock()
	defer programs.Unlock()
	dir := programs.dir
	programs.dir = ""
	return os.RemoveAll(dir)
}

// Run runs a command to its end.
func (s *Session) Run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, out)
	}
	return nil
}

// Pipeline runs commands that each read what the one before writes, from the first start to the last end. The last one
// writes to the file output, unless that is "" and it opens its own. The sample has the time, the CPU seconds of all
// processes together and the sum of their peaks of memory, and both for each of them.
func (s *Session) Pipeline(output string, commands ...*exec.Cmd) (Sample, error) {
	stderr := make([]bytes.Buffer, len(commands))
	var ends []io.Closer // ours, of the pipes and of the output
	defer func() {
		for _, end := range ends {
			_ = end.Close()
		}
	}()
	for i, cmd := range commands {
		cmd.Stderr = &stderr[i]
		if i > 0 {
			r, w, err := os.Pipe()
			if err != nil {
				return nil, err
			}
			ends = append(ends, r, w)
			commands[i-1].Stdout, cmd.Stdin = w, r
		}
	}
	if output != "" {
		file, err := os.Create(output)
		if err != nil {
			return nil, err
		}
		ends = append(ends, file)
		commands[len(commands)-1].Stdout = file
	}

	start := time.Now()
	var failed []error
	var started []*Process
	for _, cmd := range commands {
		p, err := StartProcess(cmd)
		if err != nil {
			failed = append(failed, err)
			break
		}
		started = append(started, p)
	}
	// Only the processes may hold the pipes open, or none would see the end of its input.
	for _, end := range ends {
		failed = append(failed, end.Close())
	}
	ends = nil
	got := Sample{}
	for i, p := range started {
		if err := p.Wait(); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w\n%s", filepath.Base(p.Cmd.Path), err, stderr[i].Bytes()))
			continue
		}
		name := filepath.Base(p.Cmd.Path)
		cpu := float64((p.Cmd.ProcessState.UserTime() + p.Cmd.ProcessState.SystemTime()).Nanoseconds())
		got["cpu-ns/op"] += cpu
		got[name+"-cpu-ns/op"] += cpu
		if peak := float64(p.Peak.Load()); peak > 0 {
			got["peak-bytes"] += peak
			got[name+"-peak-bytes"] += peak
		}
	}
	got["ns/op"] = float64(time.Since(start).Nanoseconds())
	return got, errors.Join(failed...)
}

// Run is one run of a variant.
type Run = func() (Sample, error)

// Piped has each run start commands like these as a [Session.Pipeline].
func (s *Session) Piped(output string, commands ...*exec.Cmd) Run {
	return func() (Sample, error) {
		var again []*exec.Cmd
		for _, cmd := range commands {
			next := exec.CommandContext(s.Ctx, cmd.Path, cmd.Args[1:]...)
			next.Env = cmd.Env
			again = append(again, next)
		}
		return s.Pipeline(output, again...)
	}
}

// Settled has each run settle the file that it has written.
func Settled(file string, run Run) Run {
	return func() (Sample, error) {
		got, err := run()
		return got, errors.Join(err, Settle(file))
	}
}

// Process is a running command whose memory is watched.
type Process struct {
	Cmd  *exec.Cmd
	Peak atomic.Int64  // peak resident memory in bytes; 0 if the system does not report it
	done chan struct{} // closed when nobody need watch any more
}

// StartProcess starts a command. Its peak of memory is read from /proc again and again (VmHWM, which only rises): the
// figure that getrusage has for a child is no lower than the memory of the process that started it.
func StartProcess(cmd *exec.Cmd) (*Process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{Cmd: cmd, done: make(chan struct{})}
	status := fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)
	go func() {
		ticks := time.NewTicker(5 * time.Millisecond)
		defer ticks.Stop()
		for {
			var kibibytes int64
			if _, err := fmt.Sscanf(valueIn(status, "VmHWM"), "%d kB", &kibibytes); err == nil {
				p.Peak.Store(kibibytes << 10)
			}
			select {
			case <-p.done:
				return
			case <-ticks.C:
			}
		}
	}()
	return p, nil
}

// Wait waits for the end of the process.
func (p *Process) Wait() error {
	defer close(p.done)
	return p.Cmd.Wait()
}

// Settle syncs a file, so that the next process does not pay for it, and removes it.
func Settle(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close(), os.Remove(name))
}

// Stop ends a server and waits for it.
func (p *Process) Stop() error {
	err := p.Cmd.Process.Signal(syscall.SIGTERM)
	return errors.Join(err, p.Wait())
}
