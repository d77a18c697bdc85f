package mountsuite

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culvert/internal/testkit"
)

// run runs a program in a directory and returns its output.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	output, err := tryRun(t, dir, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, output)
	}
	return output
}

func tryRun(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		testkit.Missing(t, name, "apt-get install git tar coreutils sqlite3 rsync")
	}
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = dir
	command.Env = append(os.Environ(),
		"LC_ALL=C", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	output, err := command.CombinedOutput()
	return string(output), err
}

// fillTree makes directories and files with sizes around those of pages and requests.
func fillTree(t *testing.T, dir string) {
	t.Helper()
	data := rand.NewChaCha8([32]byte{1})
	for i, size := range []int{0, 1, 4095, 4096, 4097, 65_536, 100_000, 1<<20 - 1, 1 << 20, 5<<20 + 3} {
		sub := filepath.Join(dir, fmt.Sprintf("directory %d", i%3), "below")
		if err := os.MkdirAll(sub, 0o755); err != nil {
			t.Fatal(err)
		}
		content := make([]byte, size)
		_, _ = data.Read(content)
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprint("file ", i)), content, os.FileMode(0o600+i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 60 { // more than one listing of the kernel has
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("small", i)), fmt.Append(nil, i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// newRepository makes a repository with two commits.
func newRepository(t *testing.T, dir string) {
	t.Helper()
	fillTree(t, dir)
	run(t, dir, "git", "init", "-q", "-b", "main")
	run(t, dir, "git", "add", ".")
	run(t, dir, "git", "commit", "-q", "-m", "first")
	if err := os.WriteFile(filepath.Join(dir, "small1"), []byte("changed\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "git", "commit", "-q", "-a", "-m", "second")
}

// sameTrees compares names, kinds, permissions and contents.
func sameTrees(t *testing.T, got, want string) {
	t.Helper()
	run(t, "/", "diff", "-r", "--no-dereference", got, want)
	list := func(dir string) string {
		return run(t, dir, "find", ".", "-printf", `%p %y %m\n`)
	}
	if g, w := sortLines(list(got)), sortLines(list(want)); g != w {
		t.Errorf("%s has\n%swant\n%s", got, g, w)
	}
}

func sortLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	// The order of a listing depends on the file system.
	return strings.Join(slices.Sorted(slices.Values(lines)), "")
}

func testProgramsRead(t *testing.T, mount Mount) {
	root := newServed(t)
	repository := filepath.Join(root, "repository")
	if err := os.Mkdir(repository, 0o755); err != nil {
		t.Fatal(err)
	}
	newRepository(t, repository)
	run(t, root, "sh", "-c", "find repository -type f -print0 | xargs -0 sha256sum > sums")
	run(t, root, "sqlite3", "data.db", `CREATE TABLE t (a, b); CREATE INDEX i ON t (b);
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
		INSERT INTO t SELECT i, hex(randomblob(20)) FROM n;`)
	before := run(t, root, "sqlite3", "data.db", "SELECT sum(a), min(b), max(b) FROM t")
	dir := mount(t, root, Options{})
	mounted := filepath.Join(dir, "repository")
	out := t.TempDir()

	t.Run("git", func(t *testing.T) {
		run(t, out, "git", "clone", "-q", "--no-local", mounted, "cloned")
		run(t, filepath.Join(out, "cloned"), "git", "fsck", "--strict")
		if log := run(t, mounted, "git", "log", "--oneline"); strings.Count(log, "\n") != 2 {
			t.Errorf("git log gives %q", log)
		}
		if status := run(t, mounted, "git", "status", "--porcelain"); status != "" {
			t.Errorf("git status gives %q", status)
		}
		run(t, mounted, "git", "diff", "--exit-code", "HEAD")
		run(t, mounted, "git", "fsck", "--strict")
	})
	t.Run("tar", func(t *testing.T) {
		run(t, dir, "tar", "-cf", filepath.Join(out, "tar"), "repository")
		run(t, root, "tar", "-df", filepath.Join(out, "tar"))
	})
	t.Run("cp", func(t *testing.T) {
		run(t, out, "cp", "-a", mounted, "copied")
		sameTrees(t, filepath.Join(out, "copied"), repository)
	})
	t.Run("sha256sum", func(t *testing.T) { run(t, dir, "sha256sum", "--quiet", "-c", "sums") })
	t.Run("grep", func(t *testing.T) {
		if got := run(t, dir, "grep", "-rl", "^changed$", "repository"); got != "repository/small1\n" {
			t.Errorf("grep finds %q", got)
		}
	})
	t.Run("sqlite3", func(t *testing.T) {
		got := run(t, dir, "sqlite3", "-readonly", "data.db",
			"PRAGMA integrity_check; SELECT sum(a), min(b), max(b) FROM t")
		if got != "ok\n"+before {
			t.Errorf("it gives %q, want %q", got, before)
		}
	})
}

func testProgramsWrite(t *testing.T, mount Mount) {
	source := t.TempDir()
	newRepository(t, source)
	root := newServed(t)
	dir := mount(t, root, Options{ReadWrite: true})

	t.Run("git", func(t *testing.T) {
		run(t, dir, "git", "clone", "-q", "--no-local", source, "cloned")
		cloned := filepath.Join(dir, "cloned")
		if err := os.WriteFile(filepath.Join(cloned, "new"), []byte("new\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		run(t, cloned, "git", "add", "new")
		run(t, cloned, "git", "commit", "-q", "-m", "third")
		run(t, cloned, "git", "checkout", "-q", "HEAD~2")
		run(t, cloned, "git", "checkout", "-q", "main")
		run(t, cloned, "git", "gc", "-q")
		if status := run(t, cloned, "git", "status", "--porcelain"); status != "" {
			t.Errorf("git status gives %q", status)
		}
		served := filepath.Join(root, "cloned")
		run(t, served, "git", "fsck", "--strict")
		if status := run(t, served, "git", "status", "--porcelain"); status != "" {
			t.Errorf("git status at the source gives %q", status)
		}
		run(t, dir, "rm", "-r", "cloned")
	})
	t.Run("tar", func(t *testing.T) {
		packed := filepath.Join(t.TempDir(), "tar")
		run(t, source, "tar", "-cf", packed, ".")
		run(t, dir, "mkdir", "untarred")
		run(t, filepath.Join(dir, "untarred"), "tar", "-xf", packed)
		sameTrees(t, filepath.Join(root, "untarred"), source)
		run(t, filepath.Join(root, "untarred"), "tar", "-df", packed) // and the times
	})
	t.Run("cp", func(t *testing.T) {
		run(t, dir, "cp", "-a", source, "copied")
		sameTrees(t, filepath.Join(root, "copied"), source)
		sameTrees(t, filepath.Join(dir, "copied"), source)
	})
	t.Run("rsync", func(t *testing.T) {
		run(t, dir, "rsync", "-a", source+"/", "synced/")
		sameTrees(t, filepath.Join(root, "synced"), source)
		if moved := run(t, dir, "rsync", "-ai", source+"/", "synced/"); moved != "" {
			t.Errorf("a second rsync finds %q", moved)
		}
		run(t, dir, "rsync", "-a", "--inplace", "--ignore-times", source+"/", "synced/")
		sameTrees(t, filepath.Join(root, "synced"), source)
	})
	t.Run("sqlite3", func(t *testing.T) {
		run(t, dir, "sqlite3", "data.db", "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2);")
		run(t, dir, "sqlite3", "data.db", "BEGIN; UPDATE t SET a = a + 10; COMMIT; PRAGMA integrity_check;")
		if got := run(t, root, "sqlite3", "data.db", "SELECT sum(a) FROM t"); got != "23\n" {
			t.Errorf("the source has %q", got)
		}
	})
	t.Run("database kept open", func(t *testing.T) { testOpenDatabase(t, root, dir) })
	t.Run("shell", func(t *testing.T) {
		run(t, dir, "sh", "-c", "echo one > log; echo two >> log; (echo three; echo four) >> log; sed -i s/two/2/ log")
		if got, err := os.ReadFile(filepath.Join(root, "log")); string(got) != "one\n2\nthree\nfour\n" {
			t.Errorf("the source has %q, %v", got, err)
		}
	})
	t.Run("dd", func(t *testing.T) {
		run(t, dir, "dd", "if=/dev/zero", "of=zeros", "bs=1M", "count=16", "conv=fsync", "status=none")
		got, err := os.ReadFile(filepath.Join(root, "zeros"))
		if err != nil {
			t.Fatal(err)
		}
		if sha256.Sum256(got) != sha256.Sum256(make([]byte, 16<<20)) {
			t.Errorf("the source has %d bytes, not all of them zero", len(got))
		}
	})
}

// testOpenDatabase keeps databases open, with each kind of journal, and checks that the source has each transaction as
// soon as it is committed.
func testOpenDatabase(t *testing.T, root, dir string) {
	transactions := 3
	if testkit.Soak() {
		transactions = 8
	}
	for _, journal := range []string{"delete", "truncate", "persist", "wal"} {
		name := journal + ".db"
		command := exec.CommandContext(t.Context(), "sqlite3", "-batch", "-bail", name)
		command.Dir = dir
		command.Stderr = os.Stderr
		input, output := testkit.StartPiped(t, command)
		lines := bufio.NewScanner(output)
		_, err := fmt.Fprintf(input, "PRAGMA journal_mode=%s; PRAGMA synchronous=full; CREATE TABLE t (a);\n", journal)
		if err != nil || !lines.Scan() || lines.Text() != journal {
			t.Fatalf("%s: it says %q, %v", journal, lines.Text(), err)
		}
		for n := range transactions {
			_, err := fmt.Fprintf(input, "INSERT INTO t VALUES (randomblob(20000)); SELECT count(*) FROM t;\n")
			if want := fmt.Sprint(n + 1); err != nil || !lines.Scan() || lines.Text() != want {
				t.Fatalf("%s: it says %q, %v; want %s", journal, lines.Text(), err, want)
			}
			copied := t.TempDir() // for a reader at the source would remove what the program needs
			run(t, root, "sh", "-c", "cp "+name+"* "+copied)
			got := run(t, copied, "sqlite3", name, "PRAGMA integrity_check; SELECT count(*) FROM t")
			if want := fmt.Sprintf("ok\n%d\n", n+1); got != want {
				t.Fatalf("%s: the source has %q, want %q", journal, got, want)
			}
		}
		if err := input.Close(); err != nil {
			t.Error(err)
		}
		if err := command.Wait(); err != nil {
			t.Error(err)
		}
	}
}
