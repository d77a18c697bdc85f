package harness

import (
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

// Work is what a sample moves. The cost of that is the processor time of both ends together, in two units:
//
//	cpu-s/GiB    seconds for each GiB of content that a sample moves
//	cpu-µs/op    microseconds for each small operation of a sample: a file, a read, a round trip
//
// Units with the name of a part, such as server-cpu-s/GiB, have the share of that part. Processor time is spent in user
// code and in system calls. What the kernel does on its own, such as writing dirty pages to a disk, is not counted.
type Work struct {
	Bytes int64 // 0 if it is not known
	Ops   int   // small operations; 0 if there are none
}

// Reader is the part that reads a mount or writes to it. Its time is recorded but not part of the cost: the kernel
// takes much of it, whatever program serves the mount.
const Reader = "reader"

// spend adds to a sample the processor time that a part has taken.
func (w Work) spend(s Sample, part string, spent time.Duration) {
	add := func(unit string, value float64) {
		if part != Reader {
			s["cpu-"+unit] += value
		}
		if part != "" {
			s[part+"-cpu-"+unit] += value
		}
	}
	if w.Bytes > 0 {
		add("s/GiB", spent.Seconds()*(1<<30)/float64(w.Bytes))
	}
	if w.Ops > 0 {
		add("µs/op", spent.Seconds()*1e6/float64(w.Ops))
	}
}

// Here runs work of which this program is both ends. The sample has its time, its speed, what it allocates, its cost.
func (w Work) Here(run func() error) (Sample, error) { return w.Repeated(1, run) }

// Repeated is the function Repeated for n runs that together do the work, with their speed and cost.
func (w Work) Repeated(n int, run func() error) (Sample, error) {
	before := CPUTime()
	got, err := Repeated(n, run)
	if err != nil {
		return nil, err
	}
	if w.Bytes > 0 {
		got.SetSpeed(w.Bytes / int64(n))
	}
	got["cpu-ns/op"] = float64((CPUTime() - before).Nanoseconds()) / float64(n)
	w.spend(got, "", time.Duration(got["cpu-ns/op"]*float64(n)))
	return got, nil
}

// Between runs work, and adds its cost to the sample: the time that the sample has, as the part called client, and the
// time of processes that run all the time. If the system does not report the time of running processes, there is no
// cost.
func (w Work) Between(client string, others []*Tree, run func() (Sample, error)) (Sample, error) {
	before := make([]snapshot, len(others))
	for i, t := range others {
		before[i] = t.now()
	}
	got, err := run()
	if err != nil {
		return nil, err
	}
	spent := make([]time.Duration, len(others))
	for i, t := range others {
		t.settle(before[i].processes)
		after := t.now()
		if after.processes == 0 || before[i].processes == 0 {
			return got, nil
		}
		spent[i] = after.spent - before[i].spent
	}
	w.spend(got, client, time.Duration(got["cpu-ns/op"]))
	for i, t := range others {
		w.spend(got, t.name, spent[i])
	}
	return got, nil
}

// Tree is a process that runs all the time, and the processes that it has started: those below it, and those that have
// left it and still have its mark in their environment, as the ssh of sshfs does.
type Tree struct {
	name string // of the part, such as "server"
	mark string // a variable of the environment
	cmd  *exec.Cmd
}

// marks numbers the trees.
var marks atomic.Int64

const markVariable = "CULVERT_BENCH_TREE="

// NewTree returns the tree of a command that is not running yet, as a part with a name.
func NewTree(name string, cmd *exec.Cmd) *Tree {
	mark := fmt.Sprintf("%s%d-%d", markVariable, os.Getpid(), marks.Add(1)) // no other program's
	cmd.Env = append(cmd.Environ(), mark)
	return &Tree{name: name, mark: mark, cmd: cmd}
}

// snapshot is the state of a tree.
type snapshot struct {
	processes int           // that run; 0 if the system does not report them
	spent     time.Duration // by them, and by those that have ended and were waited for
}

// settle waits until at most a number of processes run, or a second has passed. When the client of an sshd has ended,
// the process that served it takes a few milliseconds to end, and its time is known only then.
func (t *Tree) settle(processes int) {
	ticks := time.NewTicker(2 * time.Millisecond)
	defer ticks.Stop()
	for deadline := time.After(time.Second); t.now().processes > processes; {
		select {
		case <-ticks.C:
		case <-deadline:
			return
		}
	}
}
