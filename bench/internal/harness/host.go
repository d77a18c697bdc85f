package harness

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// facts say where and with what samples were taken: keys and values, in the form of Go's benchmarks.
type facts struct{ lines []string }

func (f *facts) add(key, value string) {
	if value != "" {
		f.lines = append(f.lines, key+": "+value)
	}
}

func (f *facts) String() string { return strings.Join(f.lines, "\n") + "\n" }

// HostFacts describes this machine under the given name, and the peers that are installed on it.
func HostFacts(ctx context.Context, name string) *facts {
	f := new(facts)
	f.add("goos", runtime.GOOS)
	f.add("goarch", runtime.GOARCH)
	f.add("cpu", valueIn("/proc/cpuinfo", "model name"))
	f.add("host", name)
	f.add("cores", fmt.Sprint(runtime.NumCPU())) // of this run; the machine may have more
	f.add("cpus", valueIn("/proc/self/status", "Cpus_allowed_list"))
	f.add("memory", valueIn("/proc/meminfo", "MemTotal"))
	f.add("kernel", firstLine(ctx, "uname", "-sr"))
	f.add("date", time.Now().UTC().Format(time.RFC3339))
	f.add("go", runtime.Version())
	f.add("filippo.io/age", moduleVersion("filippo.io/age"))
	for _, peer := range []string{"psql", "pg_dump", "zstd", "gzip", "sqlite3", "rsync", "sshfs"} {
		f.add(peer, firstLine(ctx, peer, "--version"))
	}
	return f
}

// valueIn gives the first value of a key in one of Linux's lists of "key : value", or "".
func valueIn(file, key string) string {
	list, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer func() { _ = list.Close() }()
	for scan := bufio.NewScanner(list); scan.Scan(); {
		if k, v, ok := strings.Cut(scan.Text(), ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// firstLine gives the first line that a command prints, or "" if there is no such command.
func firstLine(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.Trim(line, "* ")
}

// moduleVersion gives the version of a module that this program was built with, or "".
func moduleVersion(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == path {
			return module.Version
		}
	}
	return ""
}
