//go:build linux

package main

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limit is how long a test waits for something that would never come.
const limit = 2 * time.Minute

// machine is a system that runs, with systemd as its process 1, beside this one. It has a network of its own.
type machine struct {
	t   *testing.T
	pid string // of its process 1
}

// boot starts a system that has little but systemd, apt and man. Programs are beside it in /usr/local/bin.
func boot(t *testing.T, programs ...string) *machine {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("skipped: only root has another root")
	}
	need(t, "unshare")
	system := filepath.Join(cache(t), "system")
	if _, err := os.Stat(filepath.Join(system, "usr/lib/systemd/systemd")); err != nil {
		skipOrFail(t, err)
	}
	ready := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: ready, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	args := []string{"testdata/boot.sh", system, ready}
	for _, name := range programs {
		args = append(args, name+"="+need(t, name))
	}
	var said strings.Builder
	cmd := exec.Command("sh", args...)
	cmd.Stderr = &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // if the test is killed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // a system that is switched off ends by a signal
		close(ended)
		_ = socket.Close()
	}()
	group := "culvert-boot-" + strconv.Itoa(cmd.Process.Pid)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // which ends all that runs there
		<-ended
		removeGroup(t, group)
	})
	await(t, socket, &said)
	children, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/task/" + strconv.Itoa(cmd.Process.Pid) +
		"/children")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t, strings.TrimSpace(string(children))}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(m.run("journalctl", "--no-pager", "--lines=60"))
		}
	})
	return m
}

// await waits until systemd says that it has started.
func await(t *testing.T, socket *net.UnixConn, said *strings.Builder) {
	t.Helper()
	if err := socket.SetReadDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	for message := make([]byte, 4<<10); ; {
		n, err := socket.Read(message)
		if err != nil {
			t.Fatalf("the system has not started: %v\n%s", err, said)
		}
		if strings.Contains("\n"+string(message[:n]), "\nREADY=1") {
			return
		}
	}
}

// removeGroup removes a control group with those below it, as soon as what ran there has ended.
func removeGroup(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		dir := filepath.Join(root, name)
		for isDirectory(dir) {
			said, err := exec.CommandContext(ctx, "find", dir, "-depth", "-type", "d", "-delete").CombinedOutput()
			if ctx.Err() != nil {
				t.Fatalf("the control group is not empty: %v\n%s", err, said)
			}
		}
	}
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// inside returns the arguments of nsenter that run a command there.
func (m *machine) inside(args ...string) []string {
	return append([]string{
		"--target", m.pid, "--all", "env", "-i", "HOME=/root", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
	}, args...)
}

// run runs a command there, which has to succeed.
func (m *machine) run(args ...string) string {
	m.t.Helper()
	return output(m.t, "", "nsenter", m.inside(args...)...)
}

// fails runs a command there, which has to fail.
func (m *machine) fails(args ...string) {
	m.t.Helper()
	if said, err := exec.Command("nsenter", m.inside(args...)...).CombinedOutput(); err == nil {
		m.t.Errorf("%s has succeeded: %s", strings.Join(args, " "), said)
	}
}

// path returns where a file of the machine is for this process.
func (m *machine) path(name string) string { return filepath.Join("/proc", m.pid, "root", name) }

func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.path(name), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// await waits until the journal of a unit has count lines that match a pattern, and returns what the last one captures.
func (m *machine) await(unit, pattern string, count int) []string {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nsenter",
		m.inside("journalctl", "--follow", "--lines=all", "--output=cat", "--unit="+unit)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it is killed
	}()
	wanted := regexp.MustCompile(pattern)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		found := wanted.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		if count--; count == 0 {
			return found
		}
	}
	m.t.Fatalf("the journal of %s lacks %d lines of %s", unit, count, pattern)
	return nil
}

