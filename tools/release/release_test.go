//go:build unix

package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// need returns the path of a program. Without it, the test is skipped, and in ./dev soak, which installs it, fails.
func need(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath(filepath.Join(cache(t), "bin", name))
	}
	if err != nil {
		skipOrFail(t, err)
	}
	return path
}

// cache returns the directory to which ./dev installs what no distribution has.
func cache(t *testing.T) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "culvert")
}

// skipOrFail is for a test without something that ./dev soak installs.
func skipOrFail(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CULVERT_TEST_ALL") == "1" {
		t.Fatal(err)
	}
	t.Skip("skipped:", err)
}

// output runs a command that has to succeed.
func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(need(t, name), args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, text, &stderr)
	}
	return string(text)
}

// TestPage sets a help text: its paragraphs are filled, its tables stay, and nothing in it is an instruction to roff.
func TestPage(t *testing.T) {
	const help = `Pour pours - water -
and more.

Usage:
  culvert pour FILE

Examples:
  culvert pour a\b   'pour' it

Running:
  -j, --jobs N    pour N at once (default: one
                  for each core)
      --quiet     say nothing

.TH is not for people.

See also: culvert help files
`
	const want = `.TH CULVERT\-POUR 1 2026-11-28 "Culvert v1.2.3" Culvert
.nh
.ad l
.SH NAME
culvert\-pour \- Pour water
.SH SYNOPSIS
.PP
.nf
.in 7n
 culvert pour FILE
.in
.fi
.SH DESCRIPTION
.PP
Pour pours \- water \-
and more.
.PP
\&.TH is not for people.
.SH OPTIONS
.SS Running
.TP
.B \-j, \-\-jobs N
pour N at once (default: one
for each core)
.TP
.B \-\-quiet
say nothing
.SH EXAMPLES
.PP
.nf
.in 7n
 culvert pour a\eb   \(aqpour\(aq it
.in
.fi
.SH SEE ALSO
culvert help files
`
	day := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	if got := string(page("culvert-pour", "1", "Pour water", help, "v1.2.3", day)); got != want {
		t.Errorf("the page is\n%s", got)
	}
}

// TestApkVersion checks that a package for Alpine has a version that apk accepts, and that versions keep their order.
func TestApkVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v0.0.0-20261129090704-09e470f2c02e":        "0.0.0_pre20261129090704",
		"v1.2.4-0.20261129090704-09e470f2c02e":      "1.2.4_pre20261129090704",
		"v1.2.3-rc.1.0.20261129090704-09e470f2c02e": "1.2.3_pre20261129090704",
		"v1.2.3-rc.1":         "1.2.3_rc1",
		"v1.2.3-beta":         "1.2.3_beta",
		"v1.2.3-next.4+x":     "1.2.3_pre",
		"v1.2.3+incompatible": "1.2.3",
		"v1.2.3":              "1.2.3",
	} {
		if got := apkVersion(version); got != want {
			t.Errorf("%s is %s, want %s", version, got, want)
		}
	}
}

// TestRelease makes a release twice, from clones in different directories, the second time with nothing compiled. It
// compares the bytes, and installs what comes out.
func TestRelease(t *testing.T) {
	if os.Getenv("CULVERT_TEST_SOAK") != "1" {
		t.Skip("skipped: it compiles the program twice; ./dev soak release runs it")
	}
	work := t.TempDir()
	key := filepath.Join(work, "key")
	output(t, "", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
	t.Setenv("CULVERT_RELEASE_KEY", key)
	var made []string
	for _, name := range []string{"first", "second one"} {
		source, dir := filepath.Join(work, name), filepath.Join(work, "dist of "+name)
		output(t, "", "git", "clone", "-q", "../..", source)
		if err := makeAll(source, dir, []string{"linux/amd64"}); err != nil {
			t.Fatal(err)
		}
		made = append(made, dir)
		t.Setenv("GOCACHE", filepath.Join(work, "cache"))
	}
	output(t, "", "diff", "-r", made[0], made[1])
	dist := made[0]
	t.Run("sums", func(t *testing.T) { checkSums(t, dist, key) })
	t.Run("packages", func(t *testing.T) { checkPackages(t, dist) })
	t.Run("installed", func(t *testing.T) { checkInstalled(t, dist) })
	t.Run("rpm", func(t *testing.T) { checkRPM(t, dist) })
	t.Run("machine", func(t *testing.T) { checkMachine(t, dist) })
}

func checkSums(t *testing.T, dist, key string) {
	output(t, dist, "sha256sum", "-c", "--strict", sums)
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	signers := filepath.Join(t.TempDir(), "signers")
	if err := os.WriteFile(signers, append([]byte("publisher "), public...), 0o600); err != nil {
		t.Fatal(err)
	}
	const verify = `ssh-keygen -Y verify -f "$0" -I publisher -n culvert-release -s SHA256SUMS.sig <SHA256SUMS`
	output(t, dist, "sh", "-c", verify, signers)
}

// one returns the only file in a directory that a pattern matches.
func one(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s matches %v, %v", pattern, found, err)
	}
	return found[0]
}

