package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"culvert/internal/testkit"
)

// TestNetwork runs the commands of the README between two network namespaces, which a cable connects that is pulled.
func TestNetwork(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes network namespaces")
	}
	if os.Getuid() != 0 {
		testkit.Missing(t, "network namespaces", "run the tests as root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		testkit.Missing(t, "ip", "apt-get install iproute2")
	}
	here, there := fmt.Sprint("culvert-a", os.Getpid()), fmt.Sprint("culvert-b", os.Getpid())
	runIP := func(args string) error {
		out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
		return nil
	}
	for _, name := range []string{here, there} {
		if err := runIP("netns add " + name); err != nil {
			testkit.Missing(t, err.Error(), "run the tests where network namespaces may be made")
		}
		t.Cleanup(func() {
			if err := runIP("netns del " + name); err != nil {
				t.Error(err)
			}
		})
	}
	for _, args := range []string{
		"-n " + here + " link add cable type veth peer name cable netns " + there,
		"-n " + here + " addr add 10.0.0.7/24 dev cable", "-n " + here + " link set cable up",
		"-n " + there + " addr add 10.0.0.8/24 dev cable", "-n " + there + " link set cable up",
	} {
		if err := runIP(args); err != nil {
			testkit.Missing(t, err.Error(), "run the tests where network devices may be made")
		}
	}
	runScripts(t, "testdata/network", []string{"HERE=" + here, "THERE=" + there}, map[string]command{"grown": grown})
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
