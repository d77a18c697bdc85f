//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// listed are files of every package.
var listed = []string{
	"/usr/bin/culvert", "/usr/share/man/man1/culvert-wal-copy.1.gz", "/usr/share/man/man7/culvert-formats.7.gz",
	"/usr/share/bash-completion/completions/culvert", "/usr/share/zsh/site-functions/_culvert",
	"/usr/share/fish/vendor_completions.d/culvert.fish", "/usr/share/doc/culvert/README.md",
	"/usr/share/doc/culvert/copyright", "/etc/culvert/jobs",
}

// units are those of systemd.
var units = []string{"culvert-job@.service", "culvert-job@.timer", "culvert-serve.service", "culvert-worker.service"}

// checkPackages looks into the files that are not installed here.
func checkPackages(t *testing.T, dist string) {
	rpm := one(t, dist, "*.rpm")
	checkList(t, "rpm", output(t, "", "rpm", "-qlp", "--nosignature", rpm))
	output(t, "", "rpm", "-K", "--nosignature", rpm)
	info := output(t, "", "rpm", "-qip", "--nosignature", rpm)
	for _, want := range []string{"License     : Apache-2.0\n", "Packager    : ", "Summary     : Tables out of "} {
		if !strings.Contains(info, want) {
			t.Errorf("rpm has no %q:\n%s", want, info)
		}
	}
	checkAPK(t, one(t, dist, "*.apk"))
	archive := output(t, "", "tar", "-tzf", one(t, dist, "*.tar.gz"))
	for _, want := range []string{"/culvert\n", "/man/culvert-wal-copy.1.gz\n", "/completions/_culvert\n"} {
		if !strings.Contains(archive, want) {
			t.Errorf("the archive has no %q:\n%s", want, archive)
		}
	}
	layout := t.TempDir()
	output(t, layout, "tar", "-xf", one(t, dist, "*_oci.tar"))
	if err := checkLayout(layout); err != nil {
		t.Error(err)
	}
}

func checkList(t *testing.T, format, list string) {
	t.Helper()
	for _, want := range listed {
		if !strings.Contains(list, want+"\n") {
			t.Errorf("the %s has no %s:\n%s", format, want, list)
		}
	}
	for _, unit := range units {
		if has := strings.Contains(list, "/usr/lib/systemd/system/"+unit+"\n"); has != (format != "apk") {
			t.Errorf("the %s has %s: %v", format, unit, has)
		}
	}
}

// newRoot returns a directory that has nothing but the beginnings of a system.
func newRoot(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("skipped: only root installs packages, and only root has another root")
	}
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "tmp", "root", "etc/systemd/system"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

// checkInstalled installs the deb in a directory that has nothing else, and does there what a new user does.
func checkInstalled(t *testing.T, dist string) {
	root := newRoot(t)
	dpkg := []string{"--root=" + root, "--force-script-chrootless", "--log=/dev/null"}
	output(t, "", "dpkg", append(dpkg, "-i", one(t, dist, "*.deb"))...)
	culvert := func(args ...string) string {
		t.Helper()
		return output(t, "", "chroot", append([]string{root, "/usr/bin/culvert"}, args...)...)
	}
	t.Setenv("HOME", "/root")
	t.Setenv("TMPDIR", "/tmp")
	t.Setenv("XDG_CONFIG_HOME", "")
	if got := culvert("--version"); !regexp.MustCompile(`^culvert v\S+ \(commit [0-9a-f]{12} of 20`).MatchString(got) {
		t.Errorf("the version is %s", got)
	}
	if got := culvert("demo", "--rows", "1000", "--json"); !strings.Contains(got, `"stage":"compare"`) {
		t.Errorf("the demo says %s", got)
	}
	t.Run("manual", func(t *testing.T) { checkManual(t, root) })
	t.Run("units", func(t *testing.T) { checkUnits(t, root) })
	t.Run("nights", func(t *testing.T) { checkNights(t, root) })
	for _, unit := range []string{"culvert-serve.service", "culvert-job@nightly.timer"} {
		output(t, "", "systemctl", "--root="+root, "enable", unit)
	}
	output(t, "", "dpkg", append(dpkg, "-r", "culvert")...)
	checkRemoved(t, root, "/etc/culvert\n") // which has keys that were made there
}

