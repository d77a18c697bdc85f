package harness

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// busy takes a few hundredths of a second of processor time at least, in a shell, and then writes a line.
const busy = `i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done`

// TestCostOfServers has servers that run all the time work for a client, on their own and by other processes.
func TestCostOfServers(t *testing.T) {
	for name, script := range map[string]string{
		"itself":  `echo ready; while read x; do ` + busy + `; done`,
		"a child": `echo ready; while read x; do sh -c '` + busy + `'; done`,
		// The child is nobody's any more, as the ssh of sshfs is. The server waits for the end of its other input.
		"an orphan": `exec 4<&0; (sh -c 'echo ready; while read x; do ` + busy + `; done' <&4 &); read x <&3`,
	} {
		t.Run(name, func(t *testing.T) {
			server, ask := startShell(t, script)
			s := newTestSession(t)
			got, err := Work{Bytes: 1 << 30, Ops: 1000}.Between("client", []*Tree{server}, func() (Sample, error) {
				if err := ask(); err != nil {
					return nil, err
				}
				return s.Pipeline("", exec.Command("sh", "-c", busy))
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, unit := range []string{"cpu-s/GiB", "cpu-µs/op"} {
				client, others := got["client-"+unit], got["server-"+unit]
				if client <= 0 || others <= 0 || math.Abs(got[unit]-client-others) > 1e-9 {
					t.Errorf("the %s are %v of the client and %v of the server, %v together", unit, client, others,
						got[unit])
				}
			}
		})
	}
}

// startShell starts a script that reads lines, and returns what sends it a line and waits for its answer.
func startShell(t *testing.T, script string) (*Tree, func() error) {
	t.Helper()
	held, release, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.ExtraFiles = []*os.File{held}
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	server := NewTree("server", cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = input.Close()
		_ = release.Close()
		_ = held.Close()
		_ = cmd.Wait() // read says that there is no more
	})
	lines := bufio.NewReader(output)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return server, func() error {
		if _, err := fmt.Fprintln(input, "work"); err != nil {
			return err
		}
		_, err := lines.ReadString('\n')
		return err
	}
}

// TestCostOfReader expects that the reader of a mount is no part of the cost.
func TestCostOfReader(t *testing.T) {
	s := newTestSession(t)
	got, err := Work{Bytes: 1 << 30}.Between(Reader, nil, func() (Sample, error) {
		return s.Pipeline("", exec.Command("sh", "-c", busy))
	})
	if _, has := got["cpu-s/GiB"]; err != nil || has || got["reader-cpu-s/GiB"] <= 0 {
		t.Errorf("the sample is %v, %v", got, err)
	}
}

func TestCostHere(t *testing.T) {
	work := func() error {
		for i := range 10_000_000 {
			runtime.KeepAlive(i)
		}
		return nil
	}
	once, err := Work{Bytes: 1 << 30}.Here(work)
	if err != nil || once["cpu-s/GiB"] <= 0 || once["cpu-ns/op"] <= 0 || once["MB/s"] <= 0 {
		t.Errorf("the sample is %v, %v", once, err)
	}
	often, err := Work{Ops: 3}.Repeated(3, work)
	if err != nil || often["cpu-µs/op"] <= 0 || often["ns/op"] <= 0 {
		t.Errorf("the sample of three runs is %v, %v", often, err)
	}
}