// checkManual compares what man shows of each page with what culvert help says: the same words, on 80 columns.
func checkManual(t *testing.T, root string) {
	need(t, "man")
	t.Setenv("MANWIDTH", "80")
	t.Setenv("LC_ALL", "C.UTF-8")
	word := regexp.MustCompile(`[^\s]+`)
	pages := 0
	dir := filepath.Join(root, "usr/share/man")
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		pages++
		shown := output(t, "", "man", "--warnings", "-l", path)
		for line := range strings.Lines(shown) {
			if len([]rune(line)) > columns+1 {
				t.Errorf("%s: a line of %d columns: %s", entry.Name(), len([]rune(line)), line)
			}
		}
		name, _, _ := strings.Cut(entry.Name(), ".")
		args := strings.Split(strings.TrimPrefix(strings.TrimPrefix(name, "culvert"), "-"), "-")
		help := helpOf(t, root, args)
		got := word.FindAllString(shown, -1)
		for _, w := range word.FindAllString(help, -1) {
			w = strings.TrimSuffix(w, ":")
			if !slices.ContainsFunc(got, func(g string) bool { return strings.TrimSuffix(g, ":") == w }) &&
				!slices.Contains([]string{"Usage", "Examples", "See", "also", "Commands"}, w) {
				t.Errorf("%s lacks %q", entry.Name(), w)
			}
		}
		return nil
	})
	if err != nil || pages < 50 {
		t.Errorf("%d pages, %v", pages, err)
	}
}

// helpOf returns the help of a command or a topic, whose names may have hyphens themselves.
func helpOf(t *testing.T, root string, args []string) string {
	program := filepath.Join(root, "usr/bin/culvert")
	for _, path := range [][]string{{strings.Join(args, "-")}, args} {
		if path[0] == "" {
			path = nil
		}
		if text, err := exec.Command(program, append([]string{"help"}, path...)...).Output(); err == nil {
			return string(text)
		}
	}
	t.Fatalf("there is no help on %v", args)
	return ""
}

// checkUnits has systemd read the units, and say how much they are exposed: 2 of 10 at most.
func checkUnits(t *testing.T, root string) {
	units := t.TempDir()
	found, err := filepath.Glob(filepath.Join(root, "usr/lib/systemd/system/*"))
	if err != nil || len(found) != 4 {
		t.Fatalf("the units are %v, %v", found, err)
	}
	var services, all []string
	for _, file := range found {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// Systemd looks for the program on this machine.
		text = bytes.ReplaceAll(text, []byte("=/usr/bin/culvert"), []byte("="+root+"/usr/bin/culvert"))
		unit := filepath.Join(units, strings.Replace(filepath.Base(file), "@", "@nightly", 1))
		if err := os.WriteFile(unit, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if all = append(all, unit); strings.HasSuffix(unit, ".service") {
			services = append(services, unit)
		}
	}
	output(t, "", "systemd-analyze", append([]string{"verify", "--man=no"}, all...)...)
	output(t, "", "systemd-analyze", append([]string{"security", "--offline=true", "--threshold=20"}, services...)...)
}