// checkRPM installs the rpm in a directory of its own, and removes it. Its scripts need a shell there, so they are run
// for the deb only.
func checkRPM(t *testing.T, dist string) {
	root := newRoot(t)
	rpm := []string{"--root=" + root, "--nosignature", "--noscripts"}
	output(t, "", "rpm", append(rpm, "-i", one(t, dist, "*.rpm"))...)
	if got := output(t, "", "rpm", append(rpm, "-V", "culvert")...); got != "" {
		t.Errorf("rpm -V says %s", got)
	}
	output(t, "", "chroot", root, "/usr/bin/culvert", "--version")
	output(t, "", "rpm", append(rpm, "-e", "culvert")...)
	checkRemoved(t, root, "")
}

// checkRemoved finds nothing of a package in a root but want, and no link to a unit.
func checkRemoved(t *testing.T, root, want string) {
	t.Helper()
	left := output(t, "", "find", root, "-name", "*culvert*", "-not", "-path", "*/var/lib/*")
	if left = strings.ReplaceAll(left, root, ""); left != want {
		t.Errorf("what is left: %s", left)
	}
}

// checkNights runs what the timer starts, as systemd does, on three nights: a job file of /etc/culvert, an identity
// from the credentials, a directory of state, and a user who may do nothing else. Then what is old is removed.
func checkNights(t *testing.T, root string) {
	in := func(args ...string) string {
		t.Helper()
		return output(t, "", "chroot", append([]string{root}, args...)...)
	}
	output(t, "", "sqlite3", filepath.Join(root, "shop.db"),
		"CREATE TABLE orders (id INT, item TEXT); INSERT INTO orders VALUES (1, 'tea');")
	in("/usr/bin/culvert", "keygen", "-o", "/etc/culvert/identity.txt")
	in("/usr/bin/culvert", "keygen", "-o", "/root/theirs.txt")
	theirs, err := os.ReadFile(filepath.Join(root, "root/theirs.txt"))
	if err != nil {
		t.Fatal(err)
	}
	recipient := regexp.MustCompile(`age1\w+`).FindString(string(theirs))
	for _, night := range []string{"1", "2", "3"} {
		job := "from: /shop.db\nto: shop-" + night + "\nrecipients: [" + recipient + "]\n"
		if err := os.WriteFile(filepath.Join(root, "etc/culvert/jobs/nightly.yaml"), []byte(job), 0o644); err != nil {
			t.Fatal(err)
		}
		runUnit(t, root, "culvert-job@.service", "nightly")
	}
	const place = "/var/lib/culvert-job"
	in("/usr/bin/culvert", "prune", "-i", "/root/theirs.txt", place, "--keep-last", "2", "--yes")
	left, err := filepath.Glob(filepath.Join(root, place, "*", "manifest.json.age"))
	if err != nil || len(left) != 2 || strings.Contains(left[0], "shop-1") {
		t.Errorf("after three nights, of which two are kept, there are %s, %v", left, err)
	}
	in("/usr/bin/culvert", "verify", "-i", "/root/theirs.txt", place+"/shop-3")
}

// runUnit runs the command of a unit as systemd does: with its environment and no other, and its user.
func runUnit(t *testing.T, root, unit, instance string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "usr/lib/systemd/system", unit))
	if err != nil {
		t.Fatal(err)
	}
	const user, credentials = 61234, "/run/credentials/unit"
	all := strings.NewReplacer("%i", instance, "%S", "/var/lib", "%d", credentials).Replace(string(text))
	var command []string
	workingDirectory := "/"
	environment := []string{"CREDENTIALS_DIRECTORY=" + credentials, "PATH=/usr/bin"}
	dir := func(name string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, user, user); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for line := range strings.Lines(all) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch name {
		case "ExecStart":
			command = strings.Fields(value)
		case "Environment":
			environment = append(environment, value)
		case "WorkingDirectory":
			workingDirectory = value
		case "StateDirectory":
			dir("/var/lib/"+value, 0o700)
		case "LoadCredential":
			id, file, _ := strings.Cut(value, ":")
			secret, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			// Later versions of systemd give it to root, with an ACL for the user, which shows as this mode.
			path := filepath.Join(dir(credentials, 0o700), id)
			if err := os.WriteFile(path, secret, 0o440); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(path, user, user); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = workingDirectory, environment
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}}
	if said, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(said), "warning") {
		t.Fatalf("%s: %v\n%s", unit, err, said)
	}
}
