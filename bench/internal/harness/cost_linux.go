package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// now returns the state of a tree.
func (t *Tree) now() snapshot {
	var state snapshot
	for _, p := range t.members() {
		own, err := processClock(p.pid)
		if err != nil {
			continue // it has ended since
		}
		state.processes++
		state.spent += own + p.ended
	}
	return state
}

// process is a line of /proc/PID/stat.
type process struct {
	pid, parent int
	ended       time.Duration // the time of its children that it has waited for, in steps of 10 ms
}

// members returns the processes of a tree that run.
func (t *Tree) members() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]process{}
	var members []process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		p, err := statOf(pid)
		if err != nil {
			continue
		}
		if pid == t.cmd.Process.Pid || t.marked(pid) {
			members = append(members, p)
		}
		children[p.parent] = append(children[p.parent], p)
	}
	for i := 0; i < len(members); i++ {
		for _, child := range children[members[i].pid] {
			if !slices.Contains(members, child) {
				members = append(members, child)
			}
		}
	}
	return members
}

// marked reports whether a process has the mark of the tree.
func (t *Tree) marked(pid int) bool {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return err == nil && bytes.Contains(append(environment, 0), []byte(t.mark+"\x00"))
}

// statOf reads proc_pid_stat(5).
func statOf(pid int) (process, error) {
	const (
		parent, childUser, childSystem = 1, 13, 14 // fields behind the name
		ticks                          = 100       // per second, on all systems that Go supports
	)
	p := process{pid: pid}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= childSystem {
		return p, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	above, err1 := strconv.Atoi(fields[parent])
	user, err2 := strconv.ParseInt(fields[childUser], 10, 64)
	system, err3 := strconv.ParseInt(fields[childSystem], 10, 64)
	p.parent, p.ended = above, time.Duration(user+system)*time.Second/ticks
	return p, errors.Join(err1, err2, err3)
}

// processClock returns the processor time of all threads of a process, also of those that have ended, in nanoseconds:
// the clock of clock_getcpuclockid(3).
func processClock(pid int) (time.Duration, error) {
	const scheduler = 2 // of the kinds of clocks that a process has
	var now unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|scheduler), &now)
	return time.Duration(now.Nano()), err
}
