package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"culvert/internal/testkit"
)

// TestNetwork interrupts transfers between two network namespaces by taking the link down. One of the scripts runs the
// commands of the documentation.
func TestNetwork(t *testing.T) {
	t.Parallel()
	for _, scripts := range []string{"network", "networkpages"} {
		t.Run(scripts, func(t *testing.T) {
			if scripts == "networkpages" {
				testkit.Long(t)
			}
			t.Parallel()
			n := newNetwork(t)
			n.ip(t, "-n %s link add cable type veth peer name cable netns %s", n.here, n.there)
			n.slow(t)
			n.raise(t)
			n.run(t, "testdata/"+scripts)
		})
	}
}

// network is two network namespaces. Each has, or gets, an end of the cable between them.
type network struct{ here, there string }

// networks counts those of this process, whose names it tells apart.
var networks atomic.Int64

func newNetwork(t *testing.T) network {
	t.Helper()
	if testing.Short() {
		t.Skip("it makes network namespaces")
	}
	if os.Getuid() != 0 {
		testkit.Missing(t, "network namespaces", "run the tests as root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		testkit.Missing(t, "ip", "apt-get install iproute2")
	}
	number := networks.Add(1)
	n := network{
		fmt.Sprintf("culvert-a%d-%d", os.Getpid(), number), fmt.Sprintf("culvert-b%d-%d", os.Getpid(), number),
	}
	for _, name := range []string{n.here, n.there} {
		if err := runIP("netns add " + name); err != nil {
			testkit.Missing(t, err.Error(), "run the tests where network namespaces may be made")
		}
		t.Cleanup(func() {
			if err := runIP("netns del " + name); err != nil {
				t.Error(err)
			}
		})
	}
	return n
}

// slow gives the cable 500 Mbit/s, so that transfers take seconds, and a script cuts it before they are done.
func (n network) slow(t *testing.T) {
	t.Helper()
	for _, name := range []string{n.here, n.there} {
		args := "-n " + name + " qdisc add dev cable root tbf rate 500mbit burst 512kb latency 50ms"
		if out, err := exec.Command("tc", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Logf("the cable is as fast as the kernel: %v: %s", err, out)
		}
	}
}

func runIP(args string) error {
	out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", args, err, out)
	}
	return nil
}

func (network) ip(t *testing.T, format string, args ...any) {
	t.Helper()
	if err := runIP(fmt.Sprintf(format, args...)); err != nil {
		testkit.Missing(t, err.Error(), "run the tests where network devices may be made")
	}
}

// raise assigns addresses to both ends of the cable.
func (n network) raise(t *testing.T) {
	t.Helper()
	for name, address := range map[string]string{n.here: "10.0.0.7/24", n.there: "10.0.0.8/24"} {
		n.ip(t, "-n %s addr add %s dev cable", name, address)
		n.ip(t, "-n %s link set cable up", name)
	}
}

func (n network) run(t *testing.T, scripts string, variables ...string) {
	t.Helper()
	variables = append(variables, "HERE="+n.here, "THERE="+n.there)
	runScripts(t, scripts, variables, map[string]command{"grown": grown})
}

// grown waits until a file has a size:
//
//	grown FILE BYTES
func grown(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: grown FILE BYTES")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	late := time.After(time.Minute)
	for {
		if info, err := os.Stat(ts.MkAbs(args[0])); err == nil && info.Size() >= size {
			return
		}
		select {
		case <-ticker.C:
		case <-late:
			ts.Fatalf("%s has not got %d bytes within a minute", args[0], size)
		}
	}
}
