package harness

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// HostFacts describes this machine under the given name, and the peers that are installed on it, in the form of Go's
// benchmarks: they say where and with what samples were taken.
func HostFacts(ctx context.Context, name string) string {
	var facts strings.Builder
	add := func(key, value string) {
		if value != "" {
			facts.WriteString(key + ": " + value + "\n")
		}
	}
	add("goos", runtime.GOOS)
	add("goarch", runtime.GOARCH)
	add("cpu", valueIn("/proc/cpuinfo", "model name"))
	add("host", name)
	add("cores", strconv.Itoa(runtime.NumCPU())) // of this run; the machine may have more
	add("cpus", valueIn("/proc/self/status", "Cpus_allowed_list"))
	add("memory", valueIn("/proc/meminfo", "MemTotal"))
	add("kernel", firstLine(ctx, "uname", "-sr"))
	add("date", time.Now().UTC().Format(time.RFC3339))
	add("go", runtime.Version())
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "filippo.io/age" {
			add(module.Path, module.Version)
		}
	}
	for _, peer := range []string{"psql", "pg_dump", "zstd", "gzip", "sqlite3", "rsync", "sshfs"} {
		add(peer, firstLine(ctx, peer, "--version"))
	}
	return facts.String()
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
