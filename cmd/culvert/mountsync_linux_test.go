package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"culvert/internal/testkit"
)

// deaths are what happens while programs sync what they write into a mount, and what has to be done for it to work
// again.
var deaths = map[string]func(r *remoteDir, m *mountedDir){
	"mount killed": func(r *remoteDir, m *mountedDir) {
		m.signal(os.Kill)
		_ = m.command.Wait() // it was killed
		m.mountAgain()
	},
	"server killed": func(r *remoteDir, m *mountedDir) {
		r.kill()
		r.serve()
	},
	"server ended": func(r *remoteDir, m *mountedDir) {
		r.signal(syscall.SIGTERM)
		_ = r.server.command.Wait() // it says so if it has broken off calls
		r.serve()
	},
	// The server forgets the client, and what that has open.
	"outage": func(r *remoteDir, m *mountedDir) {
		m.signal(syscall.SIGSTOP)
		testkit.WaitFor(r.t, "the server to close the files of a silent client", func() bool {
			return len(r.server.filesIn(r.t, r.served)) == 0
		})
		m.signal(syscall.SIGCONT)
	},
}

// mountedDir is a mount whose process tests end.
type mountedDir struct {
	*process
	remote *remoteDir
	dir    string
}

func (r *remoteDir) mountToEnd(dir string) *mountedDir {
	r.t.Helper()
	m := &mountedDir{remote: r, dir: dir}
	m.mountAgain()
	return m
}

func (m *mountedDir) mountAgain() {
	t := m.remote.t
	t.Helper()
	m.process = m.remote.start("mount", "--json", "--rw", "--timeout", faultTimeout, m.remote.url, m.dir)
	process := m.process
	t.Cleanup(func() {
		if process.command.ProcessState != nil {
			return
		}
		if err := process.command.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		_ = process.command.Wait() // files may be lost that a program has not closed
		if isMountedOn(t, m.dir) {
			t.Errorf("%s was still mounted", m.dir)
			_ = syscall.Unmount(m.dir, syscall.MNT_DETACH)
		}
	})
}

func (m *mountedDir) signal(s os.Signal) {
	m.remote.t.Helper()
	if err := m.command.Process.Signal(s); err != nil {
		m.remote.t.Fatal(err)
	}
}

func isMountedOn(t *testing.T, dir string) bool {
	t.Helper()
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(table), " "+dir+" ")
}

// filesIn returns the regular files below a directory that a process has open.
func (p *process) filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		name, err := os.Readlink(fd)
		if info, gone := os.Stat(fd); err == nil && gone == nil && info.Mode().IsRegular() &&
			strings.HasPrefix(name, dir+"/") {
			names = append(names, name)
		}
	}
	return names
}

// synced is a program that writes into a directory until something fails. It numbers its parts from first on, and asks
// after each that is synced whether to go on.
type synced func(t *testing.T, dir string, first int, goOn func(n int) bool)

// syncedPrograms are such programs, with what finds the parts that are in a directory.
var syncedPrograms = map[string]struct {
	run  synced
	find func(t *testing.T, dir string) map[int]bool
}{
	"sqlite":  {runSQLite, findSQLite},
	"files":   {runFiles, findFiles},
	"appends": {runAppends, findAppends},
	"mapped":  {runMapped, findMapped},
}