// checkMachine does on a machine what a new user does: installs the deb, reads the manual, exports each night to a
// bucket, offers files to others, removes old exports, and removes the package.
func checkMachine(t *testing.T, dist string) {
	m := boot(t, "weed", "nats-server")
	deb, err := os.ReadFile(one(t, dist, "*.deb"))
	if err != nil {
		t.Fatal(err)
	}
	m.write("/root/culvert.deb", string(deb))
	m.run("apt-get", "install", "-qy", "--no-install-recommends", "/root/culvert.deb")
	if page := m.run("man", "culvert-export"); !strings.Contains(page, "CULVERT-EXPORT(1)") {
		t.Errorf("the manual says %s", page)
	}
	m.readsUnits()
	m.nights()
	m.serves()
	m.works()
	m.run("apt-get", "remove", "-qy", "culvert")
	m.fails("systemctl", "is-active", "culvert-serve.service")
	m.fails("systemctl", "cat", "culvert-serve.service")
	left := m.run("find", "/usr", "/etc/systemd", "/run/systemd/system", "-name", "culvert*", "-not", "-path",
		"/usr/local/*", "-not", "-name", "culvert-job@nightly.timer.d")
	if left != "" {
		t.Errorf("what is left: %s", left)
	}
	if failed := m.run("systemctl", "--failed", "--quiet"); failed != "" {
		t.Errorf("what has failed: %s", failed)
	}
}

// readsUnits has a man page of each unit, and no warning of systemd about one.
func (m *machine) readsUnits() {
	for _, unit := range units {
		unit = strings.Replace(unit, "@", "@nightly", 1)
		if said := m.run("sh", "-c", "systemd-analyze verify "+unit+" 2>&1"); said != "" {
			m.t.Errorf("systemd says of %s: %s", unit, said)
		}
	}
}

// bucketOf is the bucket of a machine, and how its server knows who one is.
const (
	bucketOf    = "s3://backups/shop"
	credentials = "AWS_ACCESS_KEY_ID=backup\nAWS_SECRET_ACCESS_KEY=of-the-shop\nAWS_REGION=us-east-1\n" +
		"AWS_ENDPOINT_URL=http://127.0.0.1:8333\n"
	bucketConfig = `{"identities":[{"name":"backup","credentials":[{"accessKey":"backup",` +
		`"secretKey":"of-the-shop"}],"actions":["Admin","Read","Write","List","Tagging"]}]}`
)

// nights has the timer run a job three times, and removes all exports but two, with an identity that the job lacks.
func (m *machine) nights() {
	t := m.t
	m.write("/etc/bucket.json", bucketConfig)
	m.run("mkdir", "/srv/bucket")
	m.run("systemd-run", "--unit=bucket", "weed", "server", "-dir=/srv/bucket", "-ip=127.0.0.1", "-s3",
		"-s3.config=/etc/bucket.json", "-s3.port.iceberg=0", "-volume.max=10", "-master.volumeSizeLimitMB=64")
	m.run("timeout", "60", "bash", "-c", "until : </dev/tcp/127.0.0.1/8333; do :; done 2>/dev/null")
	m.run("sqlite3", "/srv/shop.db", "CREATE TABLE orders (id INT, item TEXT); INSERT INTO orders VALUES (1, 'tea');")
	m.run("culvert", "keygen", "-o", "/etc/culvert/identity.txt")
	ours, err := os.ReadFile(m.path("/etc/culvert/identity.txt"))
	if err != nil {
		t.Fatal(err)
	}
	theirs := m.run("sh", "-c", "culvert keygen -o /root/theirs.txt 2>&1")
	recipient := regexp.MustCompile(`age1\w+`).FindString(theirs)
	fingerprint := regexp.MustCompile(`(?m)fingerprint: +(\w+)`).FindStringSubmatch(string(ours))
	if recipient == "" || fingerprint == nil {
		t.Fatalf("the keys are %s and %s", ours, theirs)
	}
	m.write("/root/author.txt", fingerprint[1]+"\n")
	m.write("/etc/culvert/job.conf", credentials)
	m.write("/etc/culvert/jobs/nightly.yaml",
		"from: /srv/shop.db\nto: "+bucketOf+"/{date}-{time}\nrecipients: ["+recipient+"]\n")
	m.write("/etc/systemd/system/culvert-job@nightly.timer.d/when.conf",
		"[Timer]\nOnCalendar=\nOnCalendar=*:*:*\nAccuracySec=1us\n")
	m.run("systemctl", "daemon-reload")
	m.run("systemctl", "enable", "--now", "culvert-job@nightly.timer")
	m.await("culvert-job@nightly.service", `^culvert-job@nightly\.service: Deactivated successfully`, 3)
	m.run("systemctl", "disable", "--now", "culvert-job@nightly.timer")
	m.run("systemctl", "stop", "culvert-job@nightly.service")
	m.await("culvert-job@nightly.service", `^s3://backups/shop/.*: 1 table, .*1 row`, 3)

	prune := "set -a; . /etc/culvert/job.conf; culvert prune -i /root/theirs.txt --from /root/author.txt " + bucketOf
	if due := m.run("sh", "-c", prune+" --keep-last 2"); !strings.Contains("\n"+due, "\ndue ") {
		t.Errorf("of three nights, of which two are kept, none is due: %s", due)
	}
	m.run("sh", "-c", prune+" --keep-last 2 --yes")
	kept := regexp.MustCompile(`(?m)^kept +(\S+)`).FindAllStringSubmatch(m.run("sh", "-c", prune+" --keep-last 2"), -1)
	if len(kept) != 2 {
		t.Fatalf("what is kept: %q", kept)
	}
	m.run("sh", "-c", "set -a; . /etc/culvert/job.conf; culvert load --create -i /root/theirs.txt --from "+
		"/root/author.txt "+bucketOf+"/"+kept[1][1]+" /root/restored.db")
	if rows := m.run("sqlite3", "/root/restored.db", "SELECT * FROM orders"); rows != "1|tea\n" {
		t.Errorf("the rows are %s", rows)
	}
}

