package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"culvert/internal/testkit"
	"culvert/internal/testkit/stores"
)

// TestMount runs the scripts that mount. Each ends all that it has mounted, also if it fails.
func TestMount(t *testing.T) {
	needMount(t)
	runScripts(t, "testdata/mount", nil, map[string]command{"mounting": mounting, "mounted": mounted})
}

// TestMountBucket mounts buckets.
func TestMountBucket(t *testing.T) {
	t.Parallel()
	needMount(t)
	runBucketScripts(t, stores.All(t), "testdata/bucketmount",
		map[string]command{"mounting": mounting, "mounted": mounted})
}

// TestMountPages runs the commands of the documentation that mount. PostgreSQL reads what a mount decrypts.
func TestMountPages(t *testing.T) {
	t.Parallel()
	needMount(t)
	if _, err := exec.LookPath("psql"); err != nil {
		testkit.Missing(t, "psql", "apt-get install postgresql-client")
	}
	server := testkit.NewPostgres(t, testkit.PostgresConfig{Password: password})
	host, port, err := net.SplitHostPort(server.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE orders (id int PRIMARY KEY, title text)")
	variables := []string{
		"PGHOST=" + host, "PGPORT=" + port, "PGUSER=postgres", "PGDATABASE=" + database.Name, "PGPASSWORD=" + password,
	}
	runScripts(t, "testdata/mountpages", variables, map[string]command{"mounting": mounting})
}

// TestMountDuckDB has DuckDB read columns of a Parquet file over a mount, and counts what the server sends.
func TestMountDuckDB(t *testing.T) {
	if !testkit.Soak() {
		return
	}
	needMount(t)
	testkit.NeedModule(t, "duckdb")
	variables := []string{"PYTHONPATH=" + testkit.Readers()}
	runScripts(t, "testdata/mountduckdb", variables, map[string]command{"mounting": mounting})
}

// needMount ends a test where nothing can be mounted.
func needMount(t *testing.T) {
	t.Helper()
	if device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		testkit.Missing(t, "/dev/fuse", "modprobe fuse; in a container, --device /dev/fuse --cap-add SYS_ADMIN")
	} else if err := device.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("fusermount3"); err != nil {
		testkit.Missing(t, "fusermount3", "apt-get install fuse3")
	}
}

// mounting starts culvert mount, whose last argument is the directory, and waits until it can be used. Its first line
// goes into a variable; halt ends it.
//
//	mounting VARIABLE COMMAND [ARGUMENT]... DIR
func mounting(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: mounting VARIABLE COMMAND [ARGUMENT]... DIR")
	}
	dir := ts.MkAbs(args[len(args)-1])
	ts.Defer(func() {
		if isMounted(ts, dir) {
			_ = syscall.Unmount(dir, syscall.MNT_DETACH)
			_ = exec.Command("fusermount3", "-uz", dir).Run()
		}
	})
	serving(ts, false, args)
}

// mounted says whether something is mounted on a directory:
//
//	[!] mounted DIR
func mounted(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: mounted DIR")
	}
	if is := isMounted(ts, ts.MkAbs(args[0])); is == neg {
		ts.Fatalf("mounted is %v", is)
	}
}

func isMounted(ts *testscript.TestScript, dir string) bool {
	table, err := os.ReadFile("/proc/self/mountinfo")
	ts.Check(err)
	if parent, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		dir = filepath.Join(parent, filepath.Base(dir))
	}
	return strings.Contains(string(table), " "+dir+" ")
}