// TestMountKeepsWhatIsSynced ends what is between a program and the disk at any moment. All that the program was told
// is synced is in the tree then.
func TestMountKeepsWhatIsSynced(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	needMount(t)
	if _, err := exec.LookPath("sqlite3"); err != nil {
		testkit.Missing(t, "sqlite3", "apt-get install sqlite3")
	}
	rounds := 2
	if testkit.Soak() {
		rounds = 10
	}
	for death, happen := range deaths {
		for name, program := range syncedPrograms {
			t.Run(name+"/"+death, func(t *testing.T) {
				t.Parallel()
				r := newRemoteDir(t, t.TempDir())
				r.serveFlags = []string{"--drain", "5s"}
				if death == "outage" {
					r.serveFlags = append(r.serveFlags, "--stall-timeout", "1s")
				}
				r.serve()
				m := r.mountToEnd(t.TempDir())
				random := rand.New(rand.NewPCG(uint64(len(death)), uint64(len(name))))
				var told []int
				for range rounds {
					next := 0
					if len(told) > 0 {
						next = told[len(told)-1] + 2 // one may be there that was not told
					}
					now := runUntilDeath(t, m.dir, next, random.IntN(12), program.run, func() { happen(r, m) })
					told = append(told, now...)
					there := program.find(t, r.served)
					for _, n := range told {
						if !there[n] {
							t.Fatalf("part %d of %v is not there; there are %d parts", n, told, len(there))
						}
					}
				}
			})
		}
	}
}

// runUntilDeath runs a program from its part first on, has it die after some parts, and gives those that were synced.
func runUntilDeath(t *testing.T, dir string, first, after int, run synced, die func()) (told []int) {
	t.Helper()
	reached, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		run(t, dir, first, func(n int) bool {
			told = append(told, n)
			if len(told) == after+1 {
				close(reached)
			}
			return len(told) < after+20
		})
	}()
	select {
	case <-reached:
	case <-ended:
	}
	select {
	case <-reached: // and it may have ended since
		die()
	default:
		t.Errorf("it has ended before, and synced %v", told)
	}
	<-ended
	return told
}

// runSQLite keeps a database open over many commits.
func runSQLite(t *testing.T, dir string, first int, goOn func(n int) bool) {
	command := exec.Command("sqlite3", "-batch", "-bail", filepath.Join(dir, "data.db"))
	input, err := command.StdinPipe()
	if err != nil {
		t.Error(err)
		return
	}
	output, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Error(err)
		return
	}
	lines := bufio.NewScanner(output)
	_, err = fmt.Fprintln(input, "PRAGMA synchronous=full; CREATE TABLE IF NOT EXISTS t (n PRIMARY KEY, data);")
	for n := first; err == nil; n++ {
		_, err = fmt.Fprintf(input, "INSERT INTO t VALUES (%d, randomblob(%d)); SELECT %d;\n", n, 100+n%7*3000, n)
		if err != nil || !lines.Scan() || lines.Text() != strconv.Itoa(n) || !goOn(n) {
			break
		}
	}
	_ = input.Close() // what fails here is of a program that has ended
	_, _ = io.Copy(io.Discard, output)
	_ = command.Wait()
}

func findSQLite(t *testing.T, dir string) map[int]bool {
	t.Helper()
	there := map[int]bool{}
	// It is a copy, so that a hot journal stays for the mount.
	copied := t.TempDir()
	if output, err := exec.Command("cp", "-a", dir+"/.", copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	output, err := exec.Command("sqlite3", "-bail", filepath.Join(copied, "data.db"),
		"PRAGMA integrity_check; SELECT n FROM t").CombinedOutput()
	if err != nil || !bytes.HasPrefix(output, []byte("ok\n")) {
		t.Fatalf("%v: %.500s", err, output)
	}
	for _, line := range strings.Fields(string(output))[1:] {
		n, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		there[n] = true
	}
	return there
}

// syncedContent is what a part has.
func syncedContent(n int) []byte { return bytes.Repeat(fmt.Append(nil, "part ", n, "\n"), 1+n%5*1000) }

// runFiles makes new files, and syncs each and its directory, as who wants to be sure of both does.
func runFiles(_ *testing.T, dir string, first int, goOn func(n int) bool) {
	for n := first; ; n++ {
		file, err := os.Create(filepath.Join(dir, fmt.Sprint(n)))
		if err != nil {
			return
		}
		_, err = file.Write(syncedContent(n))
		if err = errors.Join(err, file.Sync(), syncDirectory(dir)); err == nil && !goOn(n) {
			err = io.EOF
		}
		if err = errors.Join(err, file.Close()); err != nil {
			return
		}
	}
}

func syncDirectory(dir string) error {
	opened, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}

func findFiles(t *testing.T, dir string) map[int]bool {
	t.Helper()
	there := map[int]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		n, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // a draft
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		there[n] = err == nil && bytes.Equal(content, syncedContent(n))
	}
	return there
}