// serves has the server offer a file, reads it, and kills the server, which systemd starts again.
func (m *machine) serves() {
	t := m.t
	const unit = "culvert-serve.service"
	fingerprint := m.run("sh", "-c", "culvert keygen 2>&1 | sed -n 's/^fingerprint: *//p'")
	m.write("/etc/culvert/allow.txt", fingerprint)
	m.run("systemctl", "enable", "--now", unit)
	url := m.await(unit, `(culvert://\w+@)[^/]+(:\d+/)`, 1)
	m.write("/var/lib/culvert/plan.txt", "water")
	ls := []string{"culvert", "ls", url[1] + "127.0.0.1" + url[2]}
	if got := m.run(ls...); got != "plan.txt\n" {
		t.Errorf("the server has %s", got)
	}
	m.run("systemctl", "reload", unit)
	m.run("systemctl", "kill", "--signal=KILL", unit)
	m.await(unit, `culvert://\w+@`, 2)
	if got := m.run(ls...); got != "plan.txt\n" {
		t.Errorf("the server that was killed has %s", got)
	}
	m.stops(unit)
}

// works has a worker wait for jobs of a queue.
func (m *machine) works() {
	const unit = "culvert-worker.service"
	m.run("mkdir", "/srv/queue")
	m.run("systemd-run", "--unit=queue", "nats-server", "-js", "-sd", "/srv/queue", "-a", "127.0.0.1")
	m.run("timeout", "60", "bash", "-c", "until : </dev/tcp/127.0.0.1/4222; do :; done 2>/dev/null")
	m.write("/etc/culvert/worker.conf", "NATS_URL=nats://127.0.0.1\nARGS=-j 1\n")
	m.write("/etc/culvert/source.txt", "postgres://backup@127.0.0.1/shop\n")
	m.run("systemctl", "enable", "--now", unit)
	m.await(unit, `takes parts from nats://127\.0\.0\.1`, 1)
	m.stops(unit)
	m.run("systemctl", "disable", unit)
}

// stops stops a unit, which has to end well, and starts it again.
func (m *machine) stops(unit string) {
	m.t.Helper()
	m.run("systemctl", "stop", unit)
	const well = "Result=success\nExecMainStatus=0\n"
	if got := m.run("systemctl", "show", "--property=Result,ExecMainStatus", unit); got != well {
		m.t.Errorf("%s has ended with %s", unit, got)
	}
	m.run("systemctl", "start", unit)
	m.run("systemctl", "is-active", unit)
}
