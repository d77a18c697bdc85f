package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// build compiles the command of a package in the directory of a module, and returns the file.
func (s *session) build(module, pkg string) (string, error) {
	file := filepath.Join(s.dir, filepath.Base(pkg))
	cmd := exec.CommandContext(s.ctx, "go", "build", "-o", file, pkg)
	cmd.Dir = module
	return file, s.run(cmd)
}

// run runs a command to its end.
func (s *session) run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, out)
	}
	return nil
}

// pipeline runs commands that each read what the one before writes, from the first start to the last end. The last one
// writes to the file output, unless that is "" and it opens its own. The sample has the time, the CPU seconds of all
// processes together and the sum of their peaks of memory, and both for each of them.
func (s *session) pipeline(output string, commands ...*exec.Cmd) (sample, error) {
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
	var started []*process
	for _, cmd := range commands {
		p, err := startProcess(cmd)
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
	got := sample{}
	for i, p := range started {
		if err := p.wait(); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w\n%s", filepath.Base(p.cmd.Path), err, stderr[i].Bytes()))
			continue
		}
		name := filepath.Base(p.cmd.Path)
		cpu := float64((p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()).Nanoseconds())
		got["cpu-ns/op"] += cpu
		got[name+"-cpu-ns/op"] += cpu
		if peak := float64(p.peak.Load()); peak > 0 {
			got["peak-bytes"] += peak
			got[name+"-peak-bytes"] += peak
		}
	}
	got["ns/op"] = float64(time.Since(start).Nanoseconds())
	return got, errors.Join(failed...)
}

// process is a running command whose memory is watched.
type process struct {
	cmd  *exec.Cmd
	peak atomic.Int64  // peak resident memory in bytes; 0 if the system does not report it
	done chan struct{} // closed when nobody need watch any more
}

// startProcess starts a command. Its peak of memory is read from /proc again and again (VmHWM, which only rises): the
// figure that getrusage has for a child is no lower than the memory of the process that started it.
func startProcess(cmd *exec.Cmd) (*process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	status := fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)
	go func() {
		ticks := time.NewTicker(5 * time.Millisecond)
		defer ticks.Stop()
		for {
			var kibibytes int64
			if _, err := fmt.Sscanf(valueIn(status, "VmHWM"), "%d kB", &kibibytes); err == nil {
				p.peak.Store(kibibytes << 10)
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

func (p *process) wait() error {
	defer close(p.done)
	return p.cmd.Wait()
}

// settle syncs a file, so that the next process does not pay for it, and removes it.
func settle(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close(), os.Remove(name))
}

// cpuOfProcess returns the processor time of a running process, or 0 if the system does not report it.
func cpuOfProcess(pid int) time.Duration {
	const (
		utime = 11  // the field of user time in proc_pid_stat(5), followed by system time
		ticks = 100 // per second, on all systems that Go supports
	)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, behind, _ := strings.Cut(string(stat), ") ") // the name, which may have blanks
	fields := strings.Fields(behind)
	if len(fields) <= utime+1 {
		return 0
	}
	user, err1 := strconv.ParseInt(fields[utime], 10, 64)
	system, err2 := strconv.ParseInt(fields[utime+1], 10, 64)
	if errors.Join(err1, err2) != nil {
		return 0
	}
	return time.Duration(user+system) * time.Second / ticks
}