// runAppends adds lines to a file, some of them as parts of others.
func runAppends(_ *testing.T, dir string, first int, goOn func(n int) bool) {
	file, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	for n := first; err == nil; n++ {
		_, err = file.WriteString("\n")
		if err == nil {
			_, err = fmt.Fprintf(file, "line %d\n", n)
		}
		if err = errors.Join(err, file.Sync()); err == nil && !goOn(n) {
			err = io.EOF
		}
	}
	_ = file.Close() // what fails has failed before
}

func findAppends(t *testing.T, dir string) map[int]bool {
	t.Helper()
	there := map[int]bool{}
	content, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if n, is := strings.CutPrefix(line, "line "); is {
			number, err := strconv.Atoi(strings.TrimSuffix(n, "\n"))
			there[number] = err == nil
		}
	}
	return there
}

// Parts of a mapped file, and how many it has room for.
const (
	mappedPart  = 5000
	mappedParts = 400
)

// runMapped writes to memory that is a file.
func runMapped(_ *testing.T, dir string, first int, goOn func(n int) bool) {
	file, err := os.OpenFile(filepath.Join(dir, "mapped"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }() // what fails has failed before
	if err := file.Truncate(mappedParts * mappedPart); err != nil {
		return
	}
	memory, err := unix.Mmap(int(file.Fd()), 0, mappedParts*mappedPart, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return
	}
	defer func() { _ = unix.Munmap(memory) }()
	for n := first; storeMapped(memory, n) && goOn(n); n++ {
	}
}

// storeMapped stores a part and syncs it. A store to what is gone is a fault of the memory.
func storeMapped(memory []byte, n int) (synced bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			synced = false
		}
	}()
	copy(memory[n*mappedPart:], mappedContent(n))
	return unix.Msync(memory, unix.MS_SYNC) == nil
}

func mappedContent(n int) []byte { return bytes.Repeat([]byte{byte(n%255 + 1)}, mappedPart) }

func findMapped(t *testing.T, dir string) map[int]bool {
	t.Helper()
	there := map[int]bool{}
	content, err := os.ReadFile(filepath.Join(dir, "mapped"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; (n+1)*mappedPart <= len(content); n++ {
		part := content[n*mappedPart : (n+1)*mappedPart]
		there[n] = bytes.Equal(part, mappedContent(n))
	}
	return there
}

// TestMountAppends adds lines to a large file, with an open for each. The server writes little more than the lines: it
// copies nothing.
func TestMountAppends(t *testing.T) {
	t.Parallel()
	needMount(t)
	const size, lines = 20 << 20, 50
	served := t.TempDir()
	content := bytes.Repeat([]byte("0123456789abcde\n"), size/16)
	if err := os.WriteFile(filepath.Join(served, "log"), content, 0o644); err != nil {
		t.Fatal(err)
	}
	r := newRemoteDir(t, served)
	r.serve()
	m := r.mountToEnd(t.TempDir())
	before := r.server.written(t)
	script := fmt.Sprintf("for i in $(seq %d); do echo line $i >> log; done", lines)
	command := exec.Command("sh", "-c", script)
	command.Dir = m.dir
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for i := range lines {
		content = fmt.Appendf(content, "line %d\n", i+1)
	}
	if got, err := os.ReadFile(filepath.Join(served, "log")); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the source has %d bytes, %v; want %d", len(got), err, len(content))
	}
	written := r.server.written(t) - before
	t.Logf("%d bytes written", written)
	if written > 2<<20 {
		t.Errorf("to add %d lines the server has written %d bytes", lines, written)
	}
}

// written is how many bytes a process has written, to files and connections.
func (p *process) written(t *testing.T) (bytes int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "wchar: ")
	if _, err := fmt.Sscan(after, &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}
